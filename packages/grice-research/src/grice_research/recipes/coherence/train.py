"""Make the coherence bundle. Every step goes on where an interrupted run stopped.

python -m grice_research.recipes.coherence.train samples --data ../shared/data
python -m grice_research.recipes.coherence.train encode
python -m grice_research.recipes.coherence.train alone      # how turns sound by themselves
python -m grice_research.recipes.coherence.train prepare
python -m grice_research.recipes.coherence.train fit        # three seeds
python -m grice_research.recipes.coherence.train bundle
"""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import torch

from grice.models.folder import open_folder
from grice.models.mlp import Mlp
from grice.models.turn_features import Towers
from grice_research.places import work_folder
from grice_research.recipes.coherence.arrays import (
    Alone,
    Maker,
    Prepared,
    Vectors,
    fit_alone,
    prepare,
    weighing,
)
from grice_research.recipes.coherence.card import write_model
from grice_research.recipes.coherence.data import (
    HELD_OUT_KINDS,
    TRAINED,
    WORDED,
    broken,
    intact,
    rated,
    said_again,
)
from grice_research.recipes.coherence.fit import accuracies, quality_rank, train
from grice_research.recipes.common import VectorStore, exact_encoder, parser_of

WORK = work_folder("coherence")
RELEVANCE = work_folder("relevance") / "vectors"
SEEDS = (0, 1, 2)
STEPS = ("samples", "encode", "alone", "prepare", "fit", "bundle")


def samples(data: Path) -> None:
    """Break the conversations and keep them with the rated ones."""
    whole = intact(data)
    shown = [sample for sample in whole if not sample.held_out]
    held = [sample for sample in whole if sample.held_out]
    bad = broken(shown, TRAINED, 100)
    # The words of a half are enough for the single kinds, and halve what is to be encoded.
    half = {(each.source, each.id) for each in shown[::2]}
    bad = [each for each in bad if each.kind not in WORDED or (each.source, each.id) in half]
    made = {
        "train": shown,
        "held": held,
        "broken": bad,
        "held_broken": broken(held, (*HELD_OUT_KINDS, "deam"), 900),
        "rated": list(rated(data)),
    }
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "samples.pickle").write_bytes(pickle.dumps(made))
    print({name: len(samples_of_kind) for name, samples_of_kind in made.items()})


@cache
def made() -> dict[str, Any]:
    unpickled: dict[str, Any] = pickle.loads((WORK / "samples.pickle").read_bytes())
    return unpickled


def encode() -> None:
    """Encode every distinct turn that the relevance recipe has not encoded yet."""
    gathered = [sample for group in made().values() for sample in group]
    gathered += [*weighing(made()), *said_again(made()["held"])]
    texts = {text for sample in gathered for text in sample.turns}
    texts -= VectorStore(RELEVANCE).index.keys()
    VectorStore(WORK / "vectors0").add(texts, exact_encoder())


def vectors() -> Vectors:
    return Vectors.of([VectorStore(RELEVANCE), VectorStore(WORK / "vectors0")])


def towers() -> Towers:
    """Return the towers that say what comes next, those of the relevance model."""
    folder = open_folder("relevance")
    left, right = (Mlp.load(folder.file(f"{side}.npz")) for side in ("left", "right"))
    return Towers(left, right, float(str(folder.card.settings["decay"])))


def prepared() -> Prepared:
    unpickled: Prepared = pickle.loads((WORK / "prepared.pickle").read_bytes())
    return unpickled


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("step", choices=STEPS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.step == "samples":
        samples(arguments.data)
    elif arguments.step == "encode":
        encode()
    elif arguments.step == "alone":
        fit_alone(made()["rated"], vectors(), WORK / "alone.pickle")
    elif arguments.step == "prepare":
        alone = Alone.load(WORK / "alone.pickle")
        prepare(made(), Maker(vectors(), towers(), alone), WORK)
    elif arguments.step == "fit":
        given = prepared()
        for seed in SEEDS:
            out = WORK / f"seed{seed}.pt"
            if not out.exists():
                net = train(given, seed)
                torch.save({"net": net.state_dict(), "seed": seed}, out)
                print(f"seed {seed}:", accuracies(net, given), quality_rank(net, given), flush=True)
    else:
        texts = {text for name in ("train", "held", "broken", "rated")
                 for sample in made()[name] for text in sample.turns}  # fmt: skip
        sources = sorted({sample.source for sample in made()["train"]})
        nets = [WORK / f"seed{seed}.pt" for seed in SEEDS]
        alone = Alone.load(WORK / "alone.pickle")
        write_model(prepared(), towers(), alone, nets, texts, sources)


if __name__ == "__main__":
    main()
