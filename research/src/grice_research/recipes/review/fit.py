"""Fit the order of review: the probability that a person would mark a reply, from its scores.

    python -m grice_research.recipes.review.fit --models small
    python -m grice_research.recipes.review.fit --models medium
    python -m grice_research.recipes.review.fit --models large

Scores and answers of models are kept in the recipe's work folder, so that a stopped run goes on
and a metric that has not changed is not computed again. ``--dry`` writes nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from scipy.special import expit

from grice.evaluation.review_stack import FILE, Stack, Threshold, Witness
from grice.runtime.bundle import write_card
from grice_research.places import PRODUCT_DATA
from grice_research.recipes.options import parser_of
from grice_research.recipes.review.columns import Asked, columns_of
from grice_research.recipes.review.data import read_marked
from grice_research.recipes.review.stack import fit, standardised
from grice_research.recipes.sense.pairs import KINDS
from grice_research.review import review_lifts
from grice_research.roc import roc_areas

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.stats.estimate import Estimate
    from grice_research.recipes.review.data import Marked

    Floats = NDArray[np.float64]
    Places = NDArray[np.bool_]

SENSE = "sense"
SHIPPED = (
    Asked("relevance", "irrelevant"),
    Asked("unanswered", "unanswered"),
    Asked("commonsense", "senseless"),
    Asked("coherence", "irrelevant"),
    Asked("repetition", "repeats"),
    Asked("contradiction", "contradicts"),
    Asked("friction", "friction"),
)
FETCHED = (
    Asked("likelihood", "senseless", "mean log likelihood after the history"),
    Asked("likelihood", "irrelevant", "gain over own turns alone"),
)
WITNESSES = {"small": SHIPPED, "medium": (*SHIPPED, *FETCHED), "large": (*SHIPPED, *FETCHED)}
"""Beside ``sense``, whose heads must not have learned of a turn that they judge here."""
READERS = {
    "small": "bundle:reader",
    "medium": "model:medium-states",
    "large": "model:large-states",
}
"""What the heads of ``sense`` read by preset."""
MODELS = {
    "small": {SENSE: "sense-small"},
    "medium": {"likelihood": "smollm2-135m-instruct", SENSE: "sense-medium"},
    "large": {"likelihood": "smollm2-135m-instruct", SENSE: "sense-large"},
}
"""The models of metrics that run with several, as signatures name them."""
PEOPLE = ("dbdc3", "convai2017")
PAIRS = "pairs"
WEIGHTS = {"dbdc3": 1.0, "convai2017": 1.0, PAIRS: 2.0}
"""Half of the weight is on what people marked in logs, half on written flaws, each kind alike."""
MAJORITY = 0.4
"""Share of people from which a turn of dbdc3 counts as marked in figures: most of three votes."""
SEEDS = (0, 1, 2)
FOLDS = 5
PRECISIONS = (0.5, 0.6, 0.7)
LEAST = 50
"""Turns above a threshold, for it to be stated."""


class Table(NamedTuple):
    """Everything that is known of the turns, one row each.

    Attributes:
        columns: What witnesses say; NaN where they say nothing.
        controls: Length, position, and who speaks.
        flawed: The share of people who marked the turn.
        weight: Each corpus weighs as stated.
        corpus: Name of the corpus.
        system: Which chatbot, or kind of written flaw.
        group: What is drawn and left out together.
    """

    columns: Floats
    controls: Floats
    flawed: Floats
    weight: Floats
    corpus: NDArray[np.str_]
    system: NDArray[np.str_]
    group: NDArray[np.str_]

    def scored(self, learned: Places, judged: Places) -> Floats:
        """Return the log odds, without controls, that weights of some rows give to others."""
        centers, scales = _usual(self.columns[learned])
        rows = standardised(self.columns, centers, scales)
        fitted = fit(
            rows[learned], self.controls[learned], self.flawed[learned], self.weight[learned]
        )
        return rows[judged] @ fitted.weights


def _usual(columns: Floats) -> tuple[Floats, Floats]:
    return np.nanmean(columns, axis=0), np.nanstd(columns, axis=0)


def table_of(marked: Sequence[Marked], columns: Floats) -> Table:
    """Return the table of the marked turns."""
    corpus = np.array([turn.corpus for turn in marked])
    system = np.array([turn.system for turn in marked])
    words = np.log1p([len(turn.text.split()) for turn in marked])
    place = np.log1p([turn.turn for turn in marked])
    share = np.array([turn.turn / len(turn.talk.turns) for turn in marked])
    speaker = np.where(corpus == PAIRS, PAIRS, system)
    numbers = [words - words.mean(), (words - words.mean()) ** 2, place - place.mean(), share - 0.5]
    controls = np.stack([*numbers, *(speaker == name for name in np.unique(speaker))], axis=1)
    return Table(
        columns,
        controls.astype(np.float64),
        np.array([turn.flawed for turn in marked]),
        _weights(corpus, system),
        corpus,
        system,
        np.array([turn.group for turn in marked]),
    )


def _weights(corpus: NDArray[np.str_], system: NDArray[np.str_]) -> Floats:
    """Return a weight per turn: each corpus as stated, in written pairs each flaw alike."""
    flaw = np.array([KINDS.get(name, "") for name in system])
    weight = np.zeros(len(corpus))
    for name in PEOPLE:
        weight[corpus == name] = WEIGHTS[name] / (corpus == name).sum()
    flaws = np.unique(flaw[corpus == PAIRS])
    for name in flaws:
        own = (corpus == PAIRS) & (flaw == name)
        weight[own] = WEIGHTS[PAIRS] / len(flaws) / own.sum()
    return weight


def out_of_fold(table: Table, seed: int) -> Floats:
    """Return the log odds of each turn by weights of conversations that are not its own."""
    groups, codes = np.unique(table.group, return_inverse=True)
    folds = np.random.default_rng(seed).permutation(len(groups))[codes] % FOLDS
    odds = np.zeros(len(codes))
    for fold in range(FOLDS):
        odds[folds == fold] = table.scored(folds != fold, folds == fold)
    return odds


def left_out(table: Table) -> Iterator[tuple[str, Places, Floats]]:
    """Yield each corpus, and each chatbot of dbdc3, judged by weights of all others."""
    for name in dict.fromkeys(table.corpus):
        judged = table.corpus == name
        yield f"{name}, left out", judged, table.scored(~judged, judged)
    voted = table.corpus == PEOPLE[0]
    odds = np.zeros(len(voted))
    for name in np.unique(table.system[voted]):
        judged = voted & (table.system == name)
        odds[judged] = table.scored(~judged, judged)
    yield f"{PEOPLE[0]}, each chatbot left out", voted, odds[voted]


def quality_of(table: Table, command: str) -> Iterator[dict[str, object]]:
    """Yield the figures of the card: nothing is judged by weights that have seen it."""
    parts = list(left_out(table))
    for seed in SEEDS:
        odds = out_of_fold(table, seed)
        parts += [
            (f"{name}, out of fold, seed {seed}", table.corpus == name, odds[table.corpus == name])
            for name in dict.fromkeys(table.corpus)
        ]
    for name, judged, odds in parts:
        labels = (table.flawed[judged] > MAJORITY).astype(float)
        groups, systems = list(table.group[judged]), list(table.system[judged])
        areas = {
            "AUC": roc_areas({"": odds}, labels, groups=groups).areas[""],
            "AUC within chatbots": roc_areas(
                {"": odds}, labels, groups=groups, strata=systems
            ).areas[""],
            "lift of the first 10 %": review_lifts({"": odds}, labels, groups=groups).lifts[""],
        }
        for measure, estimate in areas.items():
            yield _figure(name, measure, estimate, command)


def _figure(on: str, measure: str, estimate: Estimate, command: str) -> dict[str, object]:
    figure = {"on": on, "measure": measure, "value": estimate.value}
    figure |= {"low": estimate.low, "high": estimate.high}
    rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in figure.items()}
    return {**rounded, "n": estimate.n, "command": command}


def stack_of(table: Table, asked: Sequence[Asked], models: dict[str, str]) -> Stack:
    """Return the weights on all turns, with a scale and an intercept that are calibrated.

    Both are fitted to odds out of fold of the turns that people marked in logs; the intercept is
    the mean of the two corpora's, which differ in how much is marked.
    """
    centers, scales = _usual(table.columns)
    rows = standardised(table.columns, centers, scales)
    weights = fit(rows, table.controls, table.flawed, table.weight).weights
    people = np.isin(table.corpus, PEOPLE)
    odds = np.mean([out_of_fold(table, seed) for seed in SEEDS], axis=0)[people]
    which = np.stack([table.corpus[people] == name for name in PEOPLE], axis=1).astype(float)
    flawed, weight = table.flawed[people], table.weight[people]
    slope, intercepts = fit(odds[:, None], which, flawed, weight)
    factor, intercept = float(slope[0]), float(intercepts.mean())
    witnesses = tuple(
        Witness(
            question.metric,
            question.flaw,
            *_rounded(center, scale, factor * weight),
            question.feature,
        )
        for question, center, scale, weight in zip(asked, centers, scales, weights, strict=True)
        if weight > 0
    )
    chances = expit(intercept + factor * odds)
    return Stack(round(intercept, 4), witnesses, _thresholds(chances, flawed, weight), models)


def _rounded(*values: float) -> list[float]:
    return [round(float(value), 4) for value in values]


def _thresholds(chances: Floats, flawed: Floats, weight: Floats) -> tuple[Threshold, ...]:
    """Return the lowest probabilities from which on a share of the turns is marked."""
    order = np.argsort(-chances, kind="stable")
    precision = np.cumsum((flawed * weight)[order]) / np.cumsum(weight[order])
    thresholds = []
    for wanted in PRECISIONS:
        enough = np.flatnonzero(precision[LEAST - 1 :] >= wanted)
        if len(enough):
            lowest = chances[order][enough[-1] + LEAST - 1]
            thresholds.append(Threshold(wanted, round(float(lowest), 3)))
    return tuple(thresholds)


def write(stack: Stack, figures: Sequence[dict[str, object]], folder: Path, command: str) -> None:
    """Write the bundle."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(stack)) + b"\n")
    facts = {
        "name": folder.name,
        "kind": "review",
        "version": "1",
        "summary": "The probability that a person would mark a reply, from its scores",
        "licence": "Apache-2.0",
        "inputs": f"scores of {', '.join(stack.metrics)}; any may be missing",
        "outputs": "a probability, and what each score adds to its log odds",
    }
    training = {
        "data": [
            "dbdc3, seven tenths of its conversations (MIT)",
            "convai2017, bots' messages rated good or bad, without amt50 and without what stands "
            "in dbdc3, of the conversations that relevance has not learned from (Apache-2.0)",
            "items written for the metric sense that its heads have not learned from (Apache-2.0)",
        ],
        "selection": ["the same, by parts that were left out"],
        "excluded": "texts of 20 letters or more of the sets that it is measured on",
        "command": command,
        "seeds": list(SEEDS),
    }
    write_card(folder, facts, training, {}, figures, files=(FILE,))


def _sense(marked: Sequence[Marked], data: Path, base: str) -> Floats:
    """Return what ``sense`` says, the last witness, by heads that have not learned of a turn.

    Of written items nothing: its heads know the hand that wrote them.
    """
    # torch is needed for this alone.
    from grice_research.recipes.review.sense import sense_out_of_fold

    people = np.array([turn.corpus in PEOPLE for turn in marked])
    turns = [turn for turn in marked if turn.corpus in PEOPLE]
    values = np.full(len(marked), np.nan)
    values[people] = sense_out_of_fold(turns, data, base)
    return values


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--models", choices=tuple(WITNESSES), default="small")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    witnesses = WITNESSES[given.models]
    marked = read_marked(given.data)
    columns = columns_of(marked, witnesses, given.models)
    columns = np.column_stack([columns, _sense(marked, given.data, READERS[given.models])])
    asked = (*witnesses, Asked(SENSE, ""))
    table = table_of(marked, columns)
    command = f"python -m grice_research.recipes.review.fit --models {given.models}"
    figures = list(quality_of(table, command))
    for figure in figures:
        print(json.dumps(figure))
    stack = stack_of(table, asked, MODELS[given.models])
    print(msgspec.json.encode(stack).decode())
    if not given.dry:
        write(stack, figures, PRODUCT_DATA / "bundles" / f"review-{given.models}", command)


if __name__ == "__main__":
    main()
