"""What a person sees on the terminal."""

from __future__ import annotations

import sys
from textwrap import wrap
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grice.cli._streams import QUIET, UNCUT, complain, visible
from grice.errors import LONGEST, excerpt, plural, shortened
from grice.records import FeatureEvidence, TripleEvidence, TurnEvidence
from grice.tables import Lines, bounds, number
from grice.tables import Table as TableView
from grice.text.markdown import as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment

    from grice.evaluation.review import Review
    from grice.records import Evidence, Score
    from grice.scoring.summary import MetricSummary, Summary

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


def confirm(question: str) -> bool:
    """Ask a question on the terminal; without one, the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"{visible(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def print_summary(summary: Summary, worst: Review | None = None) -> None:
    """Print a run: a line per metric, the lowest replies, and those to look at first."""
    out = console()
    conversations = plural(summary.conversations, "conversation")
    drawn = summary.sample
    of = f", drawn of {drawn.of:,} (seed {drawn.seed})" if drawn else ""
    out.print(f"{conversations}, {plural(summary.turns, 'turn')}{of}", style="bold")
    rows = []
    for metric in summary.metrics:
        counts = [f"{metric.counts.get(status, 0):,}" for status in ("ok", "abstained", "failed")]
        mean = number(metric.mean.value if metric.mean else None)
        rows.append((metric.metric, mean, bounds(metric.mean), *counts))
    print_table(("metric", "mean", "95 % interval", "ok", "abstained", "failed"), rows)
    for metric in summary.metrics:
        _print_lowest(out, metric)
    if worst is not None and any(item.has_flaw for item in worst.items):
        _print_first(out, worst)
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
        _print_turn(
            out, number(low.value), _place(low.conversation, low.turn, low.text), low.reason
        )


def _print_first(out: Console, worst: Review) -> None:
    from grice.detectors import in_words

    out.print("\nto look at first, by the probability that a person would mark it", style="bold")
    if worst.certain:
        out.print(f"certain flaws: {in_words(worst.certain)}")
    for item in filter(lambda item: item.has_flaw, worst.items):
        by = f", by {item.metric}" if item.metric else ""
        why = f"{item.headline}{by}" + (f": {item.reason}" if item.reason else "")
        _print_turn(out, item.certainty, _place(item.conversation, item.turn, item.reply), why)


def _print_turn(out: Console, value: str, place: Text, reason: str | None) -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=7, justify="right")
    grid.add_column(ratio=1)
    grid.add_row(value, place)
    if reason:
        grid.add_row("", Text(one_line(reason), style="italic"))
    out.print(grid)


def _place(conversation: str, turn: int | None, text_of: str) -> Text:
    where = conversation if turn is None else f"{conversation} #{turn}"
    text = Text(f"{one_line(where)}  ", style="dim")
    return text.append(one_line(as_read(text_of)), style="not dim") if text_of else text


def print_scores(scores: Sequence[Score], texts: Sequence[str], *, signatures: bool) -> None:
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
        if signatures:
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
            return [f"{effect:+.2f}  #{turn} {one_line(as_read(texts[turn]))}"]
        case FeatureEvidence(name=name, value=value, effect=None):
            return [f"{one_line(name)} = {value:g}"]
        case FeatureEvidence(name=name, value=value, effect=effect):
            return [f"{effect:+.2f}  {one_line(name)} = {value:g}"]


def one_line(text: str, longest: int = TEXT_WIDTH) -> str:
    """Return the text on one line, without characters that could steer a terminal.

    It is cut behind a word, unless the command was asked to cut nothing (``--full``).
    """
    return visible(" ".join(text.split()) if UNCUT.get() else excerpt(text, longest))


def print_piece(piece: Lines | TableView) -> None:
    """Print lines, free of control characters, or a table."""
    if isinstance(piece, TableView):
        print_table(*piece)
        return
    out = console()
    for line in piece.lines:
        out.print(indented(one_line(line, piece.longest), piece.indent, piece.style))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    words: int = 1,
    dim: frozenset[int] = frozenset(),
) -> None:
    """Print rows under a head, closer together where the terminal is too narrow for them.

    A name in the first column is never broken or cut. See :class:`grice.tables.Table`.
    """
    if not columns:
        _print_pairs(rows)
        return
    cells = [[one_line(cell) for cell in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, title in enumerate(columns):
        name = place == 0 and all(" " not in row[0] for row in cells)
        table.add_column(
            title, justify="left" if place < words else "right", overflow="fold", no_wrap=name
        )
    for place, row in enumerate(cells):
        table.add_row(*row, style="dim" if place in dim else "")
    out = console()
    if words < len(columns) and _width(out, table) > out.width:
        table.show_edge = False
        # With gaps of one space where that keeps every row on one line, else of two.
        table.padding = (0, 1, 0, 0)
        if out.width < _width(out, table) <= out.width + len(columns) - 1:
            table.padding = 0
    out.print(table)


def _print_pairs(rows: Iterable[Sequence[str]]) -> None:
    """Print what there is to know, each name beside its value."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, visible(value))
    console().print(grid)


def _width(out: Console, table: Table) -> int:
    """Return how wide a table is if no cell is folded."""
    return Measurement.get(out, out.options.update(max_width=sys.maxsize), table).maximum
