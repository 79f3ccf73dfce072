"""Figures of benches: printed, ours and of trivial baselines, with n, interval and verdict.

A figure beside a printed one has a verdict, which follows from the figures with their sign. One
that has nothing printed beside it, or that was not measured, has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import msgspec

from grice.errors import GriceError, InputError
from grice.stats.estimate import Estimate
from grice_research.context import MEASURES, PEOPLE, BenchContext, Skipped
from grice_research.published import Bench, Cell, Column, Table, find_task

Verdict: TypeAlias = Literal[
    "recomputed", "not recomputed", "beside: above", "beside: level", "beside: below",
    "cannot be checked",
]  # fmt: skip
"""``recomputed``, ``beside`` and ``cannot be checked``, each with its outcome."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)  # all of them in the order of tables

MEANINGS = {
    "recomputed": "released files give the printed digits; *not recomputed*: they give others",
    "beside": (
        "another method on the same data: *above*, *level* or *below* by the 95 % interval of the "
        "difference, paired where scores of each item were released, otherwise by the interval of "
        "our figure; above is better"
    ),
    "cannot be checked": "scores or data were not released",
}
"""Sentence of each verdict."""


def legend() -> list[str]:
    """Return what the verdicts mean, as a list in Markdown."""
    return [f"- *{name}*: {meaning}." for name, meaning in MEANINGS.items()]


Kind: TypeAlias = Literal["printed", "ours", "baseline"]
RANDOM = "random order"  # the row of an order by chance


class Gap(NamedTuple):
    """Value of a row less that of a trivial baseline on the same items, with its interval."""

    baseline: str
    value: float
    low: float
    high: float
    alike: float | None = None  # spearman correlation of the two scores, if it was measured


def gap_to(baseline: str, difference: Estimate, alike: float | None = None) -> Gap:
    """Return a paired difference as the gap to a trivial baseline."""
    low, high = difference.interval or (difference.value, difference.value)
    return Gap(baseline, difference.value, low, high, alike)


def middle(seeds: Sequence[Estimate]) -> tuple[int, str]:
    """Return the place of the middle one of the figures of seeds, and all of them in words."""
    order = sorted(range(len(seeds)), key=lambda place: seeds[place].value)
    told = f"the middle of seeds {', '.join(f'{each.value:.3f}' for each in seeds)}"
    return order[len(order) // 2], told if len(seeds) > 1 else ""


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One figure with everything that is known about it."""

    bench: str = ""
    table: str = ""  # empty if the bench of a task gave it
    row: str  # whose figure it is
    kind: Kind
    on: str = ""  # the set and aspect
    measure: str
    published: float | None = None  # of ours, that of the row it is set beside
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None  # items measured, otherwise the printed number
    verdict: Verdict | None = None
    why: str = ""  # why there is no value, or what the value rests on
    beside: str = ""  # the printed row that a metric of ours is set beside
    command: str = ""
    signature: str = ""  # what exactly was computed: models, settings, data
    rounding: float = 0.0  # how far a value may be from the printed figure to be the same
    lower: bool = False  # whether lower is better
    difference: tuple[float, float, float] | None = None
    """The value less that of the released scores of ``beside`` on the same items, with bounds."""
    metric: str = ""  # the metric whose limits it shows, with its default settings
    gaps: tuple[Gap, ...] = ()  # to each trivial baseline
    trained: float = 0.0  # share of the texts that a model of the metric was trained or chosen on
    date: str = ""  # day of the measurement, if it is older than the run it is recorded with

    def public(self) -> dict[str, object]:
        """Return the fields that other programs read."""
        return {
            "bench": self.bench, "row": f"{self.table}: {self.row}" if self.table else self.row,
            "measure": f"{self.measure} on {self.on}" if self.on else self.measure,
            "value": self.value, "low": self.low, "high": self.high, "n": self.n,
            "published": self.published, "verdict": self.verdict, "command": self.command,
            "signature": self.signature,
        }  # fmt: skip


def figure(
    row: str,
    measure: str,
    estimate: Estimate | None,
    kind: Kind,
    *,
    on: str = "",
    published: float | None = None,
    beside: str = "",
    lower: bool = False,
    why: str = "",
    signature: str = "",
    metric: str = "",
    gaps: tuple[Gap, ...] = (),
    trained: float = 0.0,
) -> Figure:
    """Return a figure of the bench of a task; without an estimate nobody can check it."""
    made = Figure(
        row=row,
        measure=measure,
        kind=kind,
        on=on,
        published=published,
        beside=beside,
        lower=lower,
        why=why,
        rounding=0.0 if published is None else 0.005,
        metric=metric,
        gaps=gaps,
        trained=round(trained, 4),
    )
    if estimate is not None:
        return measured_as(made, estimate, signature)
    out_of_reach = kind == "printed" and published is not None
    return msgspec.structs.replace(made, verdict="cannot be checked" if out_of_reach else None)


def measured_as(made: Figure, estimate: Estimate, signature: str) -> Figure:
    """Return a figure with its value, and the verdict on that."""
    made = msgspec.structs.replace(
        made,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=estimate.n,
        why="; ".join(filter(None, [made.why, estimate.note])),
        signature=signature,
    )
    return msgspec.structs.replace(made, verdict=verdict_of(made))


def verdict_of(made: Figure) -> Verdict | None:
    """Return how a figure stands to the one printed beside it; None without either of them.

    A printed row is computed from what its authors released; all else is another method.
    """
    if made.value is None or made.published is None:
        return None
    if made.kind == "printed":
        same = abs(made.value - made.published) <= made.rounding
        return "recomputed" if same else "not recomputed"
    low, high = (made.value if bound is None else bound for bound in (made.low, made.high))
    low, high = low - made.published - made.rounding, high - made.published + made.rounding
    if made.difference is not None:
        _, low, high = made.difference
    if low <= 0 <= high:
        return "beside: level"
    return "beside: above" if (low > 0) != made.lower else "beside: below"


def figures(bench: Bench, context: BenchContext) -> Iterator[Figure]:
    """Yield every figure of a bench: the printed rows, ours beside them, the trivial baselines."""
    seen: set[tuple[str, str, str]] = set()

    def is_new(metric: str, column: Column) -> bool:
        count = len(seen)
        seen.add((metric, column.on, column.measure))
        return len(seen) > count

    for table in bench.tables:
        columns, rows = table.columns(), table.rows()
        for name, cells in rows.items():
            for place, (column, cell) in enumerate(zip(columns, cells, strict=True)):
                if cell is not None:
                    yield _printed(bench, table, name, column, cell, place, context)
        for metric, beside in table.ours.items():
            for place, column in enumerate(columns):
                cell = rows[beside][place] if beside else None
                if cell is not None or (not beside and is_new(metric, column)):
                    yield _ours(bench, table, metric, beside, column, cell, context)
        for metric in table.baselines:
            for column in columns:
                if context.knows(column.on) and is_new(metric, column):
                    made = _empty(bench, table, metric, "baseline", column)
                    yield _of_metric(made, metric, column, context)
    task = find_task(bench.name)
    if task is not None:
        stated = {"bench": bench.name, "command": f"grice bench {bench.name}"}
        try:
            for made in task.measure(context):
                yield msgspec.structs.replace(made, **stated)
        except InputError as error:
            context.missing[bench.name] = f"bench {bench.name}: {error}"


def _printed(
    bench: Bench,
    table: Table,
    name: str,
    column: Column,
    cell: Cell,
    place: int,
    context: BenchContext,
) -> Figure:
    made = _empty(bench, table, name, "printed", column, cell)
    made = msgspec.structs.replace(made, verdict="cannot be checked", why=table.why)
    source = table.source_of(name, place)
    if not source:
        return made
    if not context.knows(column.on, people=source in PEOPLE):
        return msgspec.structs.replace(made, why="the ratings cannot be had")
    try:
        estimate, signature = context.by_release(source, column.on, column.measure)
    except Skipped as skipped:
        return msgspec.structs.replace(made, verdict=None, why=str(skipped))
    except InputError as error:
        return msgspec.structs.replace(made, why=str(error))
    return measured_as(msgspec.structs.replace(made, why=""), estimate, signature)


def _ours(
    bench: Bench,
    table: Table,
    metric: str,
    beside: str,
    column: Column,
    cell: Cell | None,
    context: BenchContext,
) -> Figure:
    made = _empty(bench, table, f"{metric} (ours)", "ours", column, cell)
    made = _of_metric(msgspec.structs.replace(made, beside=beside), metric, column, context)
    source = table.source_of(beside, table.columns().index(column)) if beside else ""
    if source and made.value is not None:
        paired = context.difference(metric, source, column.on, column.measure)
        made = msgspec.structs.replace(made, difference=paired and _bounds(paired))
    return msgspec.structs.replace(made, verdict=verdict_of(made))


def _empty(
    bench: Bench, table: Table, row: str, kind: Kind, column: Column, cell: Cell | None = None
) -> Figure:
    return Figure(
        bench=bench.name,
        table=table.id,
        row=row,
        kind=kind,
        on=column.on,
        measure=column.measure,
        n=column.n,
        command=f"grice bench {bench.name}",
        published=cell and cell.value,
        # Some figures were rounded from six decimals before they were printed with fewer; of more
        # than four the last ones hang on how means and ties were computed.
        rounding=0.0 if cell is None else float(0.5 * 10 ** -min(cell.decimals, 4) + 1e-6),
        lower=kind != "baseline" and column.measure in table.lower,
    )


def _of_metric(made: Figure, metric: str, column: Column, context: BenchContext) -> Figure:
    if context.knows(column.on) and column.measure in ("pearson", "spearman"):
        command = f"grice meta-eval {metric} --on {column.on}"
        made = msgspec.structs.replace(made, command=command)
    if metric not in context.metrics:
        return msgspec.structs.replace(made, why=f"there is no metric {metric} yet")
    if column.measure not in MEASURES:
        return msgspec.structs.replace(made, why="this task is not built yet")
    if not context.knows(column.on):
        return msgspec.structs.replace(made, why="the ratings cannot be had")
    try:
        estimate, signature = context.by_metric(metric, column.on, column.measure)
    except GriceError as error:  # models that are not here as well
        return msgspec.structs.replace(made, why=str(error))
    made = measured_as(made, estimate, signature)
    trained_on = context.trained(metric, column.on)
    return msgspec.structs.replace(made, why="; ".join(filter(None, [made.why, trained_on])))


def _bounds(estimate: Estimate) -> tuple[float, float, float] | None:
    """Return an estimate with its bounds; None if it has none."""
    return None if estimate.interval is None else (estimate.value, *estimate.interval)
