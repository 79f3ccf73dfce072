"""Make the coherence bundle. Every step goes on where an interrupted run stopped.

python -m grice_research.recipes.coherence.train samples --data ../shared/data
python -m grice_research.recipes.coherence.train encode
python -m grice_research.recipes.coherence.words states      # and fit, and judge
python -m grice_research.recipes.coherence.train alone      # how turns sound by themselves
python -m grice_research.recipes.coherence.train prepare
python -m grice_research.recipes.coherence.train fit        # three seeds
python -m grice_research.recipes.coherence.train bundle
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import torch

from grice.metrics.turn_features import Towers
from grice.models.folder import open_folder
from grice.models.mlp import Mlp
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
from grice_research.recipes.coherence.fit import fit
from grice_research.recipes.common import (
    VectorStore,
    exact_encoder,
    parser_of,
)

WORK = work_folder("coherence")
RELEVANCE = work_folder("relevance") / "vectors"
SEEDS = (0, 1, 2)
STEPS = ("samples", "encode", "alone", "prepare", "fit", "bundle")


def samples(data: Path, most: int, workers: int) -> None:
    """Break the conversations and keep them with the rated ones."""
    whole = intact(data)[:most]
    train = [sample for sample in whole if not sample.held_out]
    held = [sample for sample in whole if sample.held_out]
    bad = broken(train, TRAINED, 100, workers)
    # The words of a half are enough for the single kinds, and halve what is to be encoded.
    half = {(sample.source, sample.id) for sample in train[::2]}
    bad = [
        sample for sample in bad if sample.kind not in WORDED or (sample.source, sample.id) in half
    ]
    made = {
        "train": train,
        "held": held,
        "broken": bad,
        "held_broken": broken(held, (*HELD_OUT_KINDS, "deam"), 900, workers),
        "rated": list(rated(data)),
    }
    WORK.mkdir(exist_ok=True)
    (WORK / "samples.pickle").write_bytes(pickle.dumps(made))
    print({name: len(samples_of_kind) for name, samples_of_kind in made.items()})


def encode(part: int, of: int) -> None:
    """Encode every distinct turn that the relevance recipe has not encoded yet, or a part."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    gathered = [sample for name in made for sample in made[name]]
    gathered += [*weighing(made), *said_again(made["held"])]
    texts = {text for sample in gathered for text in sample.turns}
    for folder in (RELEVANCE, *sorted(WORK.glob("vectors?"))):
        texts -= VectorStore(folder).index.keys()
    missing = sorted(texts)[part::of]
    store = VectorStore(WORK / f"vectors{part}")
    encoder = exact_encoder()
    store.add(missing, encoder)


def vectors() -> Vectors:
    """Return the vectors of all turns that were encoded."""
    return Vectors.of([VectorStore(RELEVANCE), *map(VectorStore, sorted(WORK.glob("vectors?")))])


def towers() -> Towers:
    """Return the towers that say what comes next: those of the relevance model, kept as they were.

    They are kept beside the other steps' work, so that a later relevance model changes nothing.
    """
    kept = WORK / "towers.npz"
    if not kept.exists():
        folder = open_folder("relevance")
        sides = {side: Mlp.load(folder.file(f"{side}.npz")).layers for side in ("left", "right")}
        arrays = {
            f"{side}_{part}_{i}": layer[k]
            for side, layers in sides.items()
            for i, layer in enumerate(layers)
            for k, part in enumerate(("weight", "bias"))
        }
        decay = np.float64(str(folder.card.settings["decay"]))
        np.savez(kept, allow_pickle=False, decay=decay, **arrays)
    with np.load(kept, allow_pickle=False) as file:
        left, right = ([(file[f"{side}_weight_{i}"], file[f"{side}_bias_{i}"]) for i in range(2)]
                       for side in ("left", "right"))  # fmt: skip
        return Towers(Mlp(left), Mlp(right), float(file["decay"]))


def prepared() -> Prepared:
    """Return the samples as arrays."""
    unpickled: Prepared = pickle.loads((WORK / "prepared.pickle").read_bytes())
    return unpickled


def write() -> None:
    """Write the model, and what texts it was made from."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    texts = {text for name in ("train", "held", "broken", "rated")
             for sample in made[name] for text in sample.turns}  # fmt: skip
    sources = sorted({sample.source for sample in made["train"]})
    nets = [WORK / f"seed{seed}.pt" for seed in SEEDS]
    write_model(prepared(), towers(), Alone.load(WORK / "alone.pickle"), nets, texts, sources)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--most", type=int, default=10**9, help="conversations, for a quick run")
    parser.add_argument("--workers", type=int, default=2, help="processes that break them")
    parser.add_argument("--part", type=int, default=0, help="which part to encode, from 0")
    parser.add_argument("--of", type=int, default=1, help="how many parts there are")
    parser.add_argument("--seed", type=int, choices=SEEDS, help="one of the three only")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.step == "samples":
        samples(arguments.data, arguments.most, arguments.workers)
    elif arguments.step == "encode":
        encode(arguments.part, arguments.of)
    elif arguments.step == "alone":
        made = pickle.loads((WORK / "samples.pickle").read_bytes())
        fit_alone(made["rated"], vectors(), WORK / "alone.pickle")
    elif arguments.step == "prepare":
        made = pickle.loads((WORK / "samples.pickle").read_bytes())
        words = pickle.loads((WORK / "misfits.pickle").read_bytes())
        alone = Alone.load(WORK / "alone.pickle")
        prepare(made, Maker(vectors(), towers(), words, alone), WORK)
    elif arguments.step == "fit":
        given = prepared()
        for seed in SEEDS if arguments.seed is None else [arguments.seed]:
            fit(given, seed, WORK / f"seed{seed}.pt")
    else:
        write()


if __name__ == "__main__":
    main()
