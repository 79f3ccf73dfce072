"""Lines, tables and results on the terminal."""

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

from grice.cli.streams import UNCUT, visible
from grice.data import FeatureEvidence, TripleEvidence, TurnEvidence
from grice.errors import excerpt, plural
from grice.tables import Lines, bounds, number
from grice.tables import Table as TableView
from grice.text.markup import as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment

    from grice.data import Evidence, Score
    from grice.evaluation.review import Review
    from grice.scoring.summary import Summary
    from grice.tables import View

TEXT_WIDTH = 300


class _CleanConsole(Console):
    """Console that shows control characters in any text instead of sending them."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or standard error, as wide as the terminal."""
    return _CleanConsole(stderr=stderr, highlight=False, soft_wrap=False, emoji=False, markup=False)


def summary_view(summary: Summary, worst: Review | None = None) -> View:
    """Show a run: a line per metric, the lowest replies, and those to check first."""
    conversations = plural(summary.conversations, "conversation")
    drawn = summary.sample
    of = f", drawn of {drawn.of:,} (seed {drawn.seed})" if drawn else ""
    yield Text(f"{conversations}, {plural(summary.turns, 'turn')}{of}", style="bold")
    rows = []
    for metric in summary.metrics:
        counts = [f"{metric.counts.get(status, 0):,}" for status in ("ok", "abstained", "failed")]
        mean = number(metric.mean.value if metric.mean else None)
        rows.append((metric.metric, mean, bounds(metric.mean), *counts))
    yield TableView(("metric", "mean", "95 % interval", "ok", "abstained", "failed"), rows)
    for metric in summary.metrics:
        if metric.lowest:
            yield Text(f"\nlowest {metric.metric}", style="bold")
        for low in metric.lowest:
            place = _place(low.conversation, low.turn, low.text)
            yield _turn(number(low.value), place, low.reason)
    if worst is not None and any(item.has_flaw for item in worst.items):
        yield from _first_view(worst)
    if summary.skipped:
        skipped = plural(summary.skipped, "record")
        yield Text(f"\n{skipped} could not be read", style="bold red")
        yield from (Text(f"  {one_line(problem)}") for problem in summary.problems[:5])
        if summary.skipped > 5:
            yield Text(f"  … and {summary.skipped - 5:,} more")


def _first_view(worst: Review) -> View:
    from grice.detectors import in_words

    yield Text("\nto look at first, by the probability that a person would mark it", style="bold")
    if worst.certain:
        yield Text(f"certain flaws: {in_words(worst.certain)}")
    for item in filter(lambda item: item.has_flaw, worst.items):
        by = f", by {item.metric}" if item.metric else ""
        why = f"{item.headline}{by}" + (f": {item.reason}" if item.reason else "")
        yield _turn(item.certainty, _place(item.conversation, item.turn, item.reply), why)


def _turn(value: str, place: Text, reason: str | None) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=7, justify="right")
    grid.add_column(ratio=1)
    grid.add_row(value, place)
    if reason:
        grid.add_row("", Text(one_line(reason), style="italic"))
    return grid


def _place(conversation: str, turn: int | None, text_of: str) -> Text:
    where = conversation if turn is None else f"{conversation} #{turn}"
    text = Text(f"{one_line(where)}  ", style="dim")
    return text.append(one_line(as_read(text_of)), style="not dim") if text_of else text


def scores_view(scores: Sequence[Score], texts: Sequence[str], *, signatures: bool) -> View:
    """Show scores with all their evidence; ``texts`` are the turns of the conversation."""
    for score in scores:
        line = Text(f"{score.metric}  ", style="bold")
        line.append(number(score.value), style="bold cyan")
        line.append("" if score.status == "ok" else f"  {score.status}", style="yellow")
        if score.flags:
            line.append(f"  ({', '.join(score.flags)})", style="yellow")
        yield line
        if score.reason:
            yield indented(one_line(score.reason), 2, "italic")
        for evidence in score.evidence:
            first, *more = describe(evidence, texts)
            yield indented(first, 2)
            yield from (indented(row, 8) for row in more)
        if signatures:
            rows = _signature_rows(score.signature, max(1, console().width - 2))
            yield from (indented(row, 2, "dim") for row in rows)


def _signature_rows(signature: str, width: int) -> list[str]:
    """Wrap a signature behind bars and plus signs only."""
    breakable = signature.replace("|", "| ").replace("+", "+ ")
    rows = wrap(breakable, width, break_on_hyphens=False)
    return [row.replace("| ", "|").replace("+ ", "+") for row in rows]


def indented(text: str, indent: int, style: str = "") -> Padding:
    """Indent every row of a text."""
    return Padding(Text(text, style=style), (0, 0, 0, indent), expand=False)


def describe(evidence: Evidence, texts: Sequence[str]) -> list[str]:
    """Return a piece of evidence as lines of text."""
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
    """Put a text on one line, cut behind a word unless ``--full`` is given."""
    return visible(" ".join(text.split()) if UNCUT.get() else excerpt(text, longest))


def print_piece(piece: Lines | TableView | RenderableType) -> None:
    """Print a piece of a view; a string is written as it is."""
    if isinstance(piece, TableView):
        print_table(*piece)
        return
    if isinstance(piece, str):
        sys.stdout.write(piece)
        return
    out = console()
    if not isinstance(piece, Lines):
        out.print(piece)
        return
    for line in piece.lines:
        out.print(indented(one_line(line, piece.longest), piece.indent, piece.style))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    words: int = 1,
    dim: frozenset[int] = frozenset(),
) -> None:
    """Print rows under a head; a name in the first column is never broken or cut."""
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
    """Print names and values side by side."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, visible(value))
    console().print(grid)


def _width(out: Console, table: Table) -> int:
    """Return how wide a table is if no cell is folded."""
    return Measurement.get(out, out.options.update(max_width=sys.maxsize), table).maximum
