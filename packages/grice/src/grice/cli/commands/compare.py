"""``grice compare``: two files of scores over the same items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit
from grice.errors import plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.compare import CompareResult, MetricDifference, MovedConversation
    from grice.tables import View

HELP = "compare two score files: differences, significance, turns and causes"
TEXT = 100
"""Characters of a reply that are shown."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "baseline", metavar="A.jsonl", help="scores to compare with; of another tool: FILE#COLUMN"
    )
    parser.add_argument("other", metavar="B.jsonl", help="scores of the same items, changed")
    flags.add_across_signatures(parser)
    parser.add_argument(
        "--difference",
        type=float,
        metavar="D",
        help="smallest difference worth finding; default: the one that was found",
    )
    flags.add_number(parser, "--moved", "N", "conversations to name", 5, type=int)
    parser.add_argument(
        "--texts", metavar="CHATS", help="the scored conversations, to show what was judged"
    )
    flags.add_seed(parser, "swaps of a permutation test, and resamples")
    flags.add_json(parser)
    flags.add_report(parser)
    flags.add_extras(parser, "stats")


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison."""
    from grice.evaluation.compare import compare

    result = compare(
        arguments.baseline,
        arguments.other,
        across_signatures=arguments.across_signatures,
        difference=arguments.difference,
        moved=arguments.moved,
        texts=arguments.texts,
        seed=arguments.seed,
    )
    if arguments.report is not None:
        from grice.files import write_text
        from grice.report.html import difference_page

        write_text(arguments.report, difference_page(result))
    emit(result, _view(result), as_json=arguments.json)
    return 0


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
            yield Lines(["", f"moved most in {metric.metric}"], style="bold")
            for moved in metric.moved:
                yield from _moved(moved)


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


def _left_out(metric: MetricDifference) -> list[str]:
    """Return what was left out of a metric, in words."""
    unpaired = metric.unpaired.items()
    lines = [f"{plural(n, 'item')} {statuses}: left out" for statuses, n in unpaired]
    if metric.only_baseline or metric.only_other:
        lines.append(
            f"{plural(metric.only_baseline, 'item')} only in the baseline, "
            f"{metric.only_other:,} only in the other: left out"
        )
        lines += metric.named
    return lines


def _moved(moved: MovedConversation) -> View:
    from grice.cli.terminal import one_line
    from grice.text.markdown import as_read

    yield Lines([f"{moved.difference:+.3f}  {moved.conversation}"], indent=2)
    for item in moved.items:
        place = "whole conversation" if item.turn is None else f"turn {item.turn}"
        yield Lines([f"{place}: {item.baseline:.3f} → {item.other:.3f}"], indent=10)
        if item.text:
            yield Lines([f"“{one_line(as_read(item.text), TEXT)}”"], indent=12)
        changes = (
            f"{change.measure} {number(change.baseline)} → {number(change.other)}: {change.what}"
            for change in item.changes
        )
        yield Lines(changes, style="dim", indent=12)
