"""Metrics against human ratings: correlations, floors, ceiling, confounds, systems.

Scores are computed once; everything here reduces them and never runs a metric again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.evaluation.confounds import Confound, confounds, covariates
from grice.evaluation.trained import TrainedOn
from grice.stats import (
    ceiling,
    compare_correlations,
    correlation,
    leave_one_annotator_out,
    system_level,
)
from grice.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.evaluation.columns import Column
    from grice.evaluation.datasets import Level, Rated, RatedSet
    from grice.stats.dependent import CorrelationComparison
    from grice.stats.weighted import Kind

__all__ = [
    "BASELINES",
    "COSINE",
    "NOT_HERE",
    "Block",
    "Row",
    "SystemRow",
    "evaluate",
    "shared_evidence",
]

Points: TypeAlias = tuple[tuple[float, float], ...]

BASELINES: dict[str, tuple[str, ...]] = {
    "turn": ("log_length", "turn_count", "overlap_last_turn", "cosine_last_turn"),
    "dialogue": (
        "turn_count",
        "mean_user_words",
        "mean_system_words",
        "distinct_words",
        "mean_adjacent_cosine",
        "mean_cosine_to_user",
    ),
}
"""Trivial metrics that stand in every table of a level."""

TRIPLES = "judges triples, of which the set has none; it stands in `grice bench cskb-population`"
SAME = "gives every item the same score: no correlation; among pairs it would get 0.5"
NOT_HERE: dict[str, dict[str, str]] = {
    "turn": {
        "mean_adjacent_cosine": "judges whole conversations; name it to see it on the context",
        "always_yes": SAME,
        "cosine_head_tail": TRIPLES,
    },
    "dialogue": {
        "log_length": "judges single replies; name it to see its mean over them",
        "cosine_last_turn": "judges single replies; name it to see its mean over them",
        "always_yes": SAME,
        "cosine_head_tail": TRIPLES,
    },
}
"""Trivial metrics of other tables, and why they are not computed at a level."""

COSINE = {"turn": "cosine_last_turn", "dialogue": "mean_adjacent_cosine"}
"""The fixed floor that every metric is compared with: picked once, not per set."""

FEW = 10


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One metric against one set of ratings.

    Attributes:
        metric: Its name.
        signature: What exactly was computed.
        trivial: Whether it is one of the floors.
        n: Items with a rating and a value.
        abstained: Items that count with the neutral value.
        failed: Items left out because the metric failed.
        missing: Items left out because there is no score.
        spearman: Rank correlation; None if it is not defined, and then ``why`` says so.
        pearson: Linear correlation; likewise.
        kendall: Tau-b, if it was asked for.
        versus: Spearman less that of the floor, on the same resamples of the common items.
        p_value: Of that difference, corrected for all pairs of metrics.
        cluster: 1 for the best metrics that cannot be told apart, 2 for the next, …
        confounds: What is left of the correlation without length, turns, …
        reduced: How scores of replies became one of a conversation.
        why: Why there is no correlation.
        points: The items as (rating, value).
        trained: How far each of its models was trained on texts of the set.
    """

    metric: str
    signature: str
    trivial: bool
    n: int
    abstained: int
    failed: int
    missing: int
    spearman: Estimate | None = None
    pearson: Estimate | None = None
    kendall: Estimate | None = None
    versus: Estimate | None = None
    p_value: float | None = None
    cluster: int | None = None
    confounds: tuple[Confound, ...] = ()
    reduced: str = ""
    why: str = ""
    points: Points = ()
    trained: tuple[TrainedOn, ...] = ()

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to keep in mind about its numbers, such as tails too heavy for Pearson."""
        named = (("Spearman", self.spearman), ("Pearson", self.pearson))
        return tuple(
            f"{name}: {found.note}"
            for name, found in named
            if found is not None and found.note and "rough guide" not in found.note
        )


class SystemRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric against the mean ratings of systems.

    Attributes:
        metric: Its name.
        spearman: Rank correlation of the means; None if it is not defined.
        pearson: Linear correlation of the means.
        accuracy: Share of pairs of systems in the order of the ratings.
        why: Why there is none.
    """

    metric: str
    spearman: Estimate | None
    pearson: Estimate | None
    accuracy: Estimate | None
    why: str = ""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics on one aspect of one set.

    Attributes:
        data: Name of the set.
        aspect: What was rated.
        level: ``turn`` or ``dialogue``.
        items: Rated items.
        unrated: Items of the set that nobody rated on this aspect.
        groups: Conversations or contexts that items share; None if they share none.
        baseline: The floor that metrics are compared with.
        ceiling: The Pearson correlation a perfect metric would have; None if unknown.
        judge: Spearman of one judge with the mean of the others; None if unknown.
        rows: The metrics, best first, then those without a correlation.
        systems: The same at the level of systems; empty with fewer than two.
        system_count: How many systems.
        note: What to keep in mind about the set.
        problems: Records that could not be read.
    """

    data: str
    aspect: str
    level: Level
    items: int
    unrated: int
    groups: int | None
    baseline: str
    ceiling: Estimate | None
    judge: Estimate | None
    rows: tuple[Row, ...]
    systems: tuple[SystemRow, ...]
    system_count: int
    note: str
    problems: int


def evaluate(
    rated: Rated,
    aspect: str,
    columns: Sequence[Column],
    *,
    baseline: str | None = None,
    kendall: bool = False,
    trivial: Iterable[str] = (),
    seed: int = 0,
) -> Block:
    """Return how metrics correlate with the ratings of a set.

    Intervals are at 95 % and hold that in simulations (bench/coverage.md): by formula for rank
    correlations of independent items, else the jackknife over items or over the conversations or
    contexts that items share. Clusters and p-values are of paired permutation tests, corrected by
    Holm.

    Args:
        rated: The set.
        aspect: Which ratings.
        columns: The metrics on its items.
        baseline: The floor to compare with; by default the cosine of the level.
        kendall: Whether to compute tau-b too.
        trivial: Names of the metrics that are floors.
        seed: Seed of the draws.
    """
    human = rated.human(aspect)
    groups = [item.group for item in rated.items] if rated.grouped else None
    floor = baseline or COSINE[rated.set.level]
    judges = _Judges(rated, aspect, groups)
    table = _Table(human, groups, seed)
    rows = {column.metric: table.row(column, column.metric in trivial) for column in columns}
    usable = [column for column in columns if rows[column.metric].spearman is not None]
    rows |= table.compared(usable, rows, floor)
    held = covariates(rated)
    systems = [item.system for item in rated.items]
    for column in usable:
        row = rows[column.metric]
        assert row.spearman is not None
        rows[column.metric] = msgspec.structs.replace(
            row,
            confounds=confounds(column.values, human, row.spearman, held, systems, groups),
            kendall=table.correlation(column, "kendall") if kendall else None,
        )
    return Block(
        data=rated.set.name,
        aspect=aspect,
        level=rated.set.level,
        items=sum(value is not None for value in human),
        unrated=sum(value is None for value in human),
        groups=len(set(groups)) if groups else None,
        baseline=floor,
        ceiling=judges.ceiling(),
        judge=judges.judge(),
        rows=tuple(sorted(rows.values(), key=_best_first)),
        systems=_systems(usable, human, systems, seed),
        system_count=len({system for system in systems if system is not None}),
        note=rated.set.note,
        problems=len(rated.problems),
    )


def _best_first(row: Row) -> tuple[bool, float]:
    return (row.spearman is None, 0.0 if row.spearman is None else -row.spearman.value)


class _Judges:
    """What single judges say about how far ratings can be trusted."""

    def __init__(self, rated: Rated, aspect: str, groups: list[str] | None) -> None:
        self._ratings = [item.ratings.get(aspect, ()) for item in rated.items]
        self._groups = groups

    def ceiling(self) -> Estimate | None:
        try:
            return ceiling(self._ratings, groups=self._groups)
        except InputError:
            return None  # no item has two ratings: nothing is known of their reliability

    def judge(self) -> Estimate | None:
        try:
            return leave_one_annotator_out(self._ratings, groups=self._groups)
        except InputError:
            return None


class _Table:
    """Correlations of columns with the same ratings."""

    def __init__(self, human: list[float | None], groups: list[str] | None, seed: int) -> None:
        self._human = human
        self._groups = groups
        self._seed = seed

    def row(self, column: Column, trivial: bool) -> Row:  # noqa: FBT001 - a fact, not a switch
        points = tuple(
            (rating, value)
            for rating, value in zip(self._human, column.values, strict=True)
            if rating is not None and value is not None
        )
        why = _undefined(column, points)
        spearman = None if why else self.correlation(column, "spearman")
        few = f"{plural(len(points), 'item')}: a rough guide" if len(points) < FEW else ""
        return Row(
            metric=column.metric,
            signature=column.signature,
            trivial=trivial,
            n=len(points),
            abstained=column.abstained,
            failed=column.failed,
            missing=column.missing,
            spearman=spearman,
            pearson=None if why else self.correlation(column, "pearson"),
            reduced=column.reduced,
            why=why or few,
            points=points,
        )

    def correlation(self, column: Column, kind: Kind) -> Estimate:
        return correlation(
            column.values,
            self._human,
            kind=kind,
            groups=self._groups,
            seed=self._seed,
        )

    def compared(
        self, columns: Sequence[Column], rows: dict[str, Row], floor: str
    ) -> dict[str, Row]:
        """Return the rows with their difference from the floor and their cluster."""
        if len(columns) < 2:
            return {}
        try:
            found = compare_correlations(
                {column.metric: column.values for column in columns},
                self._human,
                groups=self._groups,
                seed=self._seed,
            )
        except InputError:
            return {}  # too few items have a value of every metric
        clusters = {
            name: number
            for number, cluster in enumerate(found.clusters, start=1)
            for name in cluster
        }
        return {
            column.metric: _against(rows[column.metric], found, clusters, floor)
            for column in columns
        }


def _against(row: Row, found: CorrelationComparison, clusters: dict[str, int], floor: str) -> Row:
    versus, p_value = None, None
    for one in found.comparisons:
        if {one.first, one.second} == {row.metric, floor}:
            difference = one.difference
            versus = difference if one.first == row.metric else _turned(difference)
            p_value = one.p_value
    return msgspec.structs.replace(
        row, versus=versus, p_value=p_value, cluster=clusters.get(row.metric)
    )


def _turned(estimate: Estimate) -> Estimate:
    """Return the difference the other way round."""
    low = None if estimate.high is None else -estimate.high
    high = None if estimate.low is None else -estimate.low
    return msgspec.structs.replace(estimate, value=-estimate.value, low=low, high=high)


def _undefined(column: Column, points: Points) -> str:
    """Return why no correlation is defined; empty if one is."""
    if len(points) < 4:
        return f"{plural(len(points), 'item has', 'items have')} both: at least 4 are needed"
    ratings, values = np.asarray(points).T
    if np.ptp(values) == 0:
        return f"the metric is {values[0]:g} on every item"
    if np.ptp(ratings) == 0:
        return f"the rating is {ratings[0]:g} on every item"
    if column.abstained == len(column.values):
        return "the metric abstained on every item"
    return ""


def _systems(
    columns: Sequence[Column],
    human: Sequence[float | None],
    systems: Sequence[str | None],
    seed: int,
) -> tuple[SystemRow, ...]:
    kept = [i for i, system in enumerate(systems) if system is not None]
    names = [str(systems[i]) for i in kept]
    if len(set(names)) < 2:
        return ()
    ratings = [human[i] for i in kept]
    rows = []
    for column in columns:
        values = [column.values[i] for i in kept]
        try:
            spearman, pearson = (
                system_level(values, ratings, names, kind=kind, seed=seed)
                for kind in ("spearman", "pearson")
            )
        except InputError as error:
            rows.append(SystemRow(column.metric, None, None, None, str(error)))
        else:
            rows.append(
                SystemRow(
                    column.metric, spearman.correlation, pearson.correlation, spearman.accuracy
                )
            )
    return tuple(rows)


def shared_evidence(sets: Sequence[RatedSet]) -> list[str]:
    """Return one line for each pair of sets that hold the same conversations."""
    names = {entry.name for entry in sets}
    found = set()
    for entry in sets:
        found |= {frozenset((entry.name, other)) for other in entry.overlaps if other in names}
    return [
        f"{' and '.join(sorted(pair))} share conversations: count them as one piece of evidence"
        for pair in sorted(found, key=sorted)
    ]
