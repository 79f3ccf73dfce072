"""Make the relevance model. Every step goes on where an interrupted run stopped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from grice.models.mlp import Mlp
from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import (
    VectorStore,
    exact_encoder,
    layers_of,
    parser_of,
    update_card,
)
from grice_research.recipes.relevance.corpora import (
    EVALUATED,
    SOURCES,
    evaluated_texts,
    read_dialogues,
)
from grice_research.recipes.relevance.examples import collect, texts_of
from grice_research.recipes.relevance.fit import DECAY, Material, Towers, fit, fit_towers
from grice_research.training_texts import record_texts

WORK = work_folder("relevance")
SEEDS = (0, 1, 2)
FILES = ("head.npz", "left.npz", "right.npz")
CORPORA = tuple(dict.fromkeys(source.name for source in SOURCES))
WEIGHTS = {"star": 0.5, "schema_guided": 0.5, "taskmaster4": 0.5, "irc": 0.7}
"""How often a reply of a corpus is drawn, relative to 1 for the others."""


def encode(data: Path) -> None:
    """Encode every distinct text that may train."""
    evaluated = evaluated_texts(data)
    texts = texts_of(read_dialogues(data), evaluated)
    everything = texts_of(read_dialogues(data), set())
    text = (
        f"{len(everything) - len(texts):,} distinct training texts occur (letters and digits in "
        f"lower case) among the {len(evaluated):,} strings of the evaluated sets "
        f"({', '.join(EVALUATED)}); none is a reply or in a history. {len(texts):,} distinct texts "
        "are left."
    )
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "excluded.json").write_text(json.dumps({"text": text}))
    VectorStore(WORK / "vectors").add(texts, exact_encoder())


def material(data: Path) -> Material:
    store = VectorStore(WORK / "vectors")
    dialogues = list(read_dialogues(data))
    evaluated = evaluated_texts(data)
    allowed = texts_of(dialogues, evaluated)  # the store may be of an earlier run
    index = {text: place for text, place in store.index.items() if text in allowed}
    plain, rated = collect(dialogues, index, CORPORA)
    train = plain.where(~plain.held_out)
    weights = np.array([WEIGHTS.get(name, 1.0) for name in CORPORA])[train.corpus]
    return Material(
        store.matrix(),
        train,
        weights / weights.sum(),
        plain.where(plain.held_out),
        rated.where(~rated.held_out),
        rated.where(rated.held_out),
    )


def towers(stuff: Material, seed: int) -> Towers:
    path = WORK / f"towers{seed}.pt"
    if not path.exists():
        fitted = fit_towers(stuff.vectors, stuff.train, stuff.weights, seed)
        torch.save(fitted.state_dict(), path)
    loaded = Towers(stuff.vectors.shape[1])
    loaded.load_state_dict(torch.load(path))
    return loaded.eval()


def fit_seeds(data: Path) -> None:
    """Fit the chosen variant with every seed, each as a model of its own in the work folder."""
    stuff = material(data)
    for seed in SEEDS:
        folder = WORK / f"seed{seed}"
        if (folder / "measured.json").exists():
            continue
        pair = towers(stuff, seed)
        layers, measured = fit(stuff, pair, seed)
        folder.mkdir(exist_ok=True)
        Mlp(layers_of(pair.left)).save(folder / "left.npz")
        Mlp(layers_of(pair.right)).save(folder / "right.npz")
        Mlp(layers).save(folder / "head.npz")
        (folder / "measured.json").write_text(json.dumps(measured))


def write_best(data: Path) -> None:
    """Copy the seed that does best on held-out conversations to the package."""
    reached = {seed: json.loads((WORK / f"seed{seed}/measured.json").read_text()) for seed in SEEDS}
    best = max(SEEDS, key=lambda seed: sum(reached[seed][part] for part in ("random", "people")))
    folder = MODELS / "relevance"
    for file in FILES:  # half the room of half precision, and no area changes by 0.0001
        Mlp.load(WORK / f"seed{best}" / file).save(folder / file, int8=True)
    # The weights of the parts are those of ``stack.py``.
    settings = {"decay": DECAY, "parts": ["builtin:encoder", "builtin:dialogue"]}
    excluded = json.loads((WORK / "excluded.json").read_text())["text"]
    update_card(folder, files=FILES, settings=settings, excluded=excluded)
    record_texts(folder, texts_of(read_dialogues(data), evaluated_texts(data)))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("step", choices=["encode", "fit", "bundle"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    {"encode": encode, "fit": fit_seeds, "bundle": write_best}[options.step](options.data)


if __name__ == "__main__":
    main()
