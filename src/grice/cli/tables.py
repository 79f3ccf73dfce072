"""Tables and lines that several commands print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.measure import Measurement
from rich.table import Table

from grice.cli.terminal import console, indented, one_line
from grice.metrics.limits import NOT_MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

    from grice.stats.estimate import Estimate

__all__ = ["bounds", "number", "print_limits", "print_lines", "print_table"]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> None:
    """Print rows under a head, closer together where the terminal is too narrow for them.

    Args:
        columns: Their titles.
        rows: Cells, as many as there are columns.
        words: How many columns from the left hold words; the others hold figures. A name in the
            first one is never broken or cut.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, title in enumerate(columns):
        name = place == 0 and all(" " not in row[0] for row in cells)
        table.add_column(
            title, justify="left" if place < words else "right", overflow="fold", no_wrap=name
        )
    for row in cells:
        table.add_row(*row)
    out = console()
    if words < len(columns) and _width(out, table) > out.width:
        table.show_edge = False
        # With gaps of one space where that keeps every row on one line, else of two.
        table.padding = (0, 1, 0, 0)
        if out.width < _width(out, table) <= out.width + len(columns) - 1:
            table.padding = 0
    out.print(table)


def _width(out: Console, table: Table) -> int:
    """Return how wide a table is if no cell is folded."""
    return Measurement.get(out, out.options.update(max_width=sys.maxsize), table).maximum


def print_lines(lines: Iterable[str], *, style: str = "", indent: int = 0) -> None:
    """Print each line, cut where it is too long and free of control characters."""
    out = console()
    for line in lines:
        out.print(indented(one_line(line), indent, style))


def print_limits(said: Mapping[str, str]) -> None:
    """Print what metrics do not see, in one line each; those not measured in one for all.

    Args:
        said: :func:`grice.metrics.limits.summed_up` of each metric by its name.
    """
    out = console()
    out.print("What they do not see" if len(said) > 1 else "What it does not see", end="")
    out.print(", by recorded figures (grice list METRIC has them):")
    for name, words in said.items():
        if words != NOT_MEASURED:
            out.print(indented(f"{name}: {words}", 2))
    if missing := [name for name, words in said.items() if words == NOT_MEASURED]:
        out.print(indented(f"{NOT_MEASURED}: {', '.join(missing)}", 2))


def number(value: float | None, form: str = ".3f") -> str:
    """Return a figure, or a dash where there is none."""
    return "–" if value is None else format(value, form)


def bounds(estimate: Estimate | None, form: str = ".3f") -> str:
    """Return the interval of an estimate, or a dash where there is none."""
    if estimate is None or estimate.low is None:
        return "–"
    return f"{number(estimate.low, form)} – {number(estimate.high, form)}"
