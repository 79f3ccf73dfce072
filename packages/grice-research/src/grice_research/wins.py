"""Which printed wins survive an interval, when only the figures were printed.

Two correlations with the same ratings differ more or less surely as the two metrics correlate with
each other, which tables do not print. So the difference is bounded from both sides: with metrics
that have nothing in common (the widest interval) and with metrics that largely agree.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import InputError
from grice.stats.estimate import FEW, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.figures import Figure
    from grice_research.published import Bench, Column, Table

Survives: TypeAlias = Literal["yes", "no", "open"]
"""``yes``: whatever the two have in common. ``no``: not even if they largely agree. ``open``: it
depends on what they have in common, which only their scores would tell."""

ALIKE = 0.8
"""How far two metrics are taken to agree at most."""

CORRELATIONS = ("pearson", "spearman", "system pearson", "system spearman")


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
        baseline: The best trivial baseline that was measured, if any.
        baseline_value: Its figure.
        over_baseline: Whether the best printed figure is surely above it.
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
    baseline: str = ""
    baseline_value: float | None = None
    over_baseline: Survives | None = None


def survives(best: float, other: float, n: int, between: float | None = None) -> Survives:
    """Return whether a correlation is surely above another one with the same ratings.

    By the interval of Zou (2007) at 95 %, which is no guide below ten items: those say ``no``.
    """
    if n < FEW:
        return "no"
    if between is not None:
        return "yes" if _apart(best, other, between, n) else "no"
    if _apart(best, other, max(0.0, _feasible(best, other)[0]), n):
        return "yes"
    return "open" if _apart(best, other, min(ALIKE, _feasible(best, other)[1]), n) else "no"


def _feasible(first: float, other: float) -> tuple[float, float]:
    """Return the least and greatest correlation that two such metrics can have."""
    room = math.sqrt(max(0.0, (1 - first**2) * (1 - other**2)))
    return first * other - room, first * other + room


def zou_interval(r_jk: float, r_jh: float, r_kh: float, n: int, *, level: float = 0.95) -> Estimate:
    """Return r_jk less r_jh with the interval of Zou (2007) out of those of the two."""
    if n < 4 or max(abs(r_jk), abs(r_jh), abs(r_kh)) > 1:
        raise InputError(f"{r_jk}, {r_jh}, {r_kh} are no three correlations of 4 items or more")
    if 1 - r_jk**2 - r_jh**2 - r_kh**2 + 2 * r_jk * r_jh * r_kh < -1e-9:
        raise InputError(f"no three columns have the correlations {r_jk}, {r_jh} and {r_kh}")
    if max(abs(r_jk), abs(r_jh)) == 1:
        raise InputError("a correlation of -1 or 1 has no Fisher z: no interval of Zou")
    half = NormalDist().inv_cdf(0.5 + level / 2) / math.sqrt(n - 3)
    bounds = [
        (math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)) for r in (r_jk, r_jh)
    ]
    (low_k, high_k), (low_h, high_h) = bounds
    shared = (r_kh - r_jk * r_jh / 2) * (1 - r_jk**2 - r_jh**2 - r_kh**2) + r_kh**3
    shared /= (1 - r_jk**2) * (1 - r_jh**2)
    difference = r_jk - r_jh
    low = _mover(r_jk - low_k, high_h - r_jh, shared)
    high = _mover(high_k - r_jk, r_jh - low_h, shared)
    return Estimate(difference, difference - low, difference + high, level, n, "Zou (2007)")


def _mover(a: float, b: float, shared: float) -> float:
    return math.sqrt(max(0.0, a**2 + b**2 - 2 * shared * a * b))


def _apart(best: float, other: float, between: float, n: int) -> bool:
    try:
        return zou_interval(best, other, between, n).side(0) == "above"
    except InputError:
        return False  # too few systems, or a correlation of 1 of two of them


def wins(bench: Bench, figures: list[Figure], context: BenchContext) -> Iterator[Win]:
    """Yield for each column of correlations whether its best printed figure is surely the best."""
    for table in bench.tables:
        for place, column in enumerate(table.columns()):
            rows = [
                (name, cells[place].value)  # type: ignore[union-attr]
                for name, cells in table.rows().items()
                if cells[place] is not None and "judge" not in name
            ]
            if column.measure in CORRELATIONS and column.n and len(rows) > 1:
                yield _win(table, place, column, rows, figures, context)


def _win(
    table: Table,
    place: int,
    column: Column,
    rows: list[tuple[str, float]],
    figures: list[Figure],
    context: BenchContext,
) -> Win:
    assert column.n is not None
    (best, top), *others = sorted(rows, key=lambda row: -row[1])
    outcomes = []
    for name, printed in others:
        sources = table.source_of(best, place), table.source_of(name, place)
        between = None
        if all(sources) and context.knows(column.on):
            between = context.between(*sources, column.on, column.measure)
        outcomes.append(survives(top, printed, column.n, between))
    baselines = [
        figure
        for figure in figures
        if figure.kind == "baseline"
        and (figure.on, figure.measure) == (column.on, column.measure)
        and figure.value is not None
    ]
    baseline = max(baselines, key=lambda figure: figure.value or 0.0, default=None)
    value = None if baseline is None else baseline.value
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
        "" if baseline is None else baseline.row,
        value,
        None if value is None else survives(top, value, column.n),
    )
