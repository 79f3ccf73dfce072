"""What else than length might carry over from one corpus to another, each with its interval.

    python -m grice_research.recipes.engagement.routes --data ../shared/data

Fitted on what people wrote and rated in one corpus (Topical-Chat, ConvAI 2017), measured in the
other, both ways round, conversations drawn again; no rated set is looked at. The language model is
that of ``recipes/dialogue``.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import rankdata

from grice.metrics.relevance.fluency import FluencyModel
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedGenerator
from grice.text.script import unreadable
from grice_research.places import work_folder
from grice_research.recipes.dialogue.turns import asked
from grice_research.recipes.engagement.labels import labelled_replies, without_evaluated
from grice_research.recipes.options import parser_of
from grice_research.surface import STOP_WORDS
from grice_research.training.logistic import balanced, fit_logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_research.recipes.engagement.labels import LabelledReply

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

SOURCES = ("topical_chat ratings of replies", "convai2017 ratings of people's messages")
WORDS = re.compile(r"[a-z0-9']+")
ENDS = re.compile(r"[.!?]+")
CLAUSES = frozenset(("and", "but", "because", "so", "that", "which", "if", "when"))
ROUTES = {
    "length": ("words", "letters"),
    "different new content words": ("new",),
    "and sentences": ("new", "sentences"),
    "length and sentences": ("words", "letters", "sentences"),
    "length and clauses": ("words", "letters", "clauses"),
    "length and asking back": ("words", "letters", "asks"),
    "length and words shared": ("words", "letters", "shared"),
    "surprise in all": ("surprise",),
    "length and likelihood": ("words", "letters", "given"),
    "length and likelihood ratio": ("words", "letters", "ratio"),
    "length and oddness": ("words", "letters", "odd"),
}
RESAMPLES = 300


class Labelled(NamedTuple):
    """Labels of one source."""

    truth: Floats
    groups: Integers
    columns: dict[str, Floats]


def counted(before: str, reply: str) -> dict[str, float]:
    """Return what needs no model."""
    words, context_words = WORDS.findall(reply.lower()), set(WORDS.findall(before.lower()))
    content = {word for word in words if word not in STOP_WORDS}
    return {
        "words": math.log1p(len(words)),
        "letters": sum(map(len, words)) / max(1, len(words)),
        "new": math.log1p(len(content - context_words)),
        "sentences": math.log1p(sum(bool(part.strip()) for part in ENDS.split(reply))),
        "clauses": math.log1p(sum(word in CLAUSES for word in words)),
        "asks": float("?" in reply),
        "shared": len(content & context_words) / max(1, len(content)),
    }


def labelled(labels: Sequence[LabelledReply], folder: Path) -> Labelled:
    """Return everything that the routes read of the labels of one source."""
    bundle = open_bundle(folder)
    model = EmbeddedGenerator(bundle, mode="exact", threads=1)
    replies = [label.pair.right for label in labels]
    begin = [str(bundle.card.settings["begin"])] * len(replies)
    pieces = model.piece_log_probabilities(
        [asked(label.pair.left) for label in labels], replies, begin=begin
    )
    alone = model.log_probabilities([""] * len(replies), replies, begin=begin)
    rows = [counted(label.pair.left[-1], label.pair.right) for label in labels]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    columns["given"] = np.array([np.mean([value for _, value in piece]) for piece in pieces])
    columns["surprise"] = np.log1p([-sum(value for _, value in piece) for piece in pieces])
    columns["ratio"] = columns["given"] - np.array(alone)
    columns["odd"] = np.array(
        [disfluency.value for disfluency in FluencyModel(bundle, model).measure(replies)]
    )
    _, groups = np.unique([label.group for label in labels], return_inverse=True)
    return Labelled(np.array([label.label for label in labels], np.float64), groups, columns)


def carried(fitted: Labelled, judged: Labelled, names: Sequence[str]) -> Floats:
    """Return log odds of one source by what was fitted on the other."""
    here, there = (
        np.stack([labelled_set.columns[name] for name in names], 1)
        for labelled_set in (fitted, judged)
    )
    centre, spread = here.mean(axis=0), here.std(axis=0)
    linear = fit_logistic(
        (here - centre) / spread,
        fitted.truth,
        penalties=1e-3,
        weights=balanced(fitted.truth),
    )
    return linear((there - centre) / spread)


def area(values: Floats, truth: Floats) -> float:
    ranks, high = rankdata(values), truth > 0.5
    wins = ranks[high].sum() - high.sum() * (high.sum() + 1) / 2
    return float(wins / (high.sum() * (~high).sum()))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, default=work_folder("dialogue") / "seed0/bundle")
    options = parser.parse_args()
    replies = [
        reply
        for reply in labelled_replies(options.data)
        if not unreadable(reply.pair.right) and not unreadable(reply.pair.left[0])
    ]
    kept, _ = without_evaluated(replies, options.data)
    samples = [
        labelled([reply for reply in kept if reply.source == source], options.model)
        for source in SOURCES
    ]
    values = {
        route: [carried(*pair, names) for pair in (samples, samples[::-1])]
        for route, names in ROUTES.items()
    }
    drawn = [_resampled(judged, seed) for seed, judged in enumerate(samples[::-1])]
    base = _means(values["length"], samples[::-1], drawn)
    for route, both in values.items():
        means = _means(both, samples[::-1], drawn)
        line: dict[str, object] = {"route": route}
        for name, column in (("mean area", means), ("less that of length", means - base)):
            low, high = np.percentile(column[1:], (2.5, 97.5))
            line[name] = [round(float(figure), 4) for figure in (column[0], low, high)]
        print(json.dumps({**line, "n": sum(len(labelled_set.truth) for labelled_set in samples)}))


def _resampled(judged: Labelled, seed: int) -> list[Integers]:
    """Return all rows, then rows of conversations drawn with replacement."""
    random = np.random.default_rng(seed)
    order = np.argsort(judged.groups, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(judged.groups))[:-1])
    drawn = [np.arange(len(judged.truth))]
    for _ in range(RESAMPLES):
        chosen = random.integers(0, len(members), len(members))
        drawn.append(np.concatenate([members[i] for i in chosen]))
    return drawn


def _means(
    both: Sequence[Floats], judged: Sequence[Labelled], drawn: Sequence[list[Integers]]
) -> Floats:
    """Return the mean of both areas, first over all rows, then over each resample."""
    areas = [
        [area(values[rows], labelled_set.truth[rows]) for rows in again]
        for values, labelled_set, again in zip(both, judged, drawn, strict=True)
    ]
    return np.mean(areas, axis=0)


if __name__ == "__main__":
    main()
