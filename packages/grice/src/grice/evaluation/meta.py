"""Meta-evaluation: agreement of metrics with human ratings, beside trivial baselines.

Each set is read (``datasets``) and scored or joined with score files (``table``) once; everything
here reduces those scores and never runs a metric again.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeAlias, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.errors import InputError, plural
from grice.evaluation.datasets import RatedSet, data_folder, load_rated, wanted_sets
from grice.evaluation.table import read_table, score_table
from grice.scoring.api import load as load_metrics
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
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from grice.evaluation.datasets import Item, Level, Rated
    from grice.evaluation.table import Column, ScoreTable
    from grice.scoring.api import Grader
    from grice.stats.comparison import Ranking

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
"""Trivial metrics in every table of a level."""
COSINE = {"turn": "cosine_last_turn", "dialogue": "mean_adjacent_cosine"}
"""The default baseline of differences, the same for all sets of a level."""
FEW = 10
"""Fewer items, or items per system, are a rough guide."""
ALL, WITHIN = "all of them", "within systems"


class Confound(msgspec.Struct, frozen=True):
    """A partial correlation, controlling for a covariate.

    Attributes:
        kept: Retained share of the plain correlation; None if that may be zero.
    """

    given: str
    partial: Estimate | None
    kept: float | None
    why: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Agreement of one metric with one set of ratings.

    Attributes:
        abstained: Items that count with the neutral value.
        versus: Difference of Spearman to the baseline, on the same resamples.
        p_value: Of that difference, corrected for all pairs of metrics.
        cluster: Significance cluster; 1 holds the best metrics.
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
        return tuple(
            f"{name}: {estimate.note}"
            for name, estimate in (("Spearman", self.spearman), ("Pearson", self.pearson))
            if estimate is not None and estimate.note and "rough guide" not in estimate.note
        )


class SystemRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Agreement of one metric with the mean ratings of systems."""

    metric: str
    spearman: Estimate | None
    pearson: Estimate | None
    accuracy: Estimate | None
    why: str = ""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Results table: all metrics on one aspect of one set.

    Attributes:
        ceiling: Pearson correlation of a perfect metric; None if unknown.
        judge: Spearman of one annotator with the mean of the others; None if unknown.
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


class Results(NamedTuple):
    """A meta-evaluation; ``shared`` names sets that hold the same conversations."""

    blocks: tuple[Block, ...]
    shared: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether a metric failed on an item."""
        return any(row.failed for block in self.blocks for row in block.rows)


def meta_evaluate(
    metrics: Sequence[str],
    on: Sequence[str],
    *,
    load: Callable[[Sequence[str]], Grader] = lambda names: load_metrics(*names),
    data: Path | None = None,
    scores: Sequence[str] = (),
    baseline: str | None = None,
    kendall: bool = False,
    seed: int = 0,
    report: Callable[[Block], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> Results:
    """Correlate metrics with human ratings, beside the trivial baselines of each level.

    ``on`` names rated sets, files or ``all``, with aspects after a colon. ``scores`` are score
    files used instead of computing, as ``SET=FILE`` if their ids occur in several sets. Each
    complete table is passed to ``report``, each unreadable record to ``warn``.
    """
    wanted = wanted_sets(on)
    known = [want.set for want in wanted if isinstance(want.set, RatedSet)]
    files = _ScoreFiles(scores, [entry.name for entry in known])
    folder = data_folder(data)
    blocks = []
    with ExitStack() as stack:
        loaded = cache(lambda names: stack.enter_context(load(names)))
        for want in wanted:
            rated = load_rated(want.set, folder)
            trivial = BASELINES[rated.set.level]
            columns = files.columns(rated)
            names = dict.fromkeys((*metrics, *trivial, *([baseline] if baseline else [])))
            if missing := tuple(name for name in names if name not in columns):
                grader = loaded(missing)
                talks = [item.conversation for item in rated.items]
                table = score_table(grader, grader.signatures, talks)
                columns |= {name: table.column(name, rated) for name in missing}
            for aspect in want.aspects or (rated.set.default,):
                for problem in rated.problems[:3]:
                    warn(problem)
                block = evaluate(
                    rated,
                    aspect,
                    tuple(columns.values()),
                    baseline=baseline,
                    kendall=kendall,
                    trivial=trivial,
                    seed=seed,
                )
                blocks.append(block)
                report(block)
    return Results(tuple(blocks), tuple(shared_evidence(known)))


class _ScoreFiles:
    """Score files named as ``FILE`` or ``SET=FILE``."""

    def __init__(self, words: Iterable[str], names: Collection[str]) -> None:
        self._claimed: dict[str, str] = {}
        self._files: list[tuple[str, ScoreTable]] = []
        for word in words:
            name, equals, file = word.partition("=")
            named = bool(equals) and name in names
            self._files.append((name if named else "", read_table(file if named else word)))

    def columns(self, rated: Rated) -> dict[str, Column]:
        """Return the columns on a set by metric; of several files with one the first."""
        columns: dict[str, Column] = {}
        own = rated.set.name
        for name, table in self._files:
            for metric in table.metrics if name in ("", own) else ():
                column = table.column(metric, rated)
                if metric in columns or (not name and column.missing == len(column.values)):
                    continue
                first = own if name else self._claimed.setdefault(table.source, own)
                if first != own and first not in rated.set.overlaps:
                    raise InputError(
                        f"{table.source}: its ids occur in {first} and in {own}; name the set "
                        f"with --scores {first}={table.source}"
                    )
                columns[metric] = column
        return columns


def shared_evidence(sets: Sequence[RatedSet]) -> list[str]:
    """Return one line for each pair of sets that hold the same conversations."""
    names = {entry.name for entry in sets}
    pairs = {
        tuple(sorted((entry.name, other)))
        for entry in sets
        for other in entry.overlaps
        if other in names
    }
    return [
        f"{' and '.join(pair)} share conversations: count them as one piece of evidence"
        for pair in sorted(pairs)
    ]


class _Ratings(NamedTuple):
    """Mean ratings of the items with their groups, systems and covariates."""

    human: list[float | None]
    groups: list[str] | None
    systems: list[str | None]
    covariates: dict[str, list[float]]


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
    """Return the correlations of metrics with the ratings of a set.

    Intervals are at 95 % and have that coverage in simulations (bench/coverage.md): by formula for
    rank correlations of independent items, else the jackknife over items or over the conversations
    or contexts that items share. Clusters and p-values are of paired permutation tests, corrected
    by Holm.
    """
    ratings = _Ratings(
        rated.human(aspect),
        [item.group for item in rated.items] if rated.grouped else None,
        [item.system for item in rated.items],
        _covariates(rated),
    )
    human, groups = ratings.human, ratings.groups
    baseline = baseline or COSINE[rated.set.level]
    rows = {column.metric: _counts(column, human, column.metric in trivial) for column in columns}
    usable = [column for column in columns if not _undefined(column, rows[column.metric].points)]
    # Fewer than two metrics, or too few items with all their values, have no comparison.
    comparison = _if_defined(
        compare_correlations,
        {column.metric: column.values for column in usable},
        human,
        groups=groups,
        seed=seed,
    )
    for column in usable:
        spearman, pearson = (
            correlation(column.values, human, kind=kind, groups=groups, seed=seed)
            for kind in ("spearman", "pearson")
        )
        tau = None
        if kendall:
            tau = correlation(column.values, human, kind="kendall", groups=groups, seed=seed)
        rows[column.metric] = replace(
            rows[column.metric],
            spearman=spearman,
            pearson=pearson,
            kendall=tau,
            confounds=tuple(_confounds(column.values, ratings, spearman)),
            **({} if comparison is None else _difference(column.metric, comparison, baseline)),
        )
    annotators = [item.ratings.get(aspect, ()) for item in rated.items]
    return Block(
        data=rated.set.name,
        aspect=aspect,
        level=rated.set.level,
        items=sum(value is not None for value in human),
        unrated=sum(value is None for value in human),
        groups=len(set(groups)) if groups else None,
        baseline=baseline,
        # Without an item with two ratings their reliability is unknown.
        ceiling=_if_defined(ceiling, annotators, groups=groups),
        judge=_if_defined(leave_one_annotator_out, annotators, groups=groups),
        rows=tuple(
            sorted(rows.values(), key=lambda row: -row.spearman.value if row.spearman else 2.0)
        ),
        systems=_systems(usable, ratings, seed),
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


def _counts(column: Column, human: Sequence[float | None], trivial: bool) -> Row:  # noqa: FBT001
    """Return the row of a metric without its correlations."""
    points = tuple(
        (rating, value)
        for rating, value in zip(human, column.values, strict=True)
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


def _difference(metric: str, comparison: Ranking, baseline: str) -> dict[str, object]:
    """Return the difference of a metric to the baseline, and its cluster."""
    found: dict[str, object] = {}
    for pair in comparison.comparisons:
        if {pair.first, pair.second} == {metric, baseline}:
            found["versus"] = pair.difference if pair.first == metric else -pair.difference
            found["p_value"] = pair.p_value
    for number, names in enumerate(comparison.clusters, start=1):
        if metric in names:
            found["cluster"] = number
    return found


def _systems(columns: Sequence[Column], ratings: _Ratings, seed: int) -> tuple[SystemRow, ...]:
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
                system_level(values, human, names, kind=kind, seed=seed)
                for kind in ("spearman", "pearson")
            )
        except InputError as error:
            rows.append(SystemRow(column.metric, None, None, None, str(error)))
        else:
            figures = spearman.correlation, pearson.correlation, spearman.accuracy
            rows.append(SystemRow(column.metric, *figures))
    return tuple(rows)


def _covariates(rated: Rated) -> dict[str, list[float]]:
    """Return length, number of turns and word overlap of each item.

    Of a reply: logarithm of its words, turns, share of its words in the last turn. Of a
    conversation: logarithm of all words, turns, mean share of words of the turn before.
    """
    judged = slice(-1, None) if rated.set.level == "turn" else slice(None)
    texts = [[turn.text for turn in item.conversation.turns[judged]] for item in rated.items]
    return {
        "length": [math.log(1 + sum(len(text.split()) for text in each)) for each in texts],
        "turns": [float(len(item.conversation.turns)) for item in rated.items],
        "overlap": [_overlap(item, judged) for item in rated.items],
    }


def _overlap(item: Item, judged: slice) -> float:
    shares = []
    for before, after in list(pairwise(item.conversation.turns))[judged]:
        words = set(WORDS.findall(after.text.lower()))
        both = words.intersection(WORDS.findall(before.text.lower()))
        shares.append(len(both) / len(words) if words else 0.0)
    return sum(shares) / len(shares) if shares else 0.0


def _confounds(
    values: Sequence[float | None], ratings: _Ratings, plain: Estimate
) -> Iterable[Confound]:
    """Yield partial correlations given each covariate, all of them, and the system."""

    def confound(given: str, partial: Estimate) -> Confound:
        surely = plain.side(0) in ("above", "below")
        return Confound(given, partial, partial.value / plain.value if surely else None)

    def partial(given: str, held: Sequence[Sequence[float]]) -> Confound:
        human, groups = ratings.human, ratings.groups
        try:
            left = partial_correlation(values, human, held, groups=groups)
        except InputError:  # the metric is a function of the covariate
            return Confound(given, None, None, "nothing is left of the metric")
        return confound(given, left)

    held = ratings.covariates
    usable = {name: column for name, column in held.items() if np.ptp(column) > 0}
    for name in held:
        if name in usable:
            yield partial(name, [usable[name]])
        else:
            yield Confound(name, None, None, "the same for every item")
    if len(usable) > 1:
        yield partial(ALL, list(usable.values()))
    systems = ratings.systems
    named = [system for system in systems if system is not None]
    large = {system for system in named if named.count(system) >= FEW}
    if len(large) < 2:
        return
    kept = [i for i, system in enumerate(systems) if system in large]
    try:
        inside = correlation_within(
            [values[i] for i in kept],
            [ratings.human[i] for i in kept],
            [str(systems[i]) for i in kept],
            kind="spearman",
        )
    except InputError as error:
        yield Confound(WITHIN, None, None, str(error))
    else:
        yield confound(WITHIN, inside)
