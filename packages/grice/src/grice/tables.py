"""Results as lines and tables of text, whoever prints them: what a command shows, as data.

A command that computes returns a record; its view is lines and tables made of it, which
:mod:`grice.cli.output` prints. Loading this module loads nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from grice.stats.estimate import Estimate

    View: TypeAlias = Iterable["Lines | Table | RenderableType"]


class Lines(NamedTuple):
    """Lines of text, each cut behind a word where it is too long, if cutting was not forbidden.

    Attributes:
        style: Colour and weight on a terminal, as rich names them.
        indent: Blanks before each row of a line.
        longest: Characters from which on a line is cut: judged text may be of any length.
    """

    lines: Iterable[str]
    style: str = ""
    indent: int = 0
    longest: int = 300


class Table(NamedTuple):
    """Rows under a head.

    Attributes:
        columns: Titles; none for names with a value each.
        rows: Cells, as many as there are columns.
        words: How many columns from the left hold words; the others hold figures.
        dim: Rows that stand back, by their place.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[str]]
    words: int = 1
    dim: frozenset[int] = frozenset()


def number(value: float | None, form: str = ".3f") -> str:
    """Return a figure, or a dash where there is none."""
    return "–" if value is None else format(value, form)


def bounds(estimate: Estimate | None, form: str = ".3f") -> str:
    """Return an interval as ``low – high``, or a dash where there is none."""
    if estimate is None or estimate.interval is None:
        return "–"
    return " – ".join(format(bound, form) for bound in estimate.interval)


def bracketed(estimate: Estimate, form: str = ".3f") -> str:
    """Return an interval as ``[low, high]``; empty where there is none."""
    if estimate.interval is None:
        return ""
    low, high = estimate.interval
    return f"[{low:{form}}, {high:{form}}]"


def with_interval(estimate: Estimate, form: str = ".3f", bounds_form: str = "") -> str:
    """Return a figure with its interval: ``value [low, high]``, or the value alone."""
    return f"{estimate.value:{form}} {bracketed(estimate, bounds_form or form)}".rstrip()


def estimate_fields(estimate: Estimate) -> dict[str, object]:
    """Return the fields of an estimate in a row for machines."""
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "n")}
