"""Views of results: lines and tables as data, which commands and notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from grice.errors import InputError, excerpt

if TYPE_CHECKING:
    from grice.data import Json
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


class Records:
    """A result of records that prints as a table, in notebooks also as HTML."""

    __slots__ = ()
    SHOWN: ClassVar[tuple[str, ...]]  # columns that are printed
    FURTHER: ClassVar[tuple[str, ...]]  # other columns; the last one holds tuples of texts
    MOST, LONGEST = 20, 60  # rows that are printed, and characters of a cell

    def summary(self) -> str:
        """Return one line above the table."""
        raise NotImplementedError

    def to_rows(self) -> list[dict[str, Json]]:
        """Return a flat record of each score or finding, its flags or quotes joined by blanks."""
        *names, texts = *self.SHOWN, *self.FURTHER
        items: Iterable[Any] = iter(self)  # type: ignore[call-overload]  # of the subclass
        return [
            {name: getattr(item, name) for name in names} | {texts: " ".join(getattr(item, texts))}
            for item in items
        ]

    def to_frame(self) -> Any:  # noqa: ANN401 - of a library that may not be installed
        """Return :meth:`to_rows` as a data frame of pandas, else of polars; ``turn`` is Int64.

        Raises:
            InputError: If neither is installed.
        """
        rows = self.to_rows()
        columns = {name: [row[name] for row in rows] for name in (*self.SHOWN, *self.FURTHER)}
        for library in ("pandas", "polars"):
            try:
                frame = import_module(library).DataFrame(columns)
            except ImportError:
                continue
            return frame.astype({"turn": "Int64"}) if library == "pandas" else frame
        raise InputError("a data frame needs pandas or polars: pip install pandas")

    def _printed(self) -> tuple[list[list[str]], str]:
        """Return the cells of the first rows, and a line on those left out."""
        rows = self.to_rows()
        cells = [[_cell(row[name]) for name in self.SHOWN] for row in rows[: self.MOST]]
        return cells, f"… and {len(rows) - self.MOST:,} more" if len(rows) > self.MOST else ""

    def __repr__(self) -> str:
        cells, rest = self._printed()
        table = [list(self.SHOWN), *cells] if cells else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)][:-1]
        lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in table]
        return "\n".join([self.summary(), *lines, *filter(None, [rest])])

    def _repr_html_(self) -> str:
        cells, rest = self._printed()
        head = "".join(f"<th>{name}</th>" for name in self.SHOWN)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{escape(self.summary())}</p>{table if cells else ''}<p>{rest}</p>"


def _cell(value: Json) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)
    return excerpt(text, Records.LONGEST)


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
