"""Which metrics have earned to run by default: those that beat trivial baselines on held-out sets.

A metric has earned it if there is a set that it was not trained on where it does better than every
trivial baseline, with the interval of the paired difference above zero. One of many sets would show
that by luck, so the intervals are widened to hold over all held-out sets together (Bonferroni). A
baseline counts in both directions: where short replies are the better ones, a metric must also beat
shortness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice_research.comparisons import NOT_MEASURED, TRIVIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_research.comparisons import Comparison, Recorded

SEEN = 0.05
"""From this share of its texts on, a set counts as seen in training; greetings stand everywhere."""
LEVEL = 0.95
REFINED = {"repetition": "cosine_own_turns"}
"""By default metric the baseline that it refines, where the recorded sets do not part the two.

``repetition`` is this cosine with the words, and spares repairs after a complaint, of which the
sets have few.
"""
NOT_EARNED = "not earned: on no held-out set significantly above every trivial baseline"


class Earned(NamedTuple):
    """The set that shows it.

    Attributes:
        hardest: The comparison with the trivial baseline that is nearest to the metric there.
        low: Lower bound of the difference, the interval widened for the number of sets.
        sets: How many held-out sets there are.
    """

    hardest: Comparison
    low: float
    sets: int


def earned(metric: str, known: Recorded, *, without: str = "") -> Earned | None:
    """Return where a metric beats every trivial baseline most surely; None if nowhere."""
    limits = known.metrics.get(metric)
    if limits is None:
        return None
    held_out: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in limits.comparisons:
        if comparison.trained < SEEN and comparison.baseline != without:
            held_out.setdefault((comparison.on, comparison.measure), []).append(comparison)
    hardest = (_hardest(each, len(held_out)) for each in held_out.values())
    best = max(hardest, key=lambda earned: earned.low, default=None)
    return best if best is not None and best.low > 0 else None


def _hardest(comparisons: Sequence[Comparison], sets: int) -> Earned:
    lows = [(_low(comparison, sets), comparison) for comparison in comparisons]
    low, hardest = min(lows, key=lambda pair: pair[0])
    return Earned(hardest, low, sets)


def _low(comparison: Comparison, sets: int) -> float:
    """Return by how much the metric is above the baseline at least, whichever way that is read."""
    gap, low, _ = comparison.gap
    wider = _quantile(1 - (1 - LEVEL) / sets) / _quantile(LEVEL)
    turned_round = 2 * comparison.chance - comparison.of_baseline
    # The difference to the reverse was not recorded; its figure is taken as it is.
    above_reverse = comparison.value - (comparison.value - comparison.low) * wider - turned_round
    return min(gap - (gap - low) * wider, above_reverse)


def _quantile(level: float) -> float:
    from statistics import NormalDist  # slow to load, and few commands ask

    return NormalDist().inv_cdf((1 + level) / 2)


def verdict_on(metric: str, known: Recorded) -> str:
    """Return in one line whether a metric has earned to run by default, and what shows it."""
    if metric in known.baselines:
        return TRIVIAL
    best = earned(metric, known)
    level = ""
    if best is None and metric in REFINED:
        best = earned(metric, known, without=REFINED[metric])
        level = f"; level with {REFINED[metric]}, which it refines"
    if best is not None:
        hardest = best.hardest
        return (
            f"earned on {hardest.on}: {hardest.in_words()} (of {best.sets} held-out sets, "
            f"lower bound for all together {best.low:.3f}){level}"
        )
    return NOT_EARNED if metric in known.metrics else NOT_MEASURED
