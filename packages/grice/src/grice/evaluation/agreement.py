"""Agreement of metrics with human ratings on one aspect of one set.

Scores are computed once; everything here reduces them and never runs a metric again.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeAlias, TypeVar

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.stats import (
    ceiling,
    compare_correlations,
    correlation,
    correlation_within,
    leave_one_annotator_out,
    partial_correlation,
    system_level,
)
from grice.stats.estimate import Estimate
from grice.text.tokens import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from grice.evaluation.datasets import Item, Level, Rated
    from grice.evaluation.table import Column
    from grice.stats.comparison import Ranking
    from grice.stats.weighted import Kind

Points: TypeAlias = tuple[tuple[float, float], ...]
Params = ParamSpec("Params")
Result = TypeVar("Result")
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
"""The trivial baseline that every metric is compared with: picked once, not per set."""
FEW = 10
ALL = "all of them"
WITHIN = "within systems"
FEW_PER_SYSTEM = 10


class Confound(msgspec.Struct, frozen=True):
    """A partial correlation: what is left when controlling for something.

    Attributes:
        kept: Share of the plain correlation that is left; None if the plain one may be zero, as
            a share of nothing means nothing.
    """

    given: str
    partial: Estimate | None
    kept: float | None
    why: str = ""


class Ratings(NamedTuple):
    """Ratings of the items, with their groups, systems and covariates."""

    human: list[float | None]
    groups: list[str] | None
    systems: list[str | None]
    covariates: dict[str, list[float]]
    seed: int


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One metric against one set of ratings.

    Attributes:
        abstained: Items that count with the neutral value.
        versus: Spearman less that of the trivial baseline, on the same resamples of the common
            items.
        p_value: Of that difference, corrected for all pairs of metrics.
        cluster: 1 for the best metrics, which are not distinguishable at this n, 2 for the next, …
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

    @property
    def caveats(self) -> tuple[str, ...]:
        """Caveats of its correlations, such as tails too heavy for Pearson."""
        named = (("Spearman", self.spearman), ("Pearson", self.pearson))
        return tuple(
            f"{name}: {estimate.note}"
            for name, estimate in named
            if estimate is not None and estimate.note and "rough guide" not in estimate.note
        )


class SystemRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric against the mean ratings of systems."""

    metric: str
    spearman: Estimate | None
    pearson: Estimate | None
    accuracy: Estimate | None
    why: str = ""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics on one aspect of one set.

    Attributes:
        ceiling: The Pearson correlation a perfect metric would have; None if unknown.
        judge: Spearman of one judge with the mean of the others; None if unknown.
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
    trivial: Collection[str] = (),
    seed: int = 0,
) -> Block:
    """Return how metrics correlate with the ratings of a set.

    Intervals are at 95 % and hold that in simulations (bench/coverage.md): by formula for rank
    correlations of independent items, else the jackknife over items or over the conversations or
    contexts that items share. Clusters and p-values are of paired permutation tests, corrected by
    Holm.
    """
    ratings = Ratings(
        rated.human(aspect),
        [item.group for item in rated.items] if rated.grouped else None,
        [item.system for item in rated.items],
        covariates(rated),
        seed,
    )
    baseline = baseline or COSINE[rated.set.level]
    rows = {
        column.metric: _counted(column, ratings, column.metric in trivial) for column in columns
    }
    usable = [column for column in columns if not _undefined(column, rows[column.metric].points)]
    # Fewer than two metrics, or too few items with all their values, have no comparison.
    comparison = _if_defined(
        compare_correlations,
        {column.metric: column.values for column in usable},
        ratings.human,
        groups=ratings.groups,
        seed=seed,
    )
    for column in usable:
        spearman = _correlation(column, ratings, "spearman")
        row = msgspec.structs.replace(
            rows[column.metric],
            spearman=spearman,
            pearson=_correlation(column, ratings, "pearson"),
            kendall=_correlation(column, ratings, "kendall") if kendall else None,
            confounds=confounds(column.values, ratings, spearman),
        )
        rows[column.metric] = row if comparison is None else _against(row, comparison, baseline)
    judges = [item.ratings.get(aspect, ()) for item in rated.items]
    return Block(
        data=rated.set.name,
        aspect=aspect,
        level=rated.set.level,
        items=sum(value is not None for value in ratings.human),
        unrated=sum(value is None for value in ratings.human),
        groups=len(set(ratings.groups)) if ratings.groups else None,
        baseline=baseline,
        # Where no item has two ratings, nothing is known of their reliability.
        ceiling=_if_defined(ceiling, judges, groups=ratings.groups),
        judge=_if_defined(leave_one_annotator_out, judges, groups=ratings.groups),
        rows=tuple(
            sorted(rows.values(), key=lambda row: -row.spearman.value if row.spearman else 2.0)
        ),
        systems=_systems(usable, ratings),
        system_count=len({system for system in ratings.systems if system is not None}),
        note=rated.set.note,
        problems=len(rated.problems),
    )


def _if_defined(
    statistic: Callable[Params, Result], *args: Params.args, **options: Params.kwargs
) -> Result | None:
    try:
        return statistic(*args, **options)
    except InputError:
        return None


def _counted(column: Column, ratings: Ratings, trivial: bool) -> Row:  # noqa: FBT001 - a fact
    """Return the row of a metric without its correlations, with why there are none."""
    points = tuple(
        (rating, value)
        for rating, value in zip(ratings.human, column.values, strict=True)
        if rating is not None and value is not None
    )
    few = f"{plural(len(points), 'item')}: a rough guide" if len(points) < FEW else ""
    return Row(
        metric=column.metric,
        signature=column.signature,
        trivial=trivial,
        n=len(points),
        abstained=column.abstained,
        failed=column.failed,
        missing=column.missing,
        reduced=column.reduced,
        why=_undefined(column, points) or few,
        points=points,
    )


def _correlation(column: Column, ratings: Ratings, kind: Kind) -> Estimate:
    human, groups = ratings.human, ratings.groups
    return correlation(column.values, human, kind=kind, groups=groups, seed=ratings.seed)


def _against(row: Row, comparison: Ranking, baseline: str) -> Row:
    """Return a row with its difference from the baseline and its cluster."""
    versus, p_value = None, None
    for pair in comparison.comparisons:
        if {pair.first, pair.second} == {row.metric, baseline}:
            versus = pair.difference if pair.first == row.metric else -pair.difference
            p_value = pair.p_value
    clusters = enumerate(comparison.clusters, start=1)
    cluster = next((number for number, names in clusters if row.metric in names), None)
    return msgspec.structs.replace(row, versus=versus, p_value=p_value, cluster=cluster)


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


def _systems(columns: Sequence[Column], ratings: Ratings) -> tuple[SystemRow, ...]:
    kept = [i for i, system in enumerate(ratings.systems) if system is not None]
    names = [str(ratings.systems[i]) for i in kept]
    if len(set(names)) < 2:
        return ()
    human = [ratings.human[i] for i in kept]
    rows = []
    for column in columns:
        values = [column.values[i] for i in kept]
        try:
            spearman, pearson = (
                system_level(values, human, names, kind=kind, seed=ratings.seed)
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


def covariates(rated: Rated) -> dict[str, list[float]]:
    """Return what may stand behind a correlation, one value per item, by name.

    Of a reply: logarithm of its number of words, turns before it, share of its words in the last
    turn. Of a conversation: logarithm of all words, turns, mean share of words of the turn before.
    """
    level = rated.set.level
    judged = slice(-1, None) if level == "turn" else slice(None)
    texts = [[turn.text for turn in item.conversation.turns[judged]] for item in rated.items]
    return {
        "length": [math.log(1 + sum(len(text.split()) for text in each)) for each in texts],
        "turns": [float(len(item.conversation.turns)) for item in rated.items],
        "overlap": [_overlap(item, level) for item in rated.items],
    }


def confounds(
    values: Sequence[float | None], ratings: Ratings, plain: Estimate
) -> tuple[Confound, ...]:
    """Return partial correlations, controlling for each covariate, all of them, and the system."""
    held = ratings.covariates
    usable = {name: column for name, column in held.items() if np.ptp(column) > 0}
    partials = []
    for name in held:
        if name in usable:
            partials.append(_partial(name, values, ratings, plain, [usable[name]]))
        else:
            partials.append(Confound(name, None, None, "the same for every item"))
    if len(usable) > 1:
        partials.append(_partial(ALL, values, ratings, plain, list(usable.values())))
    return (*partials, *_within(values, ratings, plain))


def _partial(
    name: str,
    values: Sequence[float | None],
    ratings: Ratings,
    plain: Estimate,
    held: Sequence[Sequence[float]],
) -> Confound:
    human, groups = ratings.human, ratings.groups
    try:
        partial = partial_correlation(values, human, held, kind="spearman", groups=groups)
    except InputError:
        # Too few items raise before this is asked; what is left is a metric that is the covariate.
        return Confound(name, None, None, "nothing is left of the metric")
    return Confound(name, partial, _kept(partial, plain))


def _kept(partial: Estimate, plain: Estimate) -> float | None:
    return partial.value / plain.value if plain.side(0) in ("above", "below") else None


def _within(values: Sequence[float | None], ratings: Ratings, plain: Estimate) -> list[Confound]:
    systems = ratings.systems
    named = [system for system in systems if system is not None]
    large = {system for system in named if named.count(system) >= FEW_PER_SYSTEM}
    if len(large) < 2:
        return []
    kept = [i for i, system in enumerate(systems) if system in large]
    try:
        inside = correlation_within(
            [values[i] for i in kept],
            [ratings.human[i] for i in kept],
            [str(systems[i]) for i in kept],
            kind="spearman",
        )
    except InputError as error:
        return [Confound(WITHIN, None, None, str(error))]
    return [Confound(WITHIN, inside, _kept(inside, plain))]


def _overlap(item: Item, level: Level) -> float:
    turns = item.conversation.turns
    pairs = list(pairwise(turns))
    if level == "turn":
        pairs = pairs[-1:]
    shares = []
    for before, after in pairs:
        words = set(WORDS.findall(after.text.lower()))
        both = words.intersection(WORDS.findall(before.text.lower()))
        shares.append(len(both) / len(words) if words else 0.0)
    return sum(shares) / len(shares) if shares else 0.0
