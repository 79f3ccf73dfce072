"""Published tables beside what is measured here, figure by figure.

Verdicts: ``reproduced`` (released scores give the printed figure; or our metric reaches the figure
of the method it follows, which at a small n its interval qualifies), ``differs``, ``cannot be
checked`` (nobody can: scores or data were not released) and ``not yet measured`` (we could, but
have not). A figure that has
nothing printed beside it, such as a floor, has no verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import InputError
from grice.evaluation.people import PEOPLE
from grice.evaluation.rows import Kind, find_task
from grice.evaluation.wins import Survives, survives
from grice.evaluation.workshop import Left

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.evaluation.published import Bench, Cell, Column, Table
    from grice.evaluation.rows import Row
    from grice.evaluation.workshop import Workshop
    from grice.stats.estimate import Estimate

__all__ = ["BenchRow", "Figure", "Kind", "Verdict", "Win", "figures", "wins"]

Verdict: TypeAlias = Literal["reproduced", "differs", "cannot be checked", "not yet measured"]


class BenchRow(msgspec.Struct, frozen=True):
    """One figure, as other programs read it."""

    bench: str
    row: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    published: float | None
    verdict: Verdict | None
    command: str
    signature: str


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One figure with everything that is known about it.

    Attributes:
        bench: Name of the bench.
        table: Its table; empty if the bench of a task gave it.
        row: Whose figure it is.
        kind: ``printed``, ``ours`` or ``floor``.
        on: The set and aspect.
        measure: The measure.
        published: The printed figure; of ours, that of the row it is set beside.
        value: What is measured here.
        low: Lower bound of its 95 % interval.
        high: Upper bound.
        n: Number of items measured, otherwise the printed number.
        verdict: See the module.
        why: Why there is no value, or what the value rests on.
        beside: The printed row that a metric of ours is set beside.
        command: What measures it again.
        signature: What exactly was computed.
    """

    bench: str
    table: str
    row: str
    kind: Kind
    on: str
    measure: str
    published: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    verdict: Verdict | None = None
    why: str = ""
    beside: str = ""
    command: str = ""
    signature: str = ""

    def public(self) -> BenchRow:
        """Return the fields that other programs read."""
        return BenchRow(
            self.bench,
            f"{self.table}: {self.row}" if self.table else self.row,
            f"{self.measure} on {self.on}" if self.on else self.measure,
            self.value,
            self.low,
            self.high,
            self.n,
            self.published,
            self.verdict,
            self.command,
            self.signature,
        )


class Win(msgspec.Struct, frozen=True):
    """Whether the best printed figure of a column is surely above the others.

    Attributes:
        table: The table.
        on: The set and aspect.
        measure: The measure.
        n: The printed number of items.
        best: The row with the best figure.
        published: Its figure.
        second: The row with the second best.
        over_second: Whether the win over that one survives.
        survives: Rows over which it does.
        open: Rows over which it depends on scores that were not released.
        rows: Rows below the best.
        floor: The best floor that was measured, if any.
        floor_value: Its figure.
        over_floor: Whether the best printed figure is surely above it.
    """

    table: str
    on: str
    measure: str
    n: int
    best: str
    published: float
    second: str
    over_second: Survives
    survives: int
    open: int
    rows: int
    floor: str = ""
    floor_value: float | None = None
    over_floor: Survives | None = None


def figures(bench: Bench, workshop: Workshop) -> Iterator[Figure]:
    """Yield every figure of a bench: the printed rows, ours beside them, the floors."""
    seen: set[tuple[str, str, str]] = set()
    for table in bench.tables:
        heads, body = table.heads(), table.body()
        for name, cells in body.items():
            for place, (column, cell) in enumerate(zip(heads, cells, strict=True)):
                if cell is not None:
                    yield _printed(bench, table, name, column, cell, place, workshop)
        for metric, beside in table.ours.items():
            for place, column in enumerate(heads):
                cell = body[beside][place] if beside else None
                if cell is not None or not (beside or _seen(seen, metric, column)):
                    yield _ours(bench, table, metric, beside, column, cell, workshop)
        for metric in table.floors:
            for column in heads:
                known = workshop.knows(column.on) or workshop.knows_triples(
                    metric, column.on, column.measure
                )
                if known and not _seen(seen, metric, column):
                    yield _floor(bench, table, metric, column, workshop)
    task = find_task(bench.name)
    if task is not None:
        try:
            for row in task.measure(workshop):
                yield _of_task(bench, row)
        except InputError as error:
            workshop.missing[bench.name] = f"bench {bench.name}: {error}"


def _of_task(bench: Bench, row: Row) -> Figure:
    figure = Figure(
        bench=bench.name,
        table="",
        row=row.row,
        kind=row.kind,
        on=row.on,
        measure=row.measure,
        published=row.published,
        beside=row.beside,
        command=f"grice bench {bench.name}",
    )
    if row.found is None:
        verdict: Verdict = "cannot be checked" if row.kind == "printed" else "not yet measured"
        return msgspec.structs.replace(figure, verdict=verdict, why=row.why)
    figure = _measured(figure, row.found, row.signature, _task_verdict(row, row.found))
    return msgspec.structs.replace(figure, why="; ".join(filter(None, [row.why, figure.why])))


def _task_verdict(row: Row, found: Estimate) -> Verdict | None:
    if row.published is None or row.kind == "floor":
        return None
    above = (row.published - found.value) if row.lower else (found.value - row.published)
    same = abs(above) <= row.rounding
    reached = row.kind == "ours" and above > 0
    return "reproduced" if same or reached else "differs"


def _seen(seen: set[tuple[str, str, str]], metric: str, column: Column) -> bool:
    """Return whether a figure without a printed twin stands in an earlier table, and note it."""
    key = (metric, column.on, column.measure)
    if key in seen:
        return True
    seen.add(key)
    return False


def _printed(
    bench: Bench,
    table: Table,
    name: str,
    column: Column,
    cell: Cell,
    place: int,
    workshop: Workshop,
) -> Figure:
    figure = Figure(
        bench=bench.name,
        table=table.id,
        row=name,
        kind="printed",
        on=column.on,
        measure=column.measure,
        published=cell.value,
        n=column.n,
        verdict="cannot be checked",
        why=table.why,
        command=f"grice bench {bench.name}",
    )
    source = _source(table, name, place)
    if not source:
        return figure
    if not workshop.knows(column.on, people=source in PEOPLE):
        return msgspec.structs.replace(figure, why="the ratings cannot be had")
    try:
        found, signature = workshop.by_release(source, column.on, column.measure)
    except Left as left:
        return msgspec.structs.replace(figure, verdict="not yet measured", why=str(left))
    except InputError as error:
        return msgspec.structs.replace(figure, why=str(error))
    same = abs(found.value - cell.value) <= _rounding(cell)
    return _measured(figure, found, signature, "reproduced" if same else "differs")


def _source(table: Table, name: str, place: int) -> str:
    source = table.recomputed.get(name, "")
    return source if isinstance(source, str) else source[place]


def _ours(
    bench: Bench,
    table: Table,
    metric: str,
    beside: str,
    column: Column,
    cell: Cell | None,
    workshop: Workshop,
) -> Figure:
    figure = Figure(
        bench=bench.name,
        table=table.id,
        row=f"{metric} (ours)",
        kind="ours",
        on=column.on,
        measure=column.measure,
        published=None if cell is None else cell.value,
        n=column.n,
        verdict="not yet measured",
        beside=beside,
        command=_command(bench, metric, column, workshop),
    )
    return _of_metric(figure, metric, column, cell, workshop)


def _floor(bench: Bench, table: Table, metric: str, column: Column, workshop: Workshop) -> Figure:
    figure = Figure(
        bench=bench.name,
        table=table.id,
        row=metric,
        kind="floor",
        on=column.on,
        measure=column.measure,
        n=column.n,
        verdict="not yet measured",
        command=_command(bench, metric, column, workshop),
    )
    return _of_metric(figure, metric, column, None, workshop)


def _of_metric(
    figure: Figure, metric: str, column: Column, cell: Cell | None, workshop: Workshop
) -> Figure:
    triples = workshop.knows_triples(metric, column.on, column.measure)
    if metric not in workshop.metrics and not triples:
        return msgspec.structs.replace(figure, why=f"there is no metric {metric} yet")
    if column.measure not in workshop.measures and not triples:
        return msgspec.structs.replace(figure, why="this task is not built yet")
    if not workshop.knows(column.on) and not triples:
        why = "the ratings cannot be had"
        return msgspec.structs.replace(figure, verdict="cannot be checked", why=why)
    compute = workshop.by_triples if triples else workshop.by_metric
    try:
        found, signature = compute(metric, column.on, column.measure)
    except Left as left:
        return msgspec.structs.replace(figure, why=str(left))
    except InputError as error:
        verdict: Verdict | None = None if cell is None else "not yet measured"
        return msgspec.structs.replace(figure, verdict=verdict, why=str(error))
    figure = _measured(figure, found, signature, None)
    said = "" if triples else workshop.trained(metric, column.on)
    figure = msgspec.structs.replace(figure, why="; ".join(filter(None, [figure.why, said])))
    return _beside(figure, cell)


def _beside(figure: Figure, cell: Cell | None) -> Figure:
    """Say whether ours reaches the printed figure it is set beside."""
    if cell is None or figure.value is None:
        return figure
    if figure.value >= cell.value - _rounding(cell):
        return msgspec.structs.replace(figure, verdict="reproduced")
    why = figure.why
    if figure.high is not None and figure.high >= cell.value:
        why = "; ".join(filter(None, [why, "below, but the interval holds the printed figure"]))
    return msgspec.structs.replace(figure, verdict="differs", why=why)


def _rounding(cell: Cell) -> float:
    """Return how far a value may be from the figure it was printed as."""
    # Some figures were rounded from six decimals before they were printed with fewer; of more than
    # four the last ones hang on how means and ties were computed.
    return float(0.5 * 10 ** -min(cell.decimals, 4) + 1e-6)


def _measured(figure: Figure, found: Estimate, signature: str, verdict: Verdict | None) -> Figure:
    return msgspec.structs.replace(
        figure,
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        verdict=verdict,
        why=found.note or "",
        signature=signature,
    )


def _command(bench: Bench, metric: str, column: Column, workshop: Workshop) -> str:
    if workshop.knows(column.on) and column.measure in ("pearson", "spearman"):
        return f"grice meta-eval {metric} --on {column.on}"
    return f"grice bench {bench.name}"


CORRELATIONS = ("pearson", "spearman", "system pearson", "system spearman")


def wins(bench: Bench, found: list[Figure], workshop: Workshop) -> Iterator[Win]:
    """Yield for each column of correlations whether its best printed figure is surely the best.

    Args:
        bench: The bench.
        found: Its figures.
        workshop: Where released scores are.
    """
    for table in bench.tables:
        for place, column in enumerate(table.heads()):
            rows = [
                (name, cells[place].value)  # type: ignore[union-attr]
                for name, cells in table.body().items()
                if cells[place] is not None and "judge" not in name
            ]
            if column.measure in CORRELATIONS and column.n and len(rows) > 1:
                yield _win(table, place, column, rows, found, workshop)


def _win(
    table: Table,
    place: int,
    column: Column,
    rows: list[tuple[str, float]],
    found: list[Figure],
    workshop: Workshop,
) -> Win:
    assert column.n is not None
    (best, top), *others = sorted(rows, key=lambda row: -row[1])
    outcomes = []
    for name, printed in others:
        sources = _source(table, best, place), _source(table, name, place)
        between = None
        if all(sources) and workshop.knows(column.on):
            between = workshop.between(*sources, column.on, column.measure)
        outcomes.append(survives(top, printed, column.n, between))
    floors = [
        figure
        for figure in found
        if figure.kind == "floor"
        and (figure.on, figure.measure) == (column.on, column.measure)
        and figure.value is not None
    ]
    floor = max(floors, key=lambda figure: figure.value or 0.0, default=None)
    value = None if floor is None else floor.value
    return Win(
        table.id,
        column.on,
        column.measure,
        column.n,
        best,
        top,
        others[0][0],
        outcomes[0],
        outcomes.count("yes"),
        outcomes.count("open"),
        len(outcomes),
        "" if floor is None else floor.row,
        value,
        None if value is None else survives(top, value, column.n),
    )
