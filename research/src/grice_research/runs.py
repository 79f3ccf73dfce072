"""Records of bench runs, and the page that is written from them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError
from grice.files import make_folder, write_bytes
from grice_research.figures import Figure
from grice_research.replication import VERDICTS, legend
from grice_research.wins import Win

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Run", "as_page", "counted", "equal_rows", "merged", "read_runs", "write_run"]

NOT_MEASURED = "not measured"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a bench.

    Attributes:
        bench: Its name.
        title: What it is about.
        paper: Where the tables were printed.
        date: Day of the run.
        version: Version of grice.
        command: What makes it again.
        counts: Figures by verdict; ``not measured`` if there is a printed figure and nothing to
            compare with it, ``none`` if there is no printed one.
        figures: Those that have a value.
        wins: Whether the best printed figures survive an interval.
        notes: What to keep in mind, by table.
    """

    bench: str
    title: str
    paper: str
    date: str
    version: str
    command: str
    counts: dict[str, int]
    figures: tuple[Figure, ...]
    wins: tuple[Win, ...]
    notes: dict[str, str]


def counted(found: Sequence[Figure]) -> dict[str, int]:
    """Return how many figures have each verdict, in the order of tables, and how many have none."""
    counts = Counter(figure.verdict or _without(figure) for figure in found)
    return {name: counts[name] for name in (*VERDICTS, NOT_MEASURED, "none") if counts[name]}


def _without(figure: Figure) -> str:
    return "none" if figure.published is None else NOT_MEASURED


def equal_rows(found: Sequence[Figure]) -> list[tuple[str, str]]:
    """Return pairs of rows of a table that agree in every figure they share, interval included.

    Rows of different names are different computations, so these are one that stands there twice.
    A figure without an interval of some width shows nothing.
    """
    rows: dict[str, dict[tuple[str, str, str], tuple[float, float, float]]] = {}
    for one in found:
        if one.value is None or one.low is None or one.high is None or one.low == one.high:
            continue
        figures = rows.setdefault(one.row, {})
        figures[one.table, one.on, one.measure] = one.value, one.low, one.high
    return [
        (first, second)
        for (first, mine), (second, other) in combinations(rows.items(), 2)
        if (shared := mine.keys() & other.keys()) and all(mine[key] == other[key] for key in shared)
    ]


def merged(measured: Sequence[Figure], folder: Path, bench: str) -> list[Figure]:
    """Return figures together with the recorded ones that could not be measured this time.

    A model or a data set that is not at hand today takes nothing from the record: its figures stay,
    with the day they were measured. Delete the record to begin anew.

    Raises:
        InputError: If there is a record that cannot be read.
    """
    path = folder / f"{bench}.json"
    earlier = _read_run(path) if path.exists() else None
    if earlier is None:
        return list(measured)
    kept = {
        _key(figure): msgspec.structs.replace(figure, date=figure.date or earlier.date)
        for figure in earlier.figures
    }
    for figure in measured:
        if figure.value is not None:
            kept.pop(_key(figure), None)
    together = [kept.pop(_key(figure), figure) for figure in measured]
    return together + list(kept.values())


def _key(figure: Figure) -> tuple[str, str, str, str, str]:
    return figure.table, figure.row, figure.on, figure.measure, figure.beside


def write_run(run: Run, folder: Path) -> None:
    """Write a run to ``BENCH.json`` in a folder.

    Raises:
        OutputError: If it cannot be written.
    """
    make_folder(folder)
    write_bytes(folder / f"{run.bench}.json", _lines(run))


def _lines(run: Run) -> bytes:
    """Return a run as JSON with a figure a line, so that a change of one is a change of a line."""
    fields = []
    for name in run.__struct_fields__:
        value = getattr(run, name)
        text = msgspec.json.encode(value)
        if isinstance(value, tuple):
            rows = b",\n".join(msgspec.json.encode(one) for one in value)
            text = b"[\n" + rows + b"\n]"
        fields.append(msgspec.json.encode(name) + b": " + text)
    return b"{\n" + b",\n".join(fields) + b"\n}\n"


def read_runs(folder: Path) -> list[Run]:
    """Return the runs of a folder, by name.

    Raises:
        InputError: If there is none, or one cannot be read.
    """
    runs = [_read_run(path) for path in sorted(folder.glob("*.json"))]
    if not runs:
        raise InputError(f"{folder}: no record of a bench; grice bench all --record writes them")
    return runs


def _read_run(path: Path) -> Run:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Run)
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: not the record of a bench: {error}") from None


def as_page(runs: Sequence[Run]) -> str:
    """Return the page on all runs, as Markdown."""
    return "\n".join(_page(runs)) + "\n"


def _page(runs: Sequence[Run]) -> Iterator[str]:
    yield "# Results"
    yield ""
    yield (
        "Written by `grice bench --page` from the records beside this page; no figure is typed. "
        "Intervals are 95 %. *Printed* is the figure of the source, of our metrics that of the "
        "row they are set beside. Rows in italics are trivial baselines. Verdicts on a printed "
        "figure:"
    )
    yield ""
    yield from legend()
    yield ""
    yield from _overview(runs)
    for run in runs:
        yield from _section(run)


def _overview(runs: Sequence[Run]) -> Iterator[str]:
    yield (
        "| bench | recomputed | reproduced | beside: above | level | below | cannot be checked "
        "| not measured | date |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    total: Counter[str] = Counter()
    for run in runs:
        total.update(run.counts)
        yield f"| [{run.bench}](#{run.bench}) | {' | '.join(_counts(run.counts))} | {run.date} |"
    yield f"| all | {' | '.join(_counts(total))} | |"
    yield ""


def _counts(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield the cells of the counts; of what was tried, how many were."""
    for name in ("recomputed", "reproduced"):
        done, not_done = counts.get(name, 0), counts.get(f"not {name}", 0)
        yield f"{done} of {done + not_done}" if done + not_done else "–"
    for name in (*(v for v in VERDICTS if v.startswith("beside")), VERDICTS[-1], NOT_MEASURED):
        yield str(counts.get(name, 0))


def _section(run: Run) -> Iterator[str]:
    yield f"## {run.bench}"
    yield ""
    yield f"{run.title}. {run.paper}."
    yield ""
    yield f"`{run.command}`, {run.date}, grice {run.version}"
    yield ""
    for table in dict.fromkeys(figure.table for figure in run.figures):
        yield from _table(run, table)
    if run.wins:
        yield from _wins(run)


def _table(run: Run, table: str) -> Iterator[str]:
    yield f"### {run.bench}, {table or 'measured on the task'}"
    yield ""
    if run.notes.get(table):
        note = run.notes[table]
        yield f"{note[0].upper()}{note[1:]}."
        yield ""
    yield "| row | measure | value | interval | n | printed | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for figure in run.figures:
        if figure.table == table:
            yield _line(figure)
    yield ""


def _line(figure: Figure) -> str:
    name = _cell(figure.row)
    name = f"*{name}*" if figure.kind == "floor" else name
    name = f"**{name}**" if figure.kind == "ours" else name
    if figure.beside:
        name += f" beside {_cell(figure.beside)}"
    bounds = "" if figure.low is None or figure.high is None else (
        f"{_number(figure.low)} to {_number(figure.high)}")  # fmt: skip
    value = "" if figure.value is None else _number(figure.value)
    printed = "" if figure.published is None else f"{figure.published:g}"
    what = f"{figure.measure} on {_cell(figure.on)}" if figure.on else figure.measure
    remarks = [_difference(figure), _cell(figure.why) if figure.kind == "ours" else ""]
    remark = "; ".join(filter(None, remarks)) if figure.verdict else ""
    verdict = (figure.verdict or "") + (f" ({remark})" if remark else "")
    if figure.date:
        verdict = f"{verdict}; measured {figure.date}".removeprefix("; ")
    return f"| {name} | {what} | {value} | {bounds} | {figure.n or ''} | {printed} | {verdict} |"


def _difference(figure: Figure) -> str:
    if figure.difference is None:
        return ""
    value, low, high = map(_number, figure.difference)
    return f"difference to the released scores {value}, {low} to {high}"


def _wins(run: Run) -> Iterator[str]:
    yield f"### {run.bench}: which printed wins survive"
    yield ""
    yield (
        "Whether the best printed figure is above the others by an interval: *yes* whatever the "
        "two metrics have in common, *no* even if they largely agree, *open* if that depends on "
        "scores that were not released. *Over the floor*: over the best trivial baseline."
    )
    yield ""
    yield "| column | n | best | figure | over the second | over the rest | over the floor |"
    yield "|---|---|---|---|---|---|---|"
    for win in run.wins:
        rest = f"{win.survives} of {win.rows}" + (f", {win.open} open" if win.open else "")
        floor = "" if win.floor_value is None else (
            f"{win.over_floor}: {win.floor} {_number(win.floor_value)}")  # fmt: skip
        yield (
            f"| {_cell(win.table)}: {win.measure} on {_cell(win.on)} | {win.n} | "
            f"{_cell(win.best)} | {win.published:g} | {win.over_second}: {_cell(win.second)} | "
            f"{rest} | {floor} |"
        )
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
