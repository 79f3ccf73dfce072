"""Published tables on the terminal, 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from grice.cli.terminal import console
from grice_research.runs import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from grice_research.figures import Figure
    from grice_research.published import Bench

STYLES = {"baseline": "dim", "ours": "bold", "printed": ""}


def print_bench(bench: Bench, figures: Sequence[Figure]) -> None:
    """Print what was measured, and how much was not."""
    out = console()
    out.print(Text(bench.title, style="bold"))
    out.print(Text(bench.paper, style="dim"))
    for table in bench.tables:
        measured = [
            figure for figure in figures if figure.table == table.id and figure.value is not None
        ]
        if measured:
            _print_table(out, table.id, table.note, measured)
    _print_task(out, [figure for figure in figures if not figure.table])
    counts = counted(figures)
    counts.pop("none", None)
    out.print("; ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    out.print()


def _print_table(out: Console, name: str, note: str, figures: Sequence[Figure]) -> None:
    out.print()
    out.print(Text(name + (f" ({note})" if note else ""), style="italic"))
    for column in dict.fromkeys((figure.measure, figure.on) for figure in figures):
        of_column = [figure for figure in figures if (figure.measure, figure.on) == column]
        out.print(_figures(f"{column[0]} on {column[1]}", of_column))


def _figures(title: str, figures: Sequence[Figure]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    table.add_column(Text(title), overflow="fold", ratio=1)
    for head in ("value", "95 %", "n", "printed", "verdict"):
        table.add_column(head, justify="right", no_wrap=True)
    for figure in figures:
        table.add_row(
            Text(figure.row),
            _number(figure.value),
            _bounds(figure),
            str(figure.n or ""),
            "" if figure.published is None else f"{figure.published:g}",
            figure.verdict or "",
            style=STYLES[figure.kind],
        )
    return table


def _print_task(out: Console, figures: Sequence[Figure]) -> None:
    """Print what the bench of a task gave, a table for each measure and data set."""
    measured = [
        figure for figure in figures if figure.value is not None or figure.published is not None
    ]
    for column in dict.fromkeys((figure.measure, figure.on) for figure in measured):
        out.print()
        title = f"{column[0]} on {column[1]}" if column[1] else column[0]
        out.print(
            _figures(
                title, [figure for figure in measured if (figure.measure, figure.on) == column]
            )
        )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _bounds(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f"[{figure.low:.2f}, {figure.high:.2f}]"
