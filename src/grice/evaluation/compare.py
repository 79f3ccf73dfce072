"""Two files of scores over the same items: what changed, how surely, where, and through what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.evaluation.evidence import EvidenceChange, evidence_changes
from grice.evaluation.scores import (
    STATUSES,
    Ids,
    MetricScores,
    ScoreSet,
    metric_range,
    read_rows,
    read_scores,
)
from grice.formats import read
from grice.records import Conversation, Score
from grice.stats.comparison import Comparison, holm, verdict
from grice.stats.estimate import FEW, Estimate
from grice.stats.inputs import Floats, Integers
from grice.stats.systems import Power, compare_systems, items_needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CompareResult", "MetricDifference", "MovedConversation", "MovedItem", "compare"]

BASELINE, OTHER = "baseline", "other"
NAMED = 5
"""How many items that stand in one file only are named."""
ITEMS = 3
"""How many items are shown of a conversation that moved."""


class MovedItem(msgspec.Struct, frozen=True):
    """One item whose score changed.

    Attributes:
        turn: The turn; None for a score of the whole conversation.
        baseline: Its score in the first file.
        other: Its score in the second.
        changes: What it rests on, where that differs, the largest change first.
        text: The judged turn; empty if no conversations were given, or for a whole conversation.
    """

    turn: int | None
    baseline: float
    other: float
    changes: tuple[EvidenceChange, ...]
    text: str = ""


class MovedConversation(msgspec.Struct, frozen=True):
    """One of the conversations that moved most.

    Attributes:
        conversation: Its id.
        difference: Mean of its scores in the second file less that in the first.
        items: The items that moved most.
    """

    conversation: str
    difference: float
    items: tuple[MovedItem, ...]


class MetricDifference(msgspec.Struct, frozen=True):
    """One metric in two files.

    Attributes:
        metric: Its name.
        says: The outcome in one sentence.
        baseline: Mean over the shared items in the first file; None if it cannot be told.
        other: Mean over the same items in the second; likewise.
        comparison: Second less first, p-value corrected over the metrics; None likewise.
        power: How many conversations more it would take; None if the two are told apart.
        pairs: Items with status ``ok`` in both files.
        unpaired: Items by their two statuses, such as ``ok/abstained``, if not both are ``ok``.
        only_baseline: Items that the first file alone has.
        only_other: Items that the second file alone has.
        named: The first of these in words.
        signatures: What exactly was computed: those of the first file, then those of the second.
        moved: Conversations that moved most, furthest first.
    """

    metric: str
    says: str
    baseline: Estimate | None
    other: Estimate | None
    comparison: Comparison | None
    power: Power | None
    pairs: int
    unpaired: dict[str, int]
    only_baseline: int
    only_other: int
    named: tuple[str, ...]
    signatures: tuple[tuple[str, ...], tuple[str, ...]]
    moved: tuple[MovedConversation, ...]


class CompareResult(msgspec.Struct, frozen=True):
    """Two files of scores.

    Attributes:
        baseline: Name of the first file.
        other: Name of the second.
        metrics: One entry for each metric that both have.
        left_out: What was not compared and why, one line each.
        level: Confidence level.
        seed: Seed of swaps.
    """

    baseline: str
    other: str
    metrics: tuple[MetricDifference, ...]
    left_out: tuple[str, ...]
    level: float
    seed: int


class _Joined(NamedTuple):
    """The items of one metric that are ``ok`` in both files."""

    items: Integers
    conversations: Integers
    baseline: Floats
    other: Floats


def compare(
    baseline: str,
    other: str,
    *,
    across_signatures: bool = False,
    difference: float | None = None,
    moved: int = 5,
    texts: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> CompareResult:
    """Compare two files that ``grice score`` wrote, item by item.

    Args:
        baseline: The first file.
        other: The second file; differences are second less first.
        across_signatures: Compare also where the two files were not computed alike.
        difference: The smallest difference worth finding, for the number of conversations that
            would be needed; by default the one that was found.
        moved: How many conversations to name that moved most.
        texts: File of the scored conversations, to show what was judged where it moved.
        level: Confidence level.
        seed: Seed of swaps.

    Raises:
        InputError: If the files share no metric or no item, or were not computed alike.
    """
    if "-" in (baseline, other):
        raise InputError("compare reads its files twice; standard input can be read once only")
    ids = Ids()
    first, second = read_scores(baseline, ids), read_scores(other, ids)
    shared = [name for name in first.metrics if name in second.metrics]
    if not shared:
        raise InputError(
            f"no metric in common: {baseline} has {', '.join(first.metrics)}, "
            f"{other} has {', '.join(second.metrics)}"
        )
    if not across_signatures:
        _check_signatures(first, second, shared)
    joins = {name: _join(first.metrics[name], second.metrics[name]) for name in shared}
    if not any(len(np.intersect1d(first.metrics[n].items, second.metrics[n].items)) for n in joins):
        raise InputError(
            f"{baseline} and {other} share no item: conversations and turns must have the same "
            "ids and indices in both"
        )
    tests = {
        name: _test(name, join, level, seed)
        for name, join in joins.items()
        if len(np.unique(join.conversations)) > 1
    }
    corrected = dict(zip(tests, holm([test[2].p_single for test in tests.values()]), strict=True))
    furthest = {name: _furthest(join, moved) for name, join in joins.items()}
    evidence = [_evidence(file, ids, furthest) for file in (baseline, other)]
    judged = _texts(texts, ids, furthest) if texts is not None else {}
    metrics = []
    for name, join in joins.items():
        means = None
        if name in tests:
            one = tests[name][2]
            p = corrected[name]
            means = (
                *tests[name][:2],
                msgspec.structs.replace(
                    one,
                    p_value=p,
                    correction="holm",
                    verdict=verdict(one.difference.value, p, level),
                ),
            )
        found = [
            _moved(join, number, gap, name, ids, evidence, judged) for number, gap in furthest[name]
        ]
        metrics.append(
            _difference(name, join, means, first, second, tuple(found), difference, level)
        )
    left_out = [
        f"{name}: {have.file} alone has it"
        for have, lack in ((first, second), (second, first))
        for name in have.metrics
        if name not in lack.metrics
    ]
    return CompareResult(baseline, other, tuple(metrics), tuple(left_out), level, seed)


def _check_signatures(first: ScoreSet, second: ScoreSet, shared: Sequence[str]) -> None:
    for name in shared:
        a, b = first.metrics[name].signatures, second.metrics[name].signatures
        if len(a) == 1 and a == b:
            continue
        lines = "".join(
            f"\n  {part.file}: {signature}"
            for part, signatures in ((first, a), (second, b))
            for signature in signatures
        )
        raise InputError(
            f"{name} was not computed alike, so its numbers do not compare:{lines}\n"
            "  score both with the same version, models and options, or give "
            "--across-signatures if the change of the metric is what you want to see"
        )


def _join(first: MetricScores, second: MetricScores) -> _Joined:
    items, a, b = np.intersect1d(first.items, second.items, assume_unique=True, return_indices=True)
    both = ~(np.isnan(first.values[a]) | np.isnan(second.values[b]))
    items, a, b = items[both], a[both], b[both]
    return _Joined(items, first.conversations[a], first.values[a], second.values[b])


def _test(
    name: str, join: _Joined, level: float, seed: int
) -> tuple[Estimate, Estimate, Comparison]:  # fmt: skip
    found = compare_systems(
        {BASELINE: join.baseline, OTHER: join.other},
        groups=join.conversations,
        baseline=BASELINE,
        bounds=metric_range(name, join.baseline, join.other),
        level=level,
        seed=seed,
    )
    return found.means[BASELINE], found.means[OTHER], found.comparisons[0]


def _difference(
    name: str,
    join: _Joined,
    means: tuple[Estimate, Estimate, Comparison] | None,
    first: ScoreSet,
    second: ScoreSet,
    moved: tuple[MovedConversation, ...],
    worth: float | None,
    level: float,
) -> MetricDifference:
    a, b = first.metrics[name], second.metrics[name]
    only_a, only_b = np.setdiff1d(a.items, b.items), np.setdiff1d(b.items, a.items)
    named = [
        f"{first.ids.tell(int(item))} only in {part.file}"
        for part, items in ((first, only_a), (second, only_b))
        for item in items[:NAMED]
    ]
    comparison = means[2] if means else None
    power = None
    if comparison and comparison.verdict == "not told apart at this n":
        power = _power(join, worth or abs(comparison.difference.value), level)
    return MetricDifference(
        name,
        _says(name, join, comparison, power, given=worth is not None),
        means[0] if means else None,
        means[1] if means else None,
        comparison,
        power,
        len(join.items),
        _unpaired(a, b),
        len(only_a),
        len(only_b),
        tuple(named),
        (a.signatures, b.signatures),
        moved,
    )


def _unpaired(a: MetricScores, b: MetricScores) -> dict[str, int]:
    _, at, bt = np.intersect1d(a.items, b.items, assume_unique=True, return_indices=True)
    codes = a.statuses[at].astype(np.int64) * len(STATUSES) + b.statuses[bt]
    counts = np.bincount(codes, minlength=len(STATUSES) ** 2)
    return {
        f"{STATUSES[code // len(STATUSES)]}/{STATUSES[code % len(STATUSES)]}": int(counts[code])
        for code in range(1, len(counts))
        if counts[code]
    }


def _power(join: _Joined, worth: float, level: float) -> Power | None:
    if worth <= 0 or len(np.unique(join.conversations)) < 2:
        return None
    return items_needed(
        join.other, join.baseline, difference=worth, groups=join.conversations, level=level
    )


def _says(
    name: str,
    join: _Joined,
    comparison: Comparison | None,
    power: Power | None,
    *,
    given: bool,
) -> str:
    if comparison is None:
        units = len(np.unique(join.conversations))
        return (
            f"{name}: {plural(len(join.items), 'item')} of {plural(units, 'conversation')} "
            "with a value in both files; "
            "nothing can be said of a difference with fewer than two conversations"
        )
    gap = comparison.difference
    interval = "" if gap.low is None else f" [{gap.low:.3f}, {gap.high:.3f}]"
    found = (
        f"{gap.value:+.3f}{interval}, p {comparison.p_value:.2g}, n {gap.n} in {gap.groups} "
        f"conversations"
    )
    rough = f"; fewer than {FEW} conversations: a rough guide" if (gap.groups or 0) < FEW else ""
    if comparison.verdict != "not told apart at this n":
        higher = "higher" if comparison.verdict == "first higher" else "lower"
        return f"{name}: {higher} than the baseline ({found}){rough}"
    return f"{name}: not told apart at this n ({found}){_more(power, given=given)}{rough}"


def _more(power: Power | None, *, given: bool) -> str:
    if power is None:
        return ""
    size = f"a difference of {power.difference:.3g}" if given else "a difference of this size"
    if power.more == 0:
        return f"; the {power.now:,} {power.unit} would show {size} with {power.power:.0%} power"
    return f"; about {power.more:,} more {power.unit} would be needed to find {size}"


def _furthest(join: _Joined, most: int) -> list[tuple[int, float]]:
    """Return number and mean difference of the conversations that moved most."""
    if not len(join.items):
        return []
    numbers, codes = np.unique(join.conversations, return_inverse=True)
    means = np.bincount(codes, join.other - join.baseline) / np.bincount(codes)
    order = np.argsort(-np.abs(means), kind="stable")[:most]
    return [(int(numbers[i]), float(means[i])) for i in order if means[i] != 0]


def _evidence(
    file: str, ids: Ids, furthest: Mapping[str, Sequence[tuple[int, float]]]
) -> dict[tuple[str, int], Score]:
    """Return the whole scores of the conversations that moved, by metric and item."""
    wanted = {(name, number) for name, found in furthest.items() for number, _ in found}
    kept = {}
    for _, score in read_rows(file, Score):
        if (score.metric, ids.number(score.conversation)) in wanted:
            kept[score.metric, ids.item(score.conversation, score.turn)] = score
    return kept


def _texts(
    file: str, ids: Ids, furthest: Mapping[str, Sequence[tuple[int, float]]]
) -> dict[str, tuple[str, ...]]:
    """Return the turns of the conversations that moved, by id.

    Raises:
        InputError: If none of them is in the file.
    """
    names = ids.names()
    wanted = {names[number] for found in furthest.values() for number, _ in found}
    kept = {
        one.id: tuple(turn.text for turn in one.turns)
        for one in read(file)
        if isinstance(one, Conversation) and one.id in wanted
    }
    if wanted and not kept:
        raise InputError(
            f"{file}: none of the conversations that moved is in it, such as "
            f"{sorted(wanted)[0]!r}; give the file that was scored"
        )
    return kept


def _moved(
    join: _Joined,
    number: int,
    gap: float,
    metric: str,
    ids: Ids,
    evidence: Sequence[Mapping[tuple[str, int], Score]],
    judged: Mapping[str, Sequence[str]],
) -> MovedConversation:
    places = np.flatnonzero(join.conversations == number)
    change = join.other[places] - join.baseline[places]
    order = places[np.argsort(-np.abs(change), kind="stable")][:ITEMS]
    items = []
    turns = judged.get(ids.names()[number], ())
    for place in order:
        before, after = (kept[metric, int(join.items[place])] for kept in evidence)
        items.append(
            MovedItem(
                before.turn,
                float(join.baseline[place]),
                float(join.other[place]),
                evidence_changes(before.evidence, after.evidence),
                "" if before.turn is None or before.turn >= len(turns) else turns[before.turn],
            )
        )
    return MovedConversation(ids.names()[number], gap, tuple(items))
