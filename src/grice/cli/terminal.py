"""What a person sees on the terminal."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grice.cli._clean import visible
from grice.cli._streams import QUIET, complain
from grice.errors import LONGEST, plural, shortened
from grice.records import FeatureEvidence, TripleEvidence, TurnEvidence
from grice.tables import bounds, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment

    from grice.records import Evidence, Score
    from grice.scoring.summary import LowScore, MetricSummary, Summary

__all__ = [
    "console",
    "describe",
    "indented",
    "note",
    "one_line",
    "print_scores",
    "print_summary",
    "warn",
]

TEXT_WIDTH = 300


class _CleanConsole(Console):
    """A console on which no text steers the terminal, whoever wrote it and wherever it stands."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or standard error, as wide as the terminal."""
    return _CleanConsole(stderr=stderr, highlight=False, soft_wrap=False, emoji=False, markup=False)


def warn(message: str) -> None:
    """Print one line to standard error, cut where it is too long to be read."""
    complain(visible(shortened(message, LONGEST)))


def note(message: str) -> None:
    """Print what is good to know and no complaint: a line as :func:`warn` does, not if quiet."""
    if not QUIET.get():
        warn(message)


def print_summary(summary: Summary) -> None:
    """Print a run: one line per metric, then the lowest replies with the reason."""
    out = console()
    conversations = plural(summary.conversations, "conversation")
    out.print(f"{conversations}, {plural(summary.turns, 'turn')}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric")
    for title in ("mean", "95 % interval", "ok", "abstained", "failed"):
        table.add_column(title, justify="right")
    for metric in summary.metrics:
        counts = [f"{metric.counts.get(status, 0):,}" for status in ("ok", "abstained", "failed")]
        table.add_row(metric.metric, number(metric.mean), bounds(metric), *counts)
    out.print(table)
    for metric in summary.metrics:
        _print_lowest(out, metric)
    if summary.skipped:
        skipped = plural(summary.skipped, "record")
        out.print(f"\n{skipped} could not be read", style="bold red")
        for problem in summary.problems[:5]:
            out.print(Text(f"  {one_line(problem)}"))
        if summary.skipped > 5:
            out.print(f"  … and {summary.skipped - 5:,} more")


def _print_lowest(out: Console, metric: MetricSummary) -> None:
    if not metric.lowest:
        return
    out.print(f"\nlowest {metric.metric}", style="bold")
    for low in metric.lowest:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=6, justify="right")
        grid.add_column(ratio=1)
        grid.add_row(number(low.value), _place(low))
        if low.reason:
            grid.add_row("", Text(one_line(low.reason), style="italic"))
        out.print(grid)


def _place(low: LowScore) -> Text:
    where = low.conversation if low.turn is None else f"{low.conversation} #{low.turn}"
    text = Text(f"{one_line(where)}  ", style="dim")
    return text.append(one_line(low.text), style="not dim") if low.text else text


def print_scores(scores: Sequence[Score], texts: Sequence[str]) -> None:
    """Print scores with all their evidence; ``texts`` are the turns of the conversation."""
    out = console()
    for score in scores:
        line = Text(f"{score.metric}  ", style="bold")
        line.append(number(score.value), style="bold cyan")
        line.append("" if score.status == "ok" else f"  {score.status}", style="yellow")
        if score.flags:
            line.append(f"  ({', '.join(score.flags)})", style="yellow")
        out.print(line)
        if score.reason:
            out.print(indented(one_line(score.reason), 2, "italic"))
        for evidence in score.evidence:
            first, *more = describe(evidence, texts)
            out.print(indented(first, 2))
            for row in more:
                out.print(indented(row, 8))
        for row in _signature_rows(score.signature, max(1, out.width - 2)):
            out.print(indented(row, 2, "dim"))


def _signature_rows(signature: str, width: int) -> list[str]:
    """Return the signature in rows that end behind a bar or a plus, so that no name is torn."""
    breakable = signature.replace("|", "| ").replace("+", "+ ")
    rows = wrap(breakable, width, break_on_hyphens=False)
    return [row.replace("| ", "|").replace("+ ", "+") for row in rows]


def indented(text: str, indent: int, style: str = "") -> Padding:
    """Return text whose every row begins so many blanks further right."""
    return Padding(Text(text, style=style), (0, 0, 0, indent), expand=False)


def describe(evidence: Evidence, texts: Sequence[str]) -> list[str]:
    """Return the lines that say a piece of evidence in words."""
    match evidence:
        case TripleEvidence(triple=triple, plausibility=plausibility, known=known):
            written = f"{one_line(triple.head)} —{triple.relation}→ {one_line(triple.tail)}"
            lines = [f"{plausibility:.2f}  {written}"]
            if known:
                lines.append(
                    f"nearest known: {one_line(known.head)} → {one_line(known.tail)} "
                    f"(heads {known.head_similarity:.2f}, tails {known.tail_similarity:.2f}, "
                    f"{known.source})"
                )
            return lines
        case TurnEvidence(turn=turn, effect=effect):
            return [f"{effect:+.2f}  #{turn} {one_line(texts[turn])}"]
        case FeatureEvidence(name=name, value=value, effect=None):
            return [f"{one_line(name)} = {value:g}"]
        case FeatureEvidence(name=name, value=value, effect=effect):
            return [f"{effect:+.2f}  {one_line(name)} = {value:g}"]


def one_line(text: str, longest: int = TEXT_WIDTH) -> str:
    """Return the text on one line, cut, without characters that could steer a terminal."""
    line = visible(" ".join(text[: 2 * longest].split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"
