"""Meta-evaluation: agreement with human ratings, compared with trivial baselines."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.evaluation.datasets import (
    Item,
    Level,
    Rated,
    RatedSet,
    data_folder,
    load_rated,
    wanted_sets,
)
from grice.evaluation.table import Column, ScoreTable, read_table, score_table
from grice.scoring.api import Grader
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
    from grice.stats.comparison import Comparison, Ranking
    from grice.stats.correlations import Kind

Points: TypeAlias = tuple[tuple[float, float], ...]
Params = ParamSpec("Params")
Result = TypeVar("Result")
BASELINES: dict[str, tuple[str, ...]] = {
    "turn": ("log_length", "turn_count", "overlap_last_turn", "cosine_last_turn"),
    "dialogue": (
        *("turn_count", "mean_user_words", "mean_system_words", "distinct_words"),
        *("mean_adjacent_cosine", "mean_cosine_to_user"),
    ),
}
"""Trivial metrics in every table of a level."""
COSINE = {"turn": "cosine_last_turn", "dialogue": "mean_adjacent_cosine"}
"""The default baseline of differences, the same for all sets of a level."""
FEW = 10  # fewer items, or items per system, are a rough guide
FEWEST_SYSTEMS = 4  # with fewer, the means of systems correlate by chance, two always by 1 or -1
ALL, WITHIN = "all of them", "within systems"


class Confound(msgspec.Struct, frozen=True):
    """A partial correlation, controlling for a covariate; None where it is undefined."""

    given: str
    partial: Estimate | None
    kept: float | None  # retained share of the plain correlation; None if that may be zero


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Agreement of one metric with one set of ratings."""

    metric: str
    signature: str
    trivial: bool
    n: int
    abstained: int  # items that count with the neutral value
    failed: int
    missing: int
    spearman: Estimate | None = None
    pearson: Estimate | None = None
    kendall: Estimate | None = None
    versus: Estimate | None = None  # difference of Spearman to the baseline, on the same resamples
    p_value: float | None = None  # of that difference, corrected for all pairs of metrics
    cluster: int | None = None  # significance cluster; 1 holds the best metrics
    confounds: tuple[Confound, ...] = ()
    system_spearman: Estimate | None = None  # of the means of systems
    system_pearson: Estimate | None = None
    accuracy: Estimate | None = None  # share of pairs of systems in the order of the mean ratings
    system_why: str = ""  # reason for missing correlations
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


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Results table: all metrics on one aspect of one set."""

    data: str
    aspect: str
    level: Level
    items: int
    unrated: int
    groups: int | None
    baseline: str
    ceiling: Estimate | None  # Pearson correlation of a perfect metric
    judge: Estimate | None  # Spearman of one annotator with the mean of the others
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...]  # of Spearman, of each pair of metrics
    system_count: int
    note: str
    problems: tuple[str, ...]  # records that could not be read

    @property
    def systems(self) -> list[Row]:
        """Rows with an outcome at the level of systems."""
        return [row for row in self.rows if row.system_spearman or row.system_why]


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
    group: str | None = None,
) -> Iterator[Block]:
    """Correlate metrics and the trivial baselines of each level with human ratings.

    ``on`` names rated sets, files or ``all``, with aspects after a colon. ``scores`` are score
    files used instead of computing, as ``SET=FILE`` if there are several sets. Each table is
    yielded as soon as it is complete. ``data`` is the folder of known sets, by default that of
    ``GRICE_DATA``; ``baseline`` is what to compare with, by default the cosine of the level.
    ``group`` names the field of a user's files by which items belong together, such as replies of
    one conversation; by default repeated ids do.

    Raises:
        InputError: If a set is missing or unknown, or scores lack the name of their set.
    """
    wanted = wanted_sets(on)
    sets = {entry.name if isinstance(entry, RatedSet) else str(entry) for entry, _ in wanted}
    files: list[tuple[str, ScoreTable]] = []
    for word in scores:
        name, equals, file = word.partition("=")
        if not equals or name not in sets:
            name, file = "", word
            if len(sets) > 1:
                raise InputError(f"{word}: name the set of these scores: --scores SET={word}")
        files.append((name, read_table(file)))
    folder = data_folder(data)
    with ExitStack() as stack:
        loaded = cache(lambda names: stack.enter_context(load(names)))
        for entry, aspects in wanted:
            rated = load_rated(entry, folder, group)
            trivial = BASELINES[rated.set.level]
            columns: dict[str, Column] = {}
            own = ("", rated.set.name, rated.set.file)
            for table in (table for name, table in files if name in own):
                for column in (table.column(metric, rated) for metric in table.metrics):
                    if column.missing < len(column.values):
                        columns.setdefault(column.metric, column)
            needed = dict.fromkeys((*metrics, *trivial, *([baseline] if baseline else [])))
            if missing := tuple(name for name in needed if name not in columns):
                grader = loaded(missing)
                talks = [item.conversation for item in rated.items]
                table = score_table(grader, grader.signatures, talks)
                columns |= {name: table.column(name, rated) for name in missing}
            for aspect in aspects or (rated.set.default,):
                yield evaluate(
                    rated, aspect, tuple(columns.values()),
                    baseline=baseline, kendall=kendall, trivial=trivial, seed=seed,
                )  # fmt: skip


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
    human = rated.human(aspect)
    groups, systems = rated.groups, [item.system for item in rated.items]
    covariates = _covariates(rated)
    baseline = baseline or COSINE[rated.set.level]
    points = {
        column.metric: tuple(
            (rating, value)
            for rating, value in zip(human, column.values, strict=True)
            if rating is not None and value is not None
        )
        for column in columns
    }
    undefined = {column.metric: _undefined(column, points[column.metric]) for column in columns}
    usable = {column.metric: column.values for column in columns if not undefined[column.metric]}
    # Fewer than two metrics, or too few items with all their values, have no comparison.
    comparison = _if_defined(compare_correlations, usable, human, groups=groups, seed=seed)
    kinds: tuple[Kind, ...] = ("spearman", "pearson", "kendall")
    rows = []
    for column in columns:
        name, n = column.metric, len(points[column.metric])
        figures: dict[str, Any] = {}
        if name in usable:
            for kind in kinds if kendall else kinds[:2]:
                figures[kind] = correlation(
                    column.values, human, kind=kind, groups=groups, seed=seed
                )
            confounds = _confounds(rated, column, human, covariates, figures["spearman"])
            figures["confounds"] = tuple(confounds)
            figures |= _system_level(column, human, systems, seed)
            if comparison is not None:
                figures |= _difference(name, comparison, baseline)
        few = f"{plural(n, 'item')}: a rough guide" if n < FEW else ""
        figures |= {"trivial": name in trivial, "n": n, "why": undefined[name] or few}
        figures |= {field: value for field, value in column._asdict().items() if field != "values"}
        rows.append(Row(points=points[name], **figures))
    rows.sort(key=lambda row: -row.spearman.value if row.spearman else 2.0)
    annotators = [item.ratings.get(aspect, ()) for item in rated.items]
    overlaps = ", ".join(rated.set.overlaps)
    shares = f"Shares conversations with {overlaps}: not independent evidence." if overlaps else ""
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
        rows=tuple(rows),
        comparisons=comparison.comparisons if comparison is not None else (),
        system_count=len({system for system in systems if system is not None}),
        note=" ".join(filter(None, (rated.set.note, shares))),
        problems=rated.problems,
    )


def _if_defined(
    statistic: Callable[Params, Result], *args: Params.args, **options: Params.kwargs
) -> Result | None:
    try:
        return statistic(*args, **options)
    except InputError:
        return None


def _undefined(column: Column, points: Points) -> str:
    """Return why the correlation is undefined; empty if it is defined."""
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


def _difference(metric: str, comparison: Ranking, baseline: str) -> dict[str, Any]:
    """Return the difference of a metric to the baseline, and its cluster."""
    found: dict[str, Any] = {}
    for pair in comparison.comparisons:
        if {pair.first, pair.second} == {metric, baseline}:
            found["versus"] = pair.difference if pair.first == metric else -pair.difference
            found["p_value"] = pair.p_value
    for number, names in enumerate(comparison.clusters, start=1):
        if metric in names:
            found["cluster"] = number
    return found


def _system_level(
    column: Column, human: Sequence[float | None], systems: Sequence[str | None], seed: int
) -> dict[str, Any]:
    """Return the agreement of the means of systems; empty if fewer than two are named."""
    kept = [i for i, system in enumerate(systems) if system is not None]
    names = [str(systems[i]) for i in kept]
    if (count := len(set(names))) < FEWEST_SYSTEMS:
        why = (
            f"{count} systems: no correlation of fewer than {FEWEST_SYSTEMS}, which chance decides"
        )
        return {"system_why": why} if count > 1 else {}
    values, ratings = [column.values[i] for i in kept], [human[i] for i in kept]
    try:
        spearman, pearson = (
            system_level(values, ratings, names, kind=kind, seed=seed)
            for kind in ("spearman", "pearson")
        )
    except InputError as error:
        return {"system_why": str(error)}
    return {
        "system_spearman": spearman.correlation,
        "system_pearson": pearson.correlation,
        "accuracy": spearman.accuracy,
    }


def _covariates(rated: Rated) -> dict[str, list[float]]:
    """Return length, number of turns and word overlap of each item."""
    judged = slice(-1, None) if rated.set.level == "turn" else slice(None)

    def overlap(item: Item) -> float:
        shares = []
        for before, after in list(pairwise(item.conversation.turns))[judged]:
            words = set(WORDS.findall(after.text.lower()))
            both = words.intersection(WORDS.findall(before.text.lower()))
            shares.append(len(both) / len(words) if words else 0.0)
        return sum(shares) / len(shares) if shares else 0.0

    texts = [[turn.text for turn in item.conversation.turns[judged]] for item in rated.items]
    return {
        "length": [math.log(1 + sum(len(text.split()) for text in each)) for each in texts],
        "turns": [float(len(item.conversation.turns)) for item in rated.items],
        "overlap": [overlap(item) for item in rated.items],
    }


def _confounds(
    rated: Rated,
    column: Column,
    human: Sequence[float | None],
    covariates: dict[str, list[float]],
    plain: Estimate,
) -> Iterable[Confound]:
    """Yield partial correlations given each covariate, all of them, and the system."""
    values = column.values
    groups = rated.groups
    varying = [given for given in covariates.values() if np.ptp(given) > 0]
    held = {name: [given] for name, given in covariates.items()}
    if len(varying) > 1:
        held[ALL] = varying
    found = {
        name: _if_defined(partial_correlation, values, human, given, groups=groups)
        for name, given in held.items()
    }
    systems = [item.system for item in rated.items]
    large = {name for name in systems if name is not None and systems.count(name) >= FEW}
    if len(large) > 1:
        kept = [i for i, system in enumerate(systems) if system in large]
        own, ratings = [values[i] for i in kept], [human[i] for i in kept]
        names = [str(systems[i]) for i in kept]
        found[WITHIN] = _if_defined(correlation_within, own, ratings, names)
    surely = plain.side(0) in ("above", "below")
    for name, left in found.items():
        yield Confound(name, left, left.value / plain.value if left and surely else None)
