"""Networks that learn coherence from one set of perturbations, and from nobody's ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from grice.models.protocols import Vector
from grice.models.turn_features import Bigrams
from grice.stats.inputs import Floats
from grice_research.recipes.coherence.arrays import (
    Corpus,
    Item,
    Maker,
    Prepared,
    Vectors,
    left_out,
    on_axes,
)
from grice_research.recipes.coherence.data import Sample
from grice_research.recipes.coherence.fit import pooled_of, train
from grice_research.recipes.coherence.train import towers

SHOWN, SEEDS = "train", (0, 1, 2)


def prepared(
    shown: Sequence[Sequence[Sample]],
    others: Mapping[str, Sequence[Sample]],
    index: dict[str, int],
    vectors: Sequence[Vector],
) -> Prepared:
    """Return items: conversations that train, each before its twins, and others by name.

    ``index`` holds the place of each text among the vectors. The towers are those that ship.
    """
    corpus = Corpus([group[0] for group in shown])
    with TemporaryDirectory() as folder:
        corpus.save(Path(folder) / "bigrams.npz")
        kept = Bigrams.load(Path(folder) / "bigrams.npz")
    read = Vectors(index, np.array(vectors, np.float16))
    make = Maker(read, towers())
    items: dict[str, list[Item]] = {SHOWN: []}
    for number, group in enumerate(shown):
        items[SHOWN] += left_out(make, corpus, kept, number, group)
    for name, samples in others.items():
        items[name] = [make.sample(sample, kept, i) for i, sample in enumerate(samples)]
    return on_axes(items, read)


def judged(given: Prepared, kind: str) -> list[dict[str, Floats]]:
    """Return how coherent networks of three seeds find the other items, by name.

    They learn from the twins of one set of perturbations.
    """
    learned = [item for item in given.items[SHOWN] if item.kind in ("", kind)]
    values = []
    for seed in SEEDS:
        with redirect_stdout(StringIO()):
            net = train(given._replace(items={SHOWN: learned}), seed)
        weight = net.whole.weight.detach().numpy()[0].astype(np.float64)
        others = {name: items for name, items in given.items.items() if name != SHOWN}
        values.append({n: pooled_of(net, given, i)[:, :3] @ weight for n, i in others.items()})
    return values
