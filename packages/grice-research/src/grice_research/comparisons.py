"""State the blind spots of a metric in sentences that follow from recorded figures.

The figures are read from the recorded runs of benches that compare metrics with trivial baselines
(:func:`limits_of`): each metric against each baseline on the same items, with the 95 % interval of
the paired difference. A metric that no bench has compared is *not measured*.

A metric has earned to run by default if there is a set that it was not trained on where it does
better than every trivial baseline, with the interval of the paired difference above zero. One of
many sets would show that by luck, so the intervals are widened to hold over all held-out sets
together (Bonferroni). A baseline counts in both directions: where short replies are the better
ones, a metric must also beat shortness.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from grice.metrics.declaration import find_metrics
from grice_research.pages import changes
from grice_research.runs import Run

NOT_MEASURED = "not measured"
TRIVIAL = "a trivial baseline itself"
AREA = "AUC"  # the measure of how a metric tells turns that people marked from others
RIGHT = "share right"  # the measure of how often it scores an original above its damaged version
CHANCES = {AREA: 0.5, RIGHT: 0.5}  # value of chance by measure; a correlation has 0
COMPARED = (AREA, RIGHT, "spearman")  # measures that show limits
NAMED = "the turns that its evidence names"  # how a metric of whole conversations sees marked turns
ALIKE = 0.8
"""From this Spearman correlation on, by the median set, a metric is said to rank as a baseline."""


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """A metric beside one trivial baseline on the same items."""

    on: str  # the rated set with its aspect, or what people marked
    measure: str
    value: float  # the metric's figure
    low: float  # lower bound of its 95 % interval
    high: float  # upper bound
    n: int  # number of items
    baseline: str  # the trivial baseline
    of_baseline: float  # its figure
    gap: tuple[float, float, float]
    alike: float | None = None  # spearman correlation of the two scores, if it was measured
    note: str = ""  # by what they were compared, if not by the scores
    command: str = ""  # what measures it again
    trained: float = 0.0  # share of the texts of the set that a model of the metric was trained on

    @property
    def chance(self) -> float:
        """Value of an uninformative score."""
        return CHANCES.get(self.measure, 0.0)

    @property
    def name(self) -> str:
        """The measure as a sentence writes it."""
        return self.measure if self.measure == AREA else self.measure.capitalize()

    def in_words(self) -> str:
        """Return both figures with their difference and its interval."""
        gap, low, high = self.gap
        return (
            f"{self.name} {self.value:.2f} against {self.of_baseline:.2f} of {self.baseline}, "
            f"difference {gap:.2f} [{low:.2f}, {high:.2f}]"
        )

    @property
    def is_below(self) -> bool:
        """Whether the metric is surely below the baseline."""
        return self.gap[2] < 0

    @property
    def is_above(self) -> bool:
        """Whether it is surely above."""
        return self.gap[1] > 0


class Limits(msgspec.Struct, frozen=True):
    """Measured figures of a metric."""

    signature: str
    comparisons: tuple[Comparison, ...]

    def marked(self) -> list[Comparison]:
        """Return for each kind of flaw the comparison with the best trivial baseline."""
        return _best(comparison for comparison in self.comparisons if comparison.measure in CHANCES)

    def rated(self) -> dict[str, list[Comparison]]:
        """Return the comparisons on rated sets by baseline."""
        by_baseline: dict[str, list[Comparison]] = {}
        for comparison in self.comparisons:
            if comparison.measure not in CHANCES:
                by_baseline.setdefault(comparison.baseline, []).append(comparison)
        return by_baseline


def _best(comparisons: Iterable[Comparison]) -> list[Comparison]:
    best: dict[str, Comparison] = {}
    for comparison in comparisons:
        if comparison.on not in best or comparison.of_baseline > best[comparison.on].of_baseline:
            best[comparison.on] = comparison
    return list(best.values())


class Recorded(msgspec.Struct, frozen=True):
    """Limits by metric, and the baselines they are held against."""

    metrics: dict[str, Limits]
    baselines: tuple[str, ...]


def explained(metric: str, known: Recorded, *, signature: str = "") -> list[str]:
    """Return what a metric does not see, sentence by sentence, with figures."""
    limits = known.metrics.get(metric)
    if limits is None:
        if metric in known.baselines:
            return ["A trivial baseline itself: other metrics are held against it."]
        return ["Not measured: no recorded bench has held it against trivial baselines."]
    sentences = _of_marked(limits.marked())
    for baseline, each in limits.rated().items():
        sentences += _of_rated(baseline, each)
    if not sentences:
        sentences.append("No limit found by what was measured.")
    for note in dict.fromkeys(comparison.note for comparison in limits.marked() if comparison.note):
        sentences.append(f"What people marked is compared by {note}.")
    if signature and not limits.signature.startswith(signature):
        sentences.append(f"Measured with other settings or another version: {limits.signature}.")
    commands = dict.fromkeys(each.command for each in limits.comparisons if each.command)
    if commands:
        sentences.append(f"Measured by {' and '.join(f'`{each}`' for each in commands)}.")
    return sentences


def _of_marked(marked: Sequence[Comparison]) -> list[str]:
    below = [each for each in marked if each.high < each.chance]
    near = [each for each in marked if each.low <= each.chance <= each.high]
    sentences = []
    for words, kind in (
        ("Below chance, so that turns with it score higher, for", below),
        ("Near chance for", near),
    ):
        if kind:
            listed = (f"{each.on} ({_bounded(each)})" for each in kind)
            sentences.append(f"{words} {', '.join(listed)}.")
    seen = [each for each in marked if each.low > each.chance and not each.is_above]
    if seen:
        listed = (f"{each.on} ({each.in_words()})" for each in seen)
        words = "Above chance, but not above a trivial baseline, for"
        sentences.append(f"{words} {', '.join(listed)}.")
    return sentences


def _of_rated(baseline: str, each: Sequence[Comparison]) -> list[str]:
    sentences = []
    if _ranks_alike(each):
        known = [comparison.alike for comparison in each if comparison.alike is not None]
        sentences.append(
            f"Ranks as the trivial baseline {baseline} does: Spearman between the two "
            f"{min(known):.2f} to {max(known):.2f} on {_sets(len(known))}."
        )
    below = [f"{item.on} ({item.in_words()})" for item in each if item.is_below]
    level = [item.on for item in each if not item.is_below and not item.is_above]
    for words, listed in (("Below", below), ("Level with", level)):
        if listed:
            sentences.append(
                f"{words} the trivial baseline {baseline} on {len(listed)} of {_sets(len(each))}: "
                f"{', '.join(listed)}."
            )
    return sentences


def _ranks_alike(each: Sequence[Comparison]) -> bool:
    from statistics import median  # slow to load, and few commands ask

    known = [comparison.alike for comparison in each if comparison.alike is not None]
    return bool(known) and median(known) >= ALIKE


def _sets(count: int) -> str:
    return f"{count} rated set{'s' * (count != 1)}"


def _bounded(comparison: Comparison) -> str:
    interval = f"[{comparison.low:.2f}, {comparison.high:.2f}]"
    return f"{comparison.name} {comparison.value:.2f} {interval}"


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
    """The set that shows it."""

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
    sets, hardest = len(held_out), []
    for comparisons in held_out.values():
        lows = [(_low(comparison, sets), comparison) for comparison in comparisons]
        low, comparison = min(lows, key=lambda pair: pair[0])
        hardest.append(Earned(comparison, low, sets))
    best = max(hardest, key=lambda earned: earned.low, default=None)
    return best if best is not None and best.low > 0 else None


def _low(comparison: Comparison, sets: int) -> float:
    """Return by how much the metric is above the baseline at least, whichever way that is read."""
    from statistics import NormalDist  # slow to load, and few commands ask

    gap, low, _ = comparison.gap
    wider = NormalDist().inv_cdf(1 - (1 - LEVEL) / sets / 2) / NormalDist().inv_cdf((1 + LEVEL) / 2)
    turned_round = 2 * comparison.chance - comparison.of_baseline
    # The difference to the reverse was not recorded; its figure is taken as it is.
    above_reverse = comparison.value - (comparison.value - comparison.low) * wider - turned_round
    return min(gap - (gap - low) * wider, above_reverse)


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
        shown = f"of {best.sets} held-out sets, lower bound for all together {best.low:.3f}"
        return f"earned on {hardest.on}: {hardest.in_words()} ({shown}){level}"
    return NOT_EARNED if metric in known.metrics else NOT_MEASURED


def limits_of(runs: Sequence[Run]) -> Recorded:
    """Return every comparison of a metric with a trivial baseline that was recorded."""
    by_metric: dict[str, list[Comparison]] = {}
    signatures: dict[str, list[str]] = {}
    for run in runs:
        for metric, comparison, signature in _compared(run):
            by_metric.setdefault(metric, []).append(comparison)
            signatures.setdefault(metric, []).append(signature)
    baselines = {comparison.baseline for each in by_metric.values() for comparison in each}
    limits = {}
    for name, each in sorted(by_metric.items()):
        # The first signature of what no longer ships; the first of all if each ships.
        oldest = next((text for text in signatures[name] if changes(text)), signatures[name][0])
        limits[name] = Limits(oldest, tuple(each))
    return Recorded(limits, tuple(sorted(baselines)))


def _compared(run: Run) -> Iterator[tuple[str, Comparison, str]]:
    """Yield the comparisons of a run, each with its metric and the signature of that."""
    known = find_metrics().metrics
    values = {(figure.row, figure.on, figure.measure): figure.value for figure in run.figures}
    for own in run.figures:
        if not own.metric or own.measure not in COMPARED or None in (own.low, own.high, own.n):
            continue
        whole = own.metric in known and known[own.metric].judges == "conversation"
        value, low, high = (round(float(each or 0.0), 4) for each in (own.value, own.low, own.high))
        for gap in own.gaps:
            other = values.get((gap.baseline, own.on, own.measure))
            if other is None:
                continue
            difference, least, most = (round(each, 4) for each in gap[1:4])
            comparison = Comparison(
                on=own.on.replace(":overall", ""),
                measure=own.measure,
                value=value,
                low=low,
                high=high,
                n=own.n or 0,
                baseline=gap.baseline,
                of_baseline=round(other, 4),
                gap=(difference, least, most),
                alike=None if gap.alike is None else round(gap.alike, 4),
                note=NAMED if whole and own.measure == AREA else "",
                command=run.command,
                trained=own.trained,
            )
            yield own.metric, comparison, own.signature.partition("|on:")[0]
