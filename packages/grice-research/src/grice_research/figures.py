"""Published tables beside what is measured here, figure by figure.

A figure with a printed one beside it has a verdict (:mod:`grice_research.rows`). One that
has nothing printed beside it, or that was not measured, has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError
from grice_research.context import Skipped
from grice_research.measures import PEOPLE
from grice_research.rows import Computation, Kind, Verdict, computation_of, find_task, verdict_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.published import Bench, Cell, Column, Table
    from grice_research.rows import Row


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
        kind: ``printed``, ``ours`` or ``baseline``.
        on: The set and aspect.
        measure: The measure.
        published: The printed figure; of ours, that of the row it is set beside.
        value: What is measured here.
        low: Lower bound of its 95 % interval.
        high: Upper bound.
        n: Number of items measured, otherwise the printed number.
        verdict: How the value stands to the printed figure; None without either of them.
        why: Why there is no value, or what the value rests on.
        beside: The printed row that a metric of ours is set beside.
        command: What measures it again.
        signature: What exactly was computed.
        computed: How the value was computed, if there is a printed figure.
        rounding: How far a value may be from the printed figure to be the same.
        lower: Whether lower is better.
        difference: Value less that of the released scores of the printed row on the same items,
            with the bounds of its 95 % interval.
        metric: The metric that the value is of; see :class:`~grice_research.rows.Row`.
        baseline: The trivial baseline that it is compared with.
        trained: Share of the texts of the set that a model of the metric was trained or chosen on.
        date: Day of the measurement, if it is older than the run it is recorded with.
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
    computed: Computation | None = None
    rounding: float = 0.0
    lower: bool = False
    difference: tuple[float, float, float] | None = None
    metric: str = ""
    baseline: str = ""
    trained: float = 0.0
    date: str = ""

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


def figures(bench: Bench, context: BenchContext) -> Iterator[Figure]:
    """Yield every figure of a bench: the printed rows, ours beside them, the trivial baselines."""
    seen: set[tuple[str, str, str]] = set()
    for table in bench.tables:
        columns, rows = table.columns(), table.rows()
        for name, cells in rows.items():
            for place, (column, cell) in enumerate(zip(columns, cells, strict=True)):
                if cell is not None:
                    yield _printed(bench, table, name, column, cell, place, context)
        for metric, beside in table.ours.items():
            for place, column in enumerate(columns):
                cell = rows[beside][place] if beside else None
                if cell is not None or not (beside or _seen(seen, metric, column)):
                    yield _ours(bench, table, metric, beside, column, cell, context)
        for metric in table.baselines:
            for column in columns:
                known = context.knows(column.on) or context.knows_triples(
                    metric, column.on, column.measure
                )
                if known and not _seen(seen, metric, column):
                    yield _baseline(bench, table, metric, column, context)
    task = find_task(bench.name)
    if task is not None:
        try:
            for row in task.measure(context):
                yield _of_task(bench, row)
        except InputError as error:
            context.missing[bench.name] = f"bench {bench.name}: {error}"


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
        computed=None if row.published is None else computation_of(row.kind, row.computed),
        rounding=0.0 if row.published is None else row.rounding,
        lower=row.lower,
        difference=None if row.difference is None else _bounds(row.difference),
        metric=row.metric,
        baseline=row.baseline,
        trained=round(row.trained, 4),
    )
    if row.estimate is None:
        out_of_reach = row.kind == "printed" and row.published is not None
        verdict: Verdict | None = "cannot be checked" if out_of_reach else None
        return msgspec.structs.replace(figure, verdict=verdict, why=row.why)
    figure = _measured(figure, row.estimate, row.signature)
    return msgspec.structs.replace(figure, why="; ".join(filter(None, [row.why, figure.why])))


def verdict_of(figure: Figure) -> Verdict | None:
    """Return the verdict on a figure that was measured; None if nothing is printed beside it."""
    if figure.value is None or figure.published is None or figure.computed is None:
        return None
    return verdict_on(
        figure.published,
        figure.value,
        (figure.low, figure.high),
        computed=figure.computed,
        rounding=figure.rounding,
        lower=figure.lower,
        difference=None if figure.difference is None else figure.difference[1:],
    )


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
    context: BenchContext,
) -> Figure:
    figure = msgspec.structs.replace(
        _empty(bench, table, name, "printed", column, f"grice bench {bench.name}"),
        published=cell.value,
        verdict="cannot be checked",
        why=table.why,
        computed="released files",
        rounding=_rounding(cell),
        lower=column.measure in table.lower,
    )
    source = table.source_of(name, place)
    if not source:
        return figure
    if not context.knows(column.on, people=source in PEOPLE):
        return msgspec.structs.replace(figure, why="the ratings cannot be had")
    try:
        estimate, signature = context.by_release(source, column.on, column.measure)
    except Skipped as skipped:
        return msgspec.structs.replace(figure, verdict=None, why=str(skipped))
    except InputError as error:
        return msgspec.structs.replace(figure, why=str(error))
    return _measured(figure, estimate, signature)


def _ours(
    bench: Bench,
    table: Table,
    metric: str,
    beside: str,
    column: Column,
    cell: Cell | None,
    context: BenchContext,
) -> Figure:
    command = _command(bench, metric, column, context)
    figure = msgspec.structs.replace(
        _empty(bench, table, f"{metric} (ours)", "ours", column, command),
        published=None if cell is None else cell.value,
        beside=beside,
        computed=None if cell is None else computation_of("ours", table.computed.get(metric)),
        rounding=0.0 if cell is None else _rounding(cell),
        lower=column.measure in table.lower,
    )
    figure = _of_metric(figure, metric, column, context)
    source = table.source_of(beside, table.columns().index(column)) if beside else ""
    if source and figure.value is not None:
        paired = context.difference(metric, source, column.on, column.measure)
        figure = msgspec.structs.replace(figure, difference=paired and _bounds(paired))
    return msgspec.structs.replace(figure, verdict=verdict_of(figure))


def _baseline(
    bench: Bench, table: Table, metric: str, column: Column, context: BenchContext
) -> Figure:
    command = _command(bench, metric, column, context)
    figure = _empty(bench, table, metric, "baseline", column, command)
    return _of_metric(figure, metric, column, context)


def _empty(
    bench: Bench, table: Table, row: str, kind: Kind, column: Column, command: str
) -> Figure:
    """Return a figure of a table that has no value yet."""
    return Figure(
        bench=bench.name,
        table=table.id,
        row=row,
        kind=kind,
        on=column.on,
        measure=column.measure,
        n=column.n,
        command=command,
    )


def _of_metric(figure: Figure, metric: str, column: Column, context: BenchContext) -> Figure:
    triples = context.knows_triples(metric, column.on, column.measure)
    if metric not in context.metrics and not triples:
        return msgspec.structs.replace(figure, why=f"there is no metric {metric} yet")
    if column.measure not in context.measures and not triples:
        return msgspec.structs.replace(figure, why="this task is not built yet")
    if not context.knows(column.on) and not triples:
        return msgspec.structs.replace(figure, why="the ratings cannot be had")
    compute = context.by_triples if triples else context.by_metric
    try:
        estimate, signature = compute(metric, column.on, column.measure)
    except InputError as error:
        return msgspec.structs.replace(figure, why=str(error))
    figure = _measured(figure, estimate, signature)
    trained_on = "" if triples else context.trained(metric, column.on)
    return msgspec.structs.replace(figure, why="; ".join(filter(None, [figure.why, trained_on])))


def _rounding(cell: Cell) -> float:
    """Return how far a value may be from the figure it was printed as."""
    # Some figures were rounded from six decimals before they were printed with fewer; of more than
    # four the last ones hang on how means and ties were computed.
    return float(0.5 * 10 ** -min(cell.decimals, 4) + 1e-6)


def _measured(figure: Figure, estimate: Estimate, signature: str) -> Figure:
    figure = msgspec.structs.replace(
        figure,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=estimate.n,
        why=estimate.note or "",
        signature=signature,
    )
    return msgspec.structs.replace(figure, verdict=verdict_of(figure))


def _bounds(estimate: Estimate) -> tuple[float, float, float] | None:
    """Return an estimate with its bounds; None if it has none."""
    return None if estimate.interval is None else (estimate.value, *estimate.interval)


def _command(bench: Bench, metric: str, column: Column, context: BenchContext) -> str:
    if context.knows(column.on) and column.measure in ("pearson", "spearman"):
        return f"grice meta-eval {metric} --on {column.on}"
    return f"grice bench {bench.name}"
