"""Records of bench runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grice.errors import InputError
from grice.files import make_folder, write_bytes
from grice_research.figures import VERDICTS, Figure

NOT_MEASURED = "not measured"  # of a printed figure with nothing beside it to compare with it


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a bench."""

    bench: str  # its name
    title: str  # what it is about
    paper: str  # where the tables were printed
    date: str  # day of the run
    version: str  # version of grice
    command: str  # what makes it again
    counts: dict[str, int]
    figures: tuple[Figure, ...]  # those that have a value
    notes: dict[str, str]  # what to keep in mind, by table
    seconds: float = 0.0  # how long it took; 0 if it was not recorded


def counted(figures: Sequence[Figure]) -> dict[str, int]:
    """Return how many figures have each verdict, in the order of tables, and how many have none."""
    without = {True: "none", False: NOT_MEASURED}
    counts = Counter(each.verdict or without[each.published is None] for each in figures)
    return {name: counts[name] for name in (*VERDICTS, NOT_MEASURED, "none") if counts[name]}


def merged(measured: Sequence[Figure], folder: Path, bench: str) -> list[Figure]:
    """Return figures together with the recorded ones that could not be measured this time.

    A model or a data set that is not at hand today takes nothing from the record: its figures stay,
    with the day they were measured. Delete the record to start again.
    """
    path = folder / f"{bench}.json"
    earlier = _read_run(path) if path.exists() else None
    if earlier is None:
        return list(measured)
    recorded = {
        _key(figure): msgspec.structs.replace(figure, date=figure.date or earlier.date)
        for figure in earlier.figures
    }
    for figure in measured:
        if figure.value is not None:
            recorded.pop(_key(figure), None)
    together = [recorded.pop(_key(figure), figure) for figure in measured]
    return together + list(recorded.values())


def _key(figure: Figure) -> tuple[str, str, str, str, str]:
    return figure.table, figure.row, figure.on, figure.measure, figure.beside


def write_run(run: Run, folder: Path) -> None:
    """Write a run to ``BENCH.json`` in a folder."""
    make_folder(folder)
    write_bytes(folder / f"{run.bench}.json", _lines(run))


def _lines(run: Run) -> bytes:
    """Return a run as JSON with a figure a line, so that a change of one is a change of a line."""
    fields = []
    for name in run.__struct_fields__:
        value = getattr(run, name)
        text = msgspec.json.encode(value)
        if isinstance(value, tuple):
            rows = b",\n".join(msgspec.json.encode(row) for row in value)
            text = b"[\n" + rows + b"\n]"
        fields.append(msgspec.json.encode(name) + b": " + text)
    return b"{\n" + b",\n".join(fields) + b"\n}\n"


def read_runs(folder: Path) -> list[Run]:
    """Return the runs of a folder, by name."""
    runs = [_read_run(path) for path in sorted(folder.glob("*.json"))]
    if not runs:
        raise InputError(f"{folder}: no record of a bench; grice bench all --record writes them")
    return runs


def _read_run(path: Path) -> Run:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Run)
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: not the record of a bench: {error}") from None
