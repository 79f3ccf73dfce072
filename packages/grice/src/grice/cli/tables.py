"""Lines and tables on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.measure import Measurement
from rich.table import Table as Drawn

from grice.cli._clean import visible
from grice.cli.terminal import console, indented, one_line
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console


def print_piece(piece: Lines | Table) -> None:
    """Print lines, free of control characters, or a table."""
    if isinstance(piece, Table):
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
    table = Drawn(box=box.SIMPLE_HEAD, pad_edge=False)
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
    grid = Drawn.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, visible(value))
    console().print(grid)


def _width(out: Console, table: Drawn) -> int:
    """Return how wide a table is if no cell is folded."""
    return Measurement.get(out, out.options.update(max_width=sys.maxsize), table).maximum
