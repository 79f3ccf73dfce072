"""The published tables, one file each in ``tables/``; a further table is one more file.

A file holds what was printed and says how each figure is measured here, if it can be::

    title = "ACCENT: event commonsense"
    paper = "Ghazarian et al., Findings of ACL 2023"

    [[tables]]
    id = "table 1"
    columns = ["deco_test:events | spearman | 100"]
    rows = '''
    FED-appropriate | -0.10
    ACCENT | 0.30
    '''
    baselines = ["cosine_last_turn"]
    ours = { commonsense = "ACCENT" }

A column is ``set:aspect | measure | n``. A set that is none of the rated ones, or a measure that is
none of :data:`grice_research.context.MEASURES`, can be printed but not be measured. A cell is a
number; a star behind it (not significant, says the source) is dropped, ``-`` is no figure.
"""

from __future__ import annotations

from importlib import import_module, resources
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grice_research.context import BenchContext
    from grice_research.figures import Figure

SUFFIX = ".toml"


class Column(NamedTuple):
    """The measure in a column of a table."""

    on: str
    measure: str
    n: int | None


class Cell(NamedTuple):
    """One printed figure, in the unit of the measure."""

    value: float
    decimals: int


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One printed table."""

    id: str
    column_lines: tuple[str, ...] = msgspec.field(name="columns")
    row_lines: str = msgspec.field(name="rows")
    source: str = ""  # where it was printed, if not in the paper of the bench
    scale: float = 1.0  # factor of the printed figures, 0.01 for percent
    lower: tuple[str, ...] = ()  # measures of which lower is better
    recomputed: dict[str, str | tuple[str, ...]] = {}  # released source by row, or one per column
    ours: dict[str, str] = {}  # our metrics, each with the printed row it is set beside
    baselines: tuple[str, ...] = ()
    why: str = "its scores were not released"  # of rows that cannot be checked
    note: str = ""

    def columns(self) -> list[Column]:
        """Return the columns."""
        parsed = []
        for text in self.column_lines:
            parts = [part.strip() for part in text.split("|")]
            if len(parts) not in (2, 3):
                raise InputError(f"{self.id}: column {text!r}: expected set | measure | n")
            parsed.append(Column(parts[0], parts[1], int(parts[2]) if len(parts) == 3 else None))
        return parsed

    def rows(self) -> dict[str, list[Cell | None]]:
        """Return the cells of each row."""
        cells_of = {}
        for line in filter(str.strip, self.row_lines.splitlines()):
            name, *cells = (part.strip() for part in line.split("|"))
            if len(cells) != len(self.column_lines):
                columns = len(self.column_lines)
                raise InputError(
                    f"{self.id}: row {name!r} has {len(cells)} cells for {columns} columns"
                )
            cells_of[name] = [_cell(cell, self.scale) for cell in cells]
        for name in (*self.recomputed, *filter(None, self.ours.values())):
            if name not in cells_of:
                raise InputError(f"{self.id}: no row {name!r}{did_you_mean(name, cells_of)}")
        return cells_of

    def source_of(self, row: str, place: int) -> str:
        """Return the released source of a printed row in a column; empty if there is none."""
        source = self.recomputed.get(row, "")
        return source if isinstance(source, str) else source[place]


def printed(bench: str, table: str) -> dict[str, dict[tuple[str, str], float]]:
    """Return the figures of a table by row, each by the set and the measure of its column."""
    found = next(each for each in load_bench(bench).tables if each.id == table)
    keys = [(column.on, column.measure) for column in found.columns()]
    return {
        row: {key: cell.value for key, cell in zip(keys, cells, strict=True) if cell is not None}
        for row, cells in found.rows().items()
    }


def _cell(text: str, scale: float) -> Cell | None:
    text = text.removesuffix("*").strip()
    if text in ("", "-"):
        return None
    decimals = len(text.partition(".")[2]) if "e" not in text else 6
    shift = {1.0: 0, 0.1: 1, 0.01: 2}[scale]
    return Cell(round(float(text) * scale, decimals + shift), decimals + shift)


class Bench(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All tables of one paper or survey."""

    title: str
    paper: str
    tables: tuple[Table, ...]
    name: str = ""


def table_names() -> list[str]:
    """Return the names of all files of published tables."""
    folder = resources.files("grice_research") / "tables"
    names = (file.name for file in folder.iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


class Task(NamedTuple):
    """The bench of a task: one module of ``benches/``."""

    title: str
    paper: str
    measure: Callable[[BenchContext], Iterator[Figure]]


PACKAGE = "grice_research.benches"


def task_names() -> list[str]:
    """Return the names of all benches of tasks: the modules of ``benches/``, ``-`` for ``_``."""
    names = (module.name for module in iter_modules(import_module(PACKAGE).__path__))
    return sorted(name.replace("_", "-") for name in names if not name.startswith("_"))


def find_task(name: str) -> Task | None:
    """Return the bench of a task; None if there is none of that name."""
    if name not in task_names():
        return None
    module = import_module(f"{PACKAGE}.{name.replace('-', '_')}")
    return Task(module.TITLE, module.PAPER, module.measure)


def bench_names() -> list[str]:
    """Return the names of all benches: of published tables, of tasks, or of both in one."""
    return sorted({*table_names(), *task_names()})


def load_bench(name: str) -> Bench:
    """Return the tables of one bench; it has none if it is the bench of a task only."""
    names = bench_names()
    if name not in names:
        raise InputError(f"no bench {name!r}{did_you_mean(name, names)}")
    if name not in table_names() and (task := find_task(name)):
        return Bench(title=task.title, paper=task.paper, tables=(), name=name)
    data = (resources.files("grice_research") / "tables" / f"{name}{SUFFIX}").read_bytes()
    try:
        bench = msgspec.toml.decode(data, type=Bench)
        for table in bench.tables:
            table.columns()
            table.rows()
    except (msgspec.DecodeError, InputError, ValueError) as error:
        raise InputError(f"tables/{name}{SUFFIX}: {error}") from None
    return msgspec.structs.replace(bench, name=name)
