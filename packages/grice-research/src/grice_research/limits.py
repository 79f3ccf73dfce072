"""What recorded runs say of the limits of metrics: each beside each trivial baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.comparisons import Comparison, Limits, Recorded
from grice_research.outdated import changes
from grice_research.rows import DIFFERENCE, LIKENESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_research.figures import Figure
    from grice_research.runs import Run


def limits_of(runs: Sequence[Run]) -> Recorded:
    """Return every comparison of a metric with a trivial baseline that was recorded."""
    by_metric: dict[str, list[Comparison]] = {}
    signatures: dict[str, list[str]] = {}
    for run in runs:
        for metric, comparison, signature in _compared(run):
            by_metric.setdefault(metric, []).append(comparison)
            signatures.setdefault(metric, []).append(signature)
    baselines = {comparison.baseline for each in by_metric.values() for comparison in each}
    return Recorded(
        {
            name: Limits(_oldest(signatures[name]), tuple(each))
            for name, each in sorted(by_metric.items())
        },
        tuple(sorted(baselines)),
    )


def _oldest(signatures: Sequence[str]) -> str:
    """Return the first signature of what no longer ships; the first of all if each ships."""
    return next((each for each in signatures if changes(each)), signatures[0])


def _compared(run: Run) -> Iterator[tuple[str, Comparison, str]]:
    """Yield the comparisons of a run, each with its metric and the signature of that."""
    values = {(figure.row, figure.on, figure.measure): figure for figure in run.figures}
    for gap in run.figures:
        if not gap.baseline or not gap.measure.startswith(DIFFERENCE):
            continue
        measure = gap.measure.removeprefix(DIFFERENCE)
        own = values.get((gap.metric, gap.on, measure))
        other = values.get((gap.baseline, gap.on, measure))
        if own is None or other is None or other.value is None:
            continue
        alike = values.get((gap.metric, gap.on, f"{LIKENESS}{gap.baseline}"))
        comparison = _comparison(own, other.value, gap, alike, run.command)
        if comparison is not None:
            yield gap.metric, comparison, own.signature.partition("|on:")[0]


def _comparison(
    own: Figure, of_baseline: float, gap: Figure, alike: Figure | None, command: str
) -> Comparison | None:
    numbers = (own.value, own.low, own.high, gap.value, gap.low, gap.high)
    if own.n is None or None in numbers:
        return None
    value, low, high, *bounds = (round(float(number or 0.0), 4) for number in numbers)
    return Comparison(
        on=own.on.replace(":overall", ""),
        measure=own.measure,
        value=value,
        low=low,
        high=high,
        n=own.n,
        baseline=gap.baseline,
        of_baseline=round(of_baseline, 4),
        gap=(bounds[0], bounds[1], bounds[2]),
        alike=None if alike is None or alike.value is None else round(alike.value, 4),
        note=gap.why,
        command=command,
        trained=own.trained,
    )
