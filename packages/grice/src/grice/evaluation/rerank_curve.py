"""What becomes of replies as more candidates are chosen from: does only the measure grow?

What is chosen by stops being a measure. So metrics that had no part in the choice, and the length,
stand beside it for one candidate, two, four, …: expectations over all draws of so many candidates
out of those at hand, which need no drawing.
"""

from __future__ import annotations

from itertools import takewhile
from math import comb
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.stats.estimate import Estimate
from grice.stats.systems import mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from grice.evaluation.rerank import Ranked

VALUE, WORDS = "chosen by", "words"
"""Names of the blend and of the length beside those of metrics."""
LARGEST = 10


class Step(msgspec.Struct, frozen=True):
    """The mean over contexts of what is chosen from so many candidates, by measure."""

    candidates: int
    means: dict[str, Estimate]


class Turning(msgspec.Struct, frozen=True):
    """Where a held-out metric is highest, and what is lost of it from there to the most candidates.

    The interval of the change does not know that the highest place was looked for.
    """

    metric: str
    candidates: int
    change: Estimate


class Curve(msgspec.Struct, frozen=True):
    """How each measure moves with the number of candidates.

    Attributes:
        contexts: Those with two candidates or more that were judged.
        steps: For 1, 2, 4, … candidates and the fewest that every context has.
        changes: By measure, the mean over contexts of the choice from the most candidates minus a
            candidate at random.
        turns: Held-out metrics that turn down, by their intervals.
    """

    contexts: int
    steps: tuple[Step, ...]
    changes: dict[str, Estimate]
    turns: tuple[Turning, ...] = ()


def curve(ranked: Iterable[Ranked], held_out: Sequence[str]) -> Curve | None:
    """Return how the value, metrics that were held out, and the length move.

    Args:
        ranked: What :func:`grice.evaluation.rerank` gave.
        held_out: Metrics that were run and had no part in the choice.

    Returns:
        None where no context has two candidates that were judged.
    """
    tables = [table for item in ranked if len(table := _table(item, held_out)) > 1]
    if not tables:
        return None
    names = (VALUE, *held_out, WORDS)
    fewest = min(map(len, tables))
    counts = [*takewhile(lambda count: count < fewest, (2**i for i in range(LARGEST))), fewest]
    chosen = {count: np.array([_expected(table, count) for table in tables]) for count in counts}

    def means(values: NDArray[np.float64]) -> dict[str, Estimate]:
        columns = zip(names, values.T, strict=True)
        return {name: mean(column) for name, column in columns if not np.isnan(column).all()}

    steps = tuple(Step(count, means(values)) for count, values in chosen.items())
    turns = (
        Turning(name, peak, change)
        for name in held_out
        if all(name in step.means for step in steps)
        and (peak := max(steps, key=lambda step: step.means[name].value).candidates) < fewest
        and (change := means(chosen[fewest] - chosen[peak])[name]).side(0.0) == "below"
    )
    return Curve(len(tables), steps, means(chosen[fewest] - chosen[1]), tuple(turns))


def _table(ranked: Ranked, held_out: Sequence[str]) -> NDArray[np.float64]:
    """Return a row per judged candidate, the best first: value, metrics, words."""
    rows = []
    for candidate in ranked.candidates:
        if candidate.value is not None:
            values = {score.metric: score.value for score in candidate.scores}
            metrics = (values.get(name) for name in held_out)
            numbers = (candidate.value, *metrics, len(candidate.text.split()))
            rows.append([np.nan if number is None else float(number) for number in numbers])
    return np.array(rows, np.float64).reshape(len(rows), len(held_out) + 2)


def _expected(table: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return what the best of so many candidates, drawn without repeats, has on average."""
    size = len(table)
    chance = [comb(size - 1 - place, count - 1) / comb(size, count) for place in range(size)]
    return np.asarray(chance @ table, np.float64)
