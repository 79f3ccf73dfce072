"""``grice compare``: two files of scores over the same items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import Output, one_line, write_text
from grice.errors import plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import OutputPath
    from grice.evaluation.compare import CompareResult, MetricDifference
    from grice.tables import View


def run(
    baseline: str,
    other: str,
    *,
    across_signatures: bool = False,
    difference: float | None = None,
    moved: int = 5,
    texts: str | None = None,
    seed: int = 0,
    report: OutputPath | None = None,
) -> Output:
    """Compare two score files: differences, significance, turns and causes.

    Args:
        baseline (A.jsonl): scores to compare with; of another tool: FILE#COLUMN
        other (B.jsonl): scores of the same items, changed
        difference (D): smallest difference worth finding; default: the one that was found
        moved (N): conversations to name
        texts (CHATS): the scored conversations, to show the judged replies
        seed: permutation tests and resamples
    """
    from grice.evaluation.compare import compare

    result = compare(
        baseline,
        other,
        across_signatures=across_signatures,
        difference=difference,
        moved=moved,
        texts=texts,
        seed=seed,
    )
    if report is not None:
        from grice.report.html import difference_page

        write_text(difference_page(result), report)
    return Output([result], _view(result))


def _view(result: CompareResult) -> View:
    yield Lines([f"{result.other} against the baseline {result.baseline}"], style="bold")
    if not result.paired:
        yield Lines(["they share no conversation: means over the conversations of each, unpaired"])
    columns = ("metric", "baseline", "other", "difference", "95 % interval", "p (Holm)", "d_z", "n")
    yield Table(columns, map(_row, result.metrics))
    for metric in result.metrics:
        yield Lines([metric.says])
        if result.paired:
            yield Lines(_left_out(metric), style="yellow", indent=2)
    yield Lines((f"not compared: {line}" for line in result.left_out), style="yellow")
    for metric in result.metrics:
        if metric.moved:
            yield from _moved_view(metric)


def _row(metric: MetricDifference) -> Sequence[str]:
    comparison = metric.comparison
    if comparison is None or metric.baseline is None or metric.other is None:
        return (metric.metric, *"––––––", str(metric.pairs))
    return (
        metric.metric,
        number(metric.baseline.value),
        number(metric.other.value),
        number(comparison.difference.value, "+.3f"),
        bounds(comparison.difference, "+.3f"),
        number(comparison.p_value, ".2g"),
        number(comparison.d_z, "+.2f"),
        f"{comparison.difference.n:,}",
    )


def _left_out(metric: MetricDifference) -> Iterator[str]:
    for statuses, n in metric.unpaired.items():
        yield f"{plural(n, 'item')} {statuses}: left out"
    if metric.only_baseline or metric.only_other:
        only = f"{plural(metric.only_baseline, 'item')} only in the baseline"
        yield f"{only}, {metric.only_other:,} only in the other: left out"
        yield from metric.named


def _moved_view(metric: MetricDifference) -> View:
    """Show the conversations whose scores changed most, their items and the causes."""
    from grice.text.markup import as_read

    yield Lines(["", f"moved most in {metric.metric}"], style="bold")
    for moved in metric.moved:
        yield Lines([f"{moved.difference:+.3f}  {moved.conversation}"], indent=2)
        for item in moved.items:
            place = "whole conversation" if item.turn is None else f"turn {item.turn}"
            yield Lines([f"{place}: {item.baseline:.3f} → {item.other:.3f}"], indent=10)
            if item.text:
                yield Lines([f"“{one_line(as_read(item.text), 100)}”"], indent=12)
            changes = (
                f"{change.measure} {number(change.baseline)} → {number(change.other)}: "
                f"{change.what}"
                for change in item.changes
            )
            yield Lines(changes, style="dim", indent=12)
