"""Two files of scores: differences, their significance, and the replies that moved most."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.errors import InputError, plural
from grice.evaluation.scores import read_scores
from grice.evaluation.table import STATUSES, Ids, MetricScores, ScoreTable, metric_range, read_table
from grice.readers import read
from grice.records import Conversation, FeatureEvidence, Score, TripleEvidence, TurnEvidence
from grice.stats.comparison import Comparison, Ranking, holm, verdict
from grice.stats.estimate import FEW, Estimate
from grice.stats.systems import Power, Sample, compare_systems, compare_unpaired, items_needed
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.records import Evidence, Triple
    from grice.stats.inputs import Floats, Integers


ITEMS = 3
"""How many items are shown of a conversation that moved."""
CHANGES = 5
"""How many changes of evidence are kept per item."""
NAMED = 5
"""How many items that stand in one file only are named."""
BASELINE, OTHER = "baseline", "other"
DIFFERENT = {"first higher": "higher than", "second higher": "lower than"}
"""The verdicts on a difference that is surely not zero, in words."""


class EvidenceChange(msgspec.Struct, frozen=True):
    """One piece of evidence that differs."""

    what: str
    measure: str
    baseline: float | None
    other: float | None


class MovedItem(msgspec.Struct, frozen=True):
    """One item whose score changed.

    Attributes:
        changes: Differences of its evidence, the largest first.
    """

    turn: int | None
    baseline: float
    other: float
    changes: tuple[EvidenceChange, ...]
    text: str = ""


class MovedConversation(msgspec.Struct, frozen=True):
    """One of the conversations that moved most.

    Attributes:
        difference: Mean of its scores in the second file less that in the first.
    """

    conversation: str
    difference: float
    items: tuple[MovedItem, ...]


class Joined(NamedTuple):
    """The items of one metric that are ``ok`` in both files."""

    items: Integers
    conversations: Integers
    baseline: Floats
    other: Floats

    @property
    def units(self) -> int:
        """How many conversations the items come from."""
        return len(np.unique(self.conversations))

    def furthest(self, most: int) -> list[tuple[int, float]]:
        """Return number and mean difference of the conversations that moved most."""
        if not len(self.items):
            return []
        numbers, codes = np.unique(self.conversations, return_inverse=True)
        means = np.bincount(codes, self.other - self.baseline) / np.bincount(codes)
        order = np.argsort(-np.abs(means), kind="stable")[:most]
        return [(int(numbers[i]), float(means[i])) for i in order if means[i] != 0]


def join(baseline: MetricScores, other: MetricScores) -> Joined:
    """Return the items that are ``ok`` on both sides."""
    items, a, b = np.intersect1d(
        baseline.items, other.items, assume_unique=True, return_indices=True
    )
    both = ~(np.isnan(baseline.values[a]) | np.isnan(other.values[b]))
    items, a, b = items[both], a[both], b[both]
    return Joined(items, baseline.conversations[a], baseline.values[a], other.values[b])


def moved_conversations(
    files: Sequence[str], joins: Mapping[str, Joined], ids: Ids, most: int, texts: str | None
) -> dict[str, tuple[MovedConversation, ...]]:
    """Return the conversations that moved most, by metric, furthest first."""
    furthest = {name: joined.furthest(most) for name, joined in joins.items()}
    wanted = {(name, number) for name, moved in furthest.items() for number, _ in moved}
    names = ids.names()
    evidence = [
        {
            (score.metric, ids.item(score.conversation, score.turn)): score
            for _, score in read_scores(file)
            if (score.metric, ids.number(score.conversation)) in wanted
        }
        for file in files
    ]
    turns = {} if texts is None else _texts(texts, {names[number] for _, number in wanted})
    return {
        name: tuple(
            MovedConversation(
                names[number],
                gap,
                tuple(_items(name, joins[name], number, evidence, turns.get(names[number], ()))),
            )
            for number, gap in moved
        )
        for name, moved in furthest.items()
    }


def _texts(file: str, wanted: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the turns of conversations, by id."""
    kept = {
        record.id: tuple(turn.text for turn in record.turns)
        for record in read(file)
        if isinstance(record, Conversation) and record.id in wanted
    }
    if wanted and not kept:
        raise InputError(
            f"{file}: none of the conversations that moved is in it, such as "
            f"{min(wanted)!r}; give the file that was scored"
        )
    return kept


def _items(
    metric: str,
    joined: Joined,
    number: int,
    evidence: Sequence[Mapping[tuple[str, int], Score]],
    turns: Sequence[str],
) -> list[MovedItem]:
    places = np.flatnonzero(joined.conversations == number)
    change = joined.other[places] - joined.baseline[places]
    items = []
    for place in places[np.argsort(-np.abs(change), kind="stable")][:ITEMS]:
        before, after = (scores[metric, int(joined.items[place])] for scores in evidence)
        items.append(
            MovedItem(
                before.turn,
                float(joined.baseline[place]),
                float(joined.other[place]),
                evidence_changes(before.evidence, after.evidence),
                "" if before.turn is None or before.turn >= len(turns) else turns[before.turn],
            )
        )
    return items


def evidence_changes(
    baseline: Sequence[Evidence], other: Sequence[Evidence]
) -> tuple[EvidenceChange, ...]:
    """Return the pieces whose value differs or that one side alone has, largest change first."""
    first, second = (dict(map(_measured, side)) for side in (baseline, other))
    changes = [
        EvidenceChange(*key, first.get(key), second.get(key))
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]

    def size(change: EvidenceChange) -> float:
        return abs((change.other or 0.0) - (change.baseline or 0.0))

    return tuple(sorted(changes, key=size, reverse=True)[:CHANGES])


def _measured(piece: Evidence) -> tuple[tuple[str, str], float]:
    match piece:
        case TripleEvidence(plausibility=plausibility):
            return (worded(piece.triple), "plausibility"), plausibility
        case TurnEvidence(turn=turn, effect=effect):
            return (f"turn {turn}", "effect"), effect
        case FeatureEvidence(name=name, value=value, effect=effect):
            return ((name, "value"), value) if effect is None else ((name, "effect"), effect)


def worded(triple: Triple) -> str:
    """Return a triple in words."""
    return f"{triple.head} —{triple.relation}→ {triple.tail}"


class MetricDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in two files.

    Attributes:
        baseline: Mean over the shared items in the first file; None if it cannot be told.
        comparison: Second less first, p-value corrected over the metrics; None likewise.
        power: How many conversations more it would take; None unless the difference is not
            distinguishable from zero.
        pairs: Items with a value in both files.
        unpaired: Items by their two statuses, such as ``ok/abstained``, if not both are ``ok``.
    """

    metric: str
    says: str
    baseline: Estimate | None
    other: Estimate | None
    comparison: Comparison | None
    power: Power | None = None
    pairs: int = 0
    unpaired: dict[str, int] = {}
    only_baseline: int
    only_other: int
    named: tuple[str, ...] = ()
    signatures: tuple[tuple[str, ...], tuple[str, ...]]
    moved: tuple[MovedConversation, ...] = ()


class CompareResult(msgspec.Struct, frozen=True):
    """Two files of scores.

    Attributes:
        paired: Whether the same items were compared; if not, means over other conversations each.
    """

    baseline: str
    other: str
    metrics: tuple[MetricDifference, ...]
    left_out: tuple[str, ...]
    level: float
    seed: int
    paired: bool = True


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

    If they share no conversation, means over the conversations of each are compared instead.

    Args:
        other: The second file; differences are second less first.
        across_signatures: Compare also where the two files were not computed alike.
        difference: The smallest difference worth finding, for the number of conversations that
            would be needed; by default the one that was found.
        moved: How many conversations to name that moved most.
        texts: File of the scored conversations, to show what was judged where it moved.

    Raises:
        InputError: If the files share no metric, share conversations but no item of them, or were
            not computed alike.
    """
    if "-" in (baseline, other):
        raise InputError("compare reads its files twice; standard input can be read once only")
    ids = Ids()
    first, second = (read_table(file, ids).check_unique() for file in (baseline, other))
    sides = _shared_metrics(first, second, across_signatures=across_signatures)
    paired = any(len(np.intersect1d(a.items, b.items)) for a, b in sides.values())
    if paired:
        joins = {name: join(a, b) for name, (a, b) in sides.items()}
        tests = _corrected(
            {
                name: compare_systems(
                    {BASELINE: joined.baseline, OTHER: joined.other},
                    groups=joined.conversations,
                    baseline=BASELINE,
                    bounds=metric_range(
                        name, sides[name][0].signatures[0], joined.baseline, joined.other
                    ),
                    level=level,
                    seed=seed,
                )
                for name, joined in joins.items()
                if joined.units > 1
            },
            level,
        )
        furthest = moved_conversations((baseline, other), joins, ids, moved, texts)
        metrics = [
            _paired(name, joined, (first, second), tests.get(name), furthest[name], difference)
            for name, joined in joins.items()
        ]
    else:
        _check_apart(first, second, sides)
        tests = _corrected(_unpaired_tests(sides, level), level)
        metrics = [
            _difference(name, a, b, tests.get(name), _unpaired_says(name, tests.get(name)))
            for name, (a, b) in sides.items()
        ]
    left_out = tuple(
        f"{name}: {have.source} alone has it"
        for have, lack in ((first, second), (second, first))
        for name in have.metrics
        if name not in lack.metrics
    )
    return CompareResult(baseline, other, tuple(metrics), left_out, level, seed, paired)


Sides: TypeAlias = dict[str, tuple[MetricScores, MetricScores]]
"""The scores of each metric in the first and in the second file."""


def _shared_metrics(first: ScoreTable, second: ScoreTable, *, across_signatures: bool) -> Sides:
    """Return the metrics that both files have, or refuse to compare them."""
    shared = [name for name in first.metrics if name in second.metrics]
    if not shared:
        raise InputError(
            f"no metric in common: {first.source} has {', '.join(first.metrics)}, "
            f"{second.source} has {', '.join(second.metrics)}"
        )
    for name in shared if not across_signatures else ():
        a, b = first.metrics[name].signatures, second.metrics[name].signatures
        if len(a) == 1 and a == b:
            continue
        lines = "".join(
            f"\n  {part.source}: {signature}"
            for part, signatures in ((first, a), (second, b))
            for signature in signatures
        )
        raise InputError(
            f"{name} was not computed alike, so its numbers do not compare:{lines}\n"
            "  score both with the same version, models and options, or give "
            "--across-signatures if the change of the metric is what you want to see"
        )
    return {name: (first.metrics[name], second.metrics[name]) for name in shared}


def _check_apart(first: ScoreTable, second: ScoreTable, sides: Sides) -> None:
    """Refuse runs over the same conversations of which other turns were judged."""
    shared = np.intersect1d(
        np.concatenate([a.conversations for a, _ in sides.values()]),
        np.concatenate([b.conversations for _, b in sides.values()]),
    )
    if len(shared):
        raise InputError(
            f"{first.source} and {second.source} share {plural(len(shared), 'conversation')}, but "
            "no turn of them was judged in both: score the same turns in both (--speaker)"
        )


def _unpaired_tests(sides: Sides, level: float) -> dict[str, Ranking]:
    """Return the test of each metric over other conversations on each side, if there is one."""
    tests = {}
    for name, (baseline, other) in sides.items():
        given = [side.values[np.isfinite(side.values)] for side in (baseline, other)]
        samples = {
            side: Sample(scores.values, scores.conversations.tolist())
            for side, scores in ((OTHER, other), (BASELINE, baseline))
        }
        bounds = metric_range(name, baseline.signatures[0], *given)
        if all(map(len, given)) and (test := compare_unpaired(samples, bounds=bounds, level=level)):
            tests[name] = test
    return tests


def _corrected(tests: Mapping[str, Ranking], level: float) -> dict[str, Ranking]:
    """Return tests with p-values and verdicts that allow for the number of metrics."""
    p_values = holm([test.comparisons[0].p_single for test in tests.values()])
    decided = {}
    for (name, test), p in zip(tests.items(), p_values, strict=True):
        [comparison] = test.comparisons
        outcome = verdict(comparison.difference.value, p, level)
        comparison = replace(comparison, p_value=p, correction="holm", verdict=outcome)
        decided[name] = replace(test, comparisons=(comparison,))
    return decided


def _difference(
    name: str, a: MetricScores, b: MetricScores, test: Ranking | None, says: str
) -> MetricDifference:
    """Return what paired and unpaired comparisons have in common."""
    return MetricDifference(
        metric=name,
        says=says,
        baseline=test.estimates[BASELINE] if test else None,
        other=test.estimates[OTHER] if test else None,
        comparison=test.comparisons[0] if test else None,
        only_baseline=len(np.setdiff1d(a.items, b.items)),
        only_other=len(np.setdiff1d(b.items, a.items)),
        signatures=(a.signatures, b.signatures),
    )


def _paired(
    name: str,
    joined: Joined,
    tables: tuple[ScoreTable, ScoreTable],
    test: Ranking | None,
    moved: tuple[MovedConversation, ...],
    worth: float | None,
) -> MetricDifference:
    a, b = (table.metrics[name] for table in tables)
    power = None
    if test and test.comparisons[0].verdict not in DIFFERENT:
        gap = test.comparisons[0].difference
        if size := worth or abs(gap.value):
            sides = (joined.other, joined.baseline)
            groups = joined.conversations
            power = items_needed(*sides, difference=size, groups=groups, level=gap.level)
    _, at, bt = np.intersect1d(a.items, b.items, assume_unique=True, return_indices=True)
    codes = a.statuses[at].astype(np.int64) * len(STATUSES) + b.statuses[bt]
    counts = np.bincount(codes, minlength=len(STATUSES) ** 2)
    only = np.setdiff1d(a.items, b.items), np.setdiff1d(b.items, a.items)
    return replace(
        _difference(name, a, b, test, _says(name, joined, test, power, given=worth is not None)),
        power=power,
        pairs=len(joined.items),
        unpaired={
            f"{STATUSES[code // len(STATUSES)]}/{STATUSES[code % len(STATUSES)]}": int(count)
            for code, count in enumerate(counts)
            if code and count
        },
        named=tuple(
            f"{table.ids.describe(int(item))} only in {table.source}"
            for table, items in zip(tables, only, strict=True)
            for item in items[:NAMED]
        ),
        moved=moved,
    )


def _says(
    name: str, joined: Joined, test: Ranking | None, power: Power | None, *, given: bool
) -> str:
    if test is None:
        return (
            f"{name}: {plural(len(joined.items), 'item')} of "
            f"{plural(joined.units, 'conversation')} with a value in both files; "
            "nothing can be said of a difference with fewer than two conversations"
        )
    [comparison] = test.comparisons
    gap = comparison.difference
    units = f"{gap.groups} conversations"
    figures = (
        f"{with_interval(gap, '+.3f', '.3f')}, p {comparison.p_value:.2g}, n {gap.n} in {units}"
    )
    rough = f"; fewer than {FEW} conversations: a rough guide" if (gap.groups or 0) < FEW else ""
    if comparison.verdict not in DIFFERENT:
        return (
            f"{name}: not distinguishable at this n ({figures}){_more(power, given=given)}{rough}"
            f"{_why_not(comparison)}"
        )
    return f"{name}: {DIFFERENT[comparison.verdict]} the baseline ({figures}){rough}"


def _more(power: Power | None, *, given: bool) -> str:
    if power is None:
        return ""
    size = f"a difference of {power.difference:.3g}" if given else "a difference of this size"
    if power.more == 0:
        return f"; the {power.now:,} {power.unit} would show {size} with {power.power:.0%} power"
    return f"; about {power.more:,} more {power.unit} would be needed to find {size}"


def _unpaired_says(name: str, test: Ranking | None) -> str:
    if test is None:
        return f"{name}: fewer than two conversations with a value on a side: nothing can be said"
    [comparison] = test.comparisons
    gap = comparison.difference
    baseline, other = test.estimates[BASELINE], test.estimates[OTHER]
    sides = f"{baseline.groups} and {other.groups} conversations"
    figures = f"{with_interval(gap, '+.3f', '.3f')}, p {comparison.p_value:.2g}, {sides}"
    outcome = DIFFERENT.get(comparison.verdict, "not distinguishable at this n from")
    rough = f"; {gap.note}" if gap.note else ""
    rough += _why_not(comparison)
    return f"{name}: {outcome} the baseline ({figures}), unpaired{rough}"


def _why_not(comparison: Comparison) -> str:
    """Return why a difference is not distinguishable although its interval leaves out 0."""
    gap = comparison.difference
    if comparison.verdict in DIFFERENT or gap.side(0) not in ("above", "below"):
        return ""
    if comparison.p_single <= 1 - gap.level:
        return "; the interval alone leaves out 0, the p-value is corrected over all metrics"
    return "; the interval leaves out 0, the permutation test does not reject"
