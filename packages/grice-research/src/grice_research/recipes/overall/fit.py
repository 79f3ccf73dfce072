"""Fit the order of review: the probability that a person would object to a reply, from its scores.

    python -m grice_research.recipes.overall.fit --models small
    python -m grice_research.recipes.overall.fit --models medium
    python -m grice_research.recipes.overall.fit --models large

Few metrics count, with weights that are not negative and are drawn towards each other: the more so,
the less is lost on sources that are left out. Scores and answers of models are kept in the recipe's
work folder, so that a stopped run goes on. ``--dry`` writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.evaluation.review import FILE, Feature, Stack
from grice.stats.estimate import Estimate
from grice_research.places import MODELS as SHIPPED_MODELS
from grice_research.recipes.common import figure_of, parser_of, update_card
from grice_research.recipes.overall.data import (
    LOGS,
    PAIRS,
    Marked,
    column_of,
    fit,
    read_marked,
    standardised,
)
from grice_research.roc import review_lifts, roc_areas

Floats = NDArray[np.float64]
Places = NDArray[np.bool_]

SENSE = "sensibleness"
FLAWS = {
    "relevance": "irrelevant", "repetition": "repeats", SENSE: "", "likelihood": "senseless",
    "user_frustration": "user objects",
}  # fmt: skip
"""The flaw that a low value of a metric shows; empty if its evidence names it."""
SHIPPED = ("relevance", "repetition", SENSE, "user_frustration")
WITNESSES = {"small": SHIPPED} | dict.fromkeys(("medium", "large"), (*SHIPPED, "likelihood"))
MODELS = {
    "small": {SENSE: "sense-small"},
    "medium": {"likelihood": "smollm2-135m-instruct", SENSE: "sense-medium"},
    "large": {"likelihood": "smollm2-135m-instruct", SENSE: "sense-large"},
}
"""The models of metrics that run with several, as signatures name them."""
MAJORITY = 0.4
"""Share of people from which a turn of dbdc3 counts as marked in figures: most of three votes."""
EQUALITIES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 100.0)
"""Penalties of unequal weights that are tried; the last leaves no difference to speak of."""
LOSS = 0.005  # area under the curve that equal weights may cost


class Table(NamedTuple):
    """Everything that is known of the turns, one row each."""

    columns: Floats
    controls: Floats
    flawed: Floats
    weight: Floats
    corpus: NDArray[np.str_]
    source: NDArray[np.str_]
    group: NDArray[np.str_]

    def scored(self, learned: Places, judged: Places, equality: float) -> Floats:
        """Return the log odds, without controls, that weights of some rows give to others."""
        centers, scales = _usual(self.columns[learned])
        rows = standardised(self.columns, centers, scales)
        given = (rows, self.controls, self.flawed, self.weight)
        fitted = fit(*(column[learned] for column in given), equality)
        return rows[judged] @ fitted.weights

    def left_out(self, equality: float) -> dict[str, Floats]:
        """Return the log odds of the turns of each source by weights of all other sources."""
        parts = {str(name): self.source == name for name in np.unique(self.source)}
        return {name: self.scored(~judged, judged, equality) for name, judged in parts.items()}


def _usual(columns: Floats) -> tuple[Floats, Floats]:
    return np.nanmean(columns, axis=0), np.nanstd(columns, axis=0)


def table_of(marked: Sequence[Marked], columns: Floats) -> Table:
    corpus = np.array([turn.corpus for turn in marked])
    source = np.array([turn.system if turn.corpus == "dbdc3" else turn.corpus for turn in marked])
    words = np.log1p([len(turn.text.split()) for turn in marked])
    place = np.log1p([turn.turn for turn in marked])
    share = np.array([turn.turn / len(turn.talk.turns) for turn in marked])
    names, codes, counts = np.unique(source, return_inverse=True, return_counts=True)
    numbers = [words - words.mean(), (words - words.mean()) ** 2, place - place.mean(), share - 0.5]
    controls = np.stack([*numbers, *(source == name for name in names)], axis=1)
    return Table(
        columns,
        controls.astype(np.float64),
        np.array([turn.flawed for turn in marked]),
        1 / counts[codes] / len(names),
        corpus,
        source,
        np.array([turn.group for turn in marked]),
    )


def areas_of(table: Table, odds: Mapping[str, Floats]) -> dict[str, Estimate]:
    """Return the area under the curve of each source, by log odds of the turns of each."""
    areas = {}
    for name, values in odds.items():
        judged = table.source == name
        labels = (table.flawed[judged] > MAJORITY).astype(float)
        groups = list(table.group[judged])
        areas[name] = roc_areas({"": values}, labels, groups=groups).areas[""]
    return areas


def chosen_equality(table: Table) -> float:
    """Return the largest penalty that costs next to nothing on sources that are left out.

    Other chatbots have other flaws than those of the sources, so that equal weights are preferred
    where the mean area over sources does not speak against them.
    """
    means = {}
    for equality in EQUALITIES:
        areas = areas_of(table, table.left_out(equality))
        found = {name: area.value for name, area in areas.items()}
        means[equality] = float(np.mean(list(found.values())))
        print(json.dumps({"equality": equality, "mean": means[equality]} | found))
    return max(key for key, mean in means.items() if mean >= max(means.values()) - LOSS)


def quality_of(table: Table, equality: float, command: str) -> Iterator[dict[str, object]]:
    """Yield the figures of the card: each source is judged by weights of all others."""
    odds = table.left_out(equality)
    for name, area in areas_of(table, odds).items():
        judged = table.source == name
        labels, groups = (table.flawed[judged] > MAJORITY).astype(float), list(table.group[judged])
        lift = review_lifts({"": odds[name]}, labels, groups=groups).lifts[""]
        yield figure_of(f"{name}, left out", "AUC", area, command)
        yield figure_of(f"{name}, left out", "lift of the first 10 %", lift, command)


def stack_of(
    table: Table, metrics: Sequence[str], models: dict[str, str], equality: float
) -> Stack:
    """Return the weights on all turns, with a scale and an intercept that are calibrated.

    Both are fitted to the odds of the written logs by weights of all other sources: of the sources,
    these logs are most like those that people bring.
    """
    centers, scales = _usual(table.columns)
    rows = standardised(table.columns, centers, scales)
    weights = fit(rows, table.controls, table.flawed, table.weight, equality).weights
    odds, flawed = table.left_out(equality)[LOGS], table.flawed[table.source == LOGS]
    alike = np.ones(len(odds))
    slope, intercepts = fit(odds[:, None], alike[:, None], flawed, alike)
    factor, intercept = float(slope[0]), float(intercepts[0])
    witnesses = tuple(
        Feature(name, FLAWS[name], *(round(float(v), 4) for v in (center, scale, factor * own)))
        for name, center, scale, own in zip(metrics, centers, scales, weights, strict=True)
        if own > 0
    )
    return Stack(round(intercept, 4), witnesses, models)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--models", choices=tuple(WITNESSES), default="small")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    metrics = WITNESSES[given.models]
    marked = read_marked(given.data)
    columns = np.full((len(marked), len(metrics)), np.nan)
    pairs = np.array([turn.corpus == PAIRS for turn in marked])
    for place, name in enumerate(metrics):
        # The heads of sensibleness know the hand that wrote the pairs: they count as silent there.
        rows = np.flatnonzero(~pairs) if name == SENSE else np.arange(len(marked))
        columns[rows, place] = column_of([marked[row] for row in rows], name, given.models)
    table = table_of(marked, columns)
    equality = chosen_equality(table)
    command = f"python -m grice_research.recipes.overall.fit --models {given.models}"
    figures = list(quality_of(table, equality, command))
    for figure in figures:
        print(json.dumps(figure))
    stack = stack_of(table, metrics, MODELS[given.models], equality)
    print(json.dumps({"equality": equality}), msgspec.json.encode(stack).decode())
    if not given.dry:
        folder = SHIPPED_MODELS / f"review-{given.models}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(stack)) + b"\n")
        update_card(folder, files=(FILE,), quality=figures)


if __name__ == "__main__":
    main()
