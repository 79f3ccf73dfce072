"""Compare relevance bundles with people's ratings, beside the trivial floors.

Run once, when the bundles are final: nothing may be chosen by these figures.

    python -m grice_research.recipes.relevance.evaluate --data ../shared/data BUNDLE_FOLDER…
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from grice.models.models import Models
from grice.models.protocols import Encoder, Pair
from grice_research.recipes.options import parser_of
from grice_research.recipes.relevance.corpora import rows_of

Values = NDArray[np.float64]

RESAMPLES = 2000


class RatedSet(NamedTuple):
    """Responses with their histories and what people thought of them."""

    name: str
    pairs: list[Pair]
    human: Values


class Figure(NamedTuple):
    """A correlation with people and its percentile bootstrap interval over items."""

    on: str
    scorer: str
    measure: str
    value: float
    low: float
    high: float
    n: int


def rated_sets(data: Path) -> Iterator[RatedSet]:
    """Yield the sets that relevance is measured on."""
    rows = list(rows_of(data / "predictive_engagement/rated_600.jsonl.gz"))
    for name, used in (("", rows), *((f", {s}", [r for r in rows if r["set"] == s]) for s in SETS)):
        pairs = [Pair((row["query"],), row["reply"]) for row in used]
        human = np.array([np.mean(row["ratings"]) for row in used])
        yield RatedSet(f"predictive_engagement_dd{name}", pairs, human)
    for name, aspect in ASPECTS:
        yield _rated_set(data, name, aspect)


SETS = ("generated", "human")
ASPECTS = (
    ("dailydialog_zhao", "relevance"),
    ("fed_turn", "relevant"),
    ("grade_dailydialog", "coherence"),
    ("grade_empatheticdialogues", "coherence"),
    ("usr_topicalchat", "maintains_context"),
)


def _rated_set(data: Path, name: str, aspect: str) -> RatedSet:
    pairs, human = [], []
    for row in rows_of(data / f"rated/{name}.jsonl.gz"):
        ratings = row["ratings"].get(aspect)
        given = ratings if isinstance(ratings, list) else [ratings]
        given = [rating for rating in given if rating is not None]
        if given:
            pairs.append(Pair(tuple(turn["text"] for turn in row["context"]), row["response"]))
            human.append(np.mean(given))
    return RatedSet(f"{name} {aspect}", pairs, np.array(human))


def floors(encoder: Encoder) -> dict[str, Callable[[list[Pair]], Values]]:
    """Return the scorers that know nothing about dialogue."""

    def cosine(pairs: list[Pair]) -> Values:
        last = encoder.encode([pair.left[-1] for pair in pairs])
        right = encoder.encode([pair.right for pair in pairs])
        return np.array([float(a @ b) for a, b in zip(last, right, strict=True)])

    return {
        "cosine with the last turn": cosine,
        "log characters": lambda pairs: np.log1p([len(pair.right) for pair in pairs]),
        "log words": lambda pairs: np.log1p([len(pair.right.split()) for pair in pairs]),
    }


def correlations(rated: RatedSet, scorer: str, values: Values) -> Iterator[Figure]:
    """Yield Spearman and Pearson with 95 % intervals; every scorer gets the same resamples."""
    n = len(values)
    for measure, prepare in (("Spearman", rankdata), ("Pearson", np.asarray)):
        drawn = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
        value = np.corrcoef(prepare(values), prepare(rated.human))[0, 1]
        again = [
            np.corrcoef(prepare(values[rows]), prepare(rated.human[rows]))[0, 1] for rows in drawn
        ]
        low, high = np.nanpercentile(again, (2.5, 97.5))
        yield Figure(rated.name, scorer, measure, float(value), float(low), float(high), n)


def evaluate(data: Path, bundles: list[Path]) -> list[Figure]:
    """Return all figures of the bundles and of the floors."""
    models = Models(mode="exact", workers=1, cache=None)
    scorers = dict(floors(models.open("bundle:encoder")))
    for folder in bundles:
        head = models.open(f"file:{folder}")
        scorers[folder.name] = lambda pairs, head=head: np.array(head.classify(pairs))
    return [
        figure
        for rated in rated_sets(data)
        for name, score in scorers.items()
        for figure in correlations(rated, name, score(rated.pairs))
    ]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("bundles", nargs="*", type=Path)
    parser.add_argument("--out", type=Path, help="write the figures here, one JSON object a line")
    options = parser.parse_args()
    figures = evaluate(options.data, options.bundles)
    for figure in figures:
        print(
            f"{figure.on:45} {figure.scorer[-30:]:30} {figure.measure:8} {figure.value:6.3f} "
            f"[{figure.low:.3f}, {figure.high:.3f}] n {figure.n}"
        )
    if options.out:
        lines = (json.dumps(figure._asdict()) + "\n" for figure in figures)
        options.out.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
