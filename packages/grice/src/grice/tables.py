"""Views of results: lines and tables as data, which commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.stats.estimate import Estimate

    View: TypeAlias = Iterable["Lines | Table | str"]


class Lines(NamedTuple):
    """Lines of text, cut after a word beyond ``longest`` characters; styles are those of rich."""

    lines: Iterable[str]
    style: str = ""
    indent: int = 0
    longest: int = 300


class Table(NamedTuple):
    """Rows under titles, if there are any."""

    columns: Sequence[str]
    rows: Iterable[Sequence[str]]
    words: int = 1  # number of text columns, from the left; the others contain numbers
    dim: frozenset[int] = frozenset()  # indices of dimmed rows


def number(value: float | None, form: str = ".3f") -> str:
    """Format a figure; None is a dash."""
    return "–" if value is None else format(value, form)


def bounds(estimate: Estimate | None, form: str = ".3f") -> str:
    """Format an interval as ``low – high``; a dash without one."""
    if estimate is None or estimate.interval is None:
        return "–"
    return " – ".join(format(bound, form) for bound in estimate.interval)


def value_and_bounds(estimate: Estimate | None, form: str = ".3f") -> tuple[str, str]:
    """Return a figure and its interval as two cells; a missing one is a dash."""
    return number(estimate.value if estimate else None, form), bounds(estimate, form)


def bracketed(estimate: Estimate, form: str = ".3f") -> str:
    """Format an interval as ``[low, high]``; empty without one."""
    if estimate.interval is None:
        return ""
    low, high = estimate.interval
    return f"[{low:{form}}, {high:{form}}]"


def with_interval(estimate: Estimate, form: str = ".3f", bounds_form: str = "") -> str:
    """Format a figure with its interval, if any: ``value [low, high]``."""
    return f"{estimate.value:{form}} {bracketed(estimate, bounds_form or form)}".rstrip()


def estimate_fields(estimate: Estimate) -> dict[str, object]:
    """Return the fields of an estimate for a JSON row."""
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "n")}
