"""Tables and lines that several commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

# Texts of a file must not steer the terminal, here as little as in a summary of scores.
from grice.cli._terminal import _clean as one_line
from grice.cli._terminal import console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.stats.estimate import Estimate

__all__ = ["bounds", "number", "one_line", "print_lines", "print_table"]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a head; the first column is words, the others are figures."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, title in enumerate(columns):
        table.add_column(title, justify="right" if place else "left")
    for row in rows:
        table.add_row(*map(one_line, row))
    console().print(table)


def print_lines(lines: Iterable[str], *, style: str = "", indent: int = 0) -> None:
    """Print each line, cut where it is too long and free of control characters."""
    out = console()
    for line in lines:
        out.print(Text(" " * indent + one_line(line), style=style))


def number(value: float | None, form: str = ".3f") -> str:
    """Return a figure, or a dash where there is none."""
    return "–" if value is None else format(value, form)


def bounds(estimate: Estimate | None, form: str = ".3f") -> str:
    """Return the interval of an estimate, or a dash where there is none."""
    if estimate is None or estimate.low is None:
        return "–"
    return f"{number(estimate.low, form)} – {number(estimate.high, form)}"
