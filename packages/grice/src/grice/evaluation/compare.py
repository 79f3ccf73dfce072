"""Two runs: differences, their significance, and the replies that moved most.

Of two files of scores, the metrics are compared; of two files of conversations, the shares of
replies with findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.data import (
    Conversation,
    Evidence,
    FeatureEvidence,
    Finding,
    Score,
    Triple,
    TripleEvidence,
    TurnEvidence,
)
from grice.detectors import ALL
from grice.detectors.rules import selected
from grice.errors import InputError, plural
from grice.evaluation.rates import (
    ANY,
    CheckedLog,
    check_log,
    holds_conversations,
    missing_in,
    rate_tables,
)
from grice.evaluation.scores import read_scores
from grice.evaluation.table import (
    STATUSES,
    TURN_BITS,
    Ids,
    MetricScores,
    ScoreTable,
    metric_range,
    read_table,
)
from grice.readers import read
from grice.stats.comparison import (
    Comparison,
    Power,
    Ranking,
    compare_systems,
    compare_unpaired,
    holm,
    items_needed,
    verdict,
)
from grice.stats.estimate import FEW, Estimate

ITEMS, CHANGES = 3, 5
"""Number of changed items shown per conversation, and of changes of evidence per item."""
NAMED = 5  # number of unmatched items that are named
BASELINE, OTHER = "baseline", "other"
DIFFERENT = {"first higher": "higher than", "second higher": "lower than"}
Sides: TypeAlias = dict[str, tuple[MetricScores, MetricScores]]
"""The scores of each metric in the first and in the second file."""


class EvidenceChange(msgspec.Struct, frozen=True):
    """A piece of evidence that differs; None on a side that lacks it."""

    what: str
    measure: str
    baseline: float | None
    other: float | None


class MovedItem(msgspec.Struct, frozen=True):
    """An item whose score changed, with the largest changes of its evidence."""

    turn: int | None
    baseline: float
    other: float
    changes: tuple[EvidenceChange, ...]
    text: str = ""


class MovedConversation(msgspec.Struct, frozen=True):
    """One of the conversations that moved most, with its mean difference."""

    conversation: str
    difference: float
    items: tuple[MovedItem, ...]


class MetricDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in two files; figures are None if undefined."""

    metric: str
    says: str
    baseline: Estimate | None  # mean over the shared items
    other: Estimate | None
    comparison: Comparison | None  # second less first, p-value corrected over the metrics
    power: Power | None = None  # conversations needed, if the difference is not significant
    pairs: int  # items with a value in both files
    unpaired: dict[str, int] = {}  # other items by their two statuses, such as ok/abstained
    only_baseline: int
    only_other: int
    named: tuple[str, ...] = ()
    signatures: tuple[tuple[str, ...], tuple[str, ...]]
    moved: tuple[MovedConversation, ...] = ()


class CompareResult(msgspec.Struct, frozen=True):
    """Two runs; if not ``paired``, means over different conversations.

    Of conversations, ``metrics`` are shares of replies with a finding, by the code of the rule.

    Attributes:
        new, resolved: Findings in the same conversations that only the other file has, and those
            that only the baseline has.
    """

    baseline: str
    other: str
    metrics: tuple[MetricDifference, ...]
    left_out: tuple[str, ...]
    level: float
    seed: int
    paired: bool = True
    rules: dict[str, str] = {}  # title of each rule by its code, if conversations are compared
    new: tuple[Finding, ...] = ()
    resolved: tuple[Finding, ...] = ()

    @property
    def of_findings(self) -> bool:
        """Whether findings are compared, not scores."""
        return self.metrics[0].metric == ANY


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
    """Compare two runs item by item; differences are second minus first.

    Both files hold scores, or both hold conversations, which the default rules then check. Files
    without a common conversation are compared by their means over conversations.
    ``difference`` is the smallest relevant one, by default the observed one; ``moved`` is the most
    conversations to name, and ``texts`` a file of them, to show the changed turns.

    Raises:
        InputError: If the files share no metric, share conversations but no judged turn of them,
            or differ in a signature without ``across_signatures``.
    """
    if "-" in (baseline, other):
        raise InputError("compare reads its files twice, which is not possible with standard input")
    ids = Ids()
    logs = _logs(baseline, other, ids)
    if logs and texts is not None:
        raise InputError(
            "--texts is for files of scores, and these hold conversations: leave it out"
        )
    tables = rate_tables(*logs) if logs else (read_table(baseline, ids), read_table(other, ids))
    first, second = tables
    sides = _shared_metrics(first, second, across_signatures=across_signatures)
    paired = any(len(np.intersect1d(a.items, b.items)) for a, b in sides.values())
    if not paired:
        numbers = [
            np.concatenate([pair[i].conversations for pair in sides.values()]) for i in (0, 1)
        ]
        if shared := len(np.intersect1d(numbers[0], numbers[1])):
            raise InputError(
                f"{baseline} and {other} share {plural(shared, 'conversation')}, but no turn of "
                "them was judged in both: score the same turns in both (--speaker)"
            )
    joined = {name: _both_ok(*pair) if paired else pair for name, pair in sides.items()}
    tests = _tests(joined, paired=paired, level=level, seed=seed)
    furthest = _moved((baseline, other), joined, ids, moved, texts) if paired and not logs else {}
    rules = {rule.code: rule.title for rule in ALL if logs and rule.code in sides}
    metrics = []
    for name, (a, b) in joined.items():
        test, power = tests.get(name), None
        only = [np.setdiff1d(x.items, y.items) for x, y in (sides[name], sides[name][::-1])]
        named = [
            f"{ids.describe(item)} only in {table.source}"
            for table, items in zip(tables, only, strict=True)
            for item in items[:NAMED].tolist()
        ]
        says = "fewer than two conversations with a value on both sides: no comparison"
        if test is not None:
            [comparison] = test.comparisons
            size = difference or abs(comparison.difference.value)
            if paired and size and comparison.verdict not in DIFFERENT:
                groups = a.conversations
                power = items_needed(b.given, a.given, difference=size, groups=groups, level=level)
            says = _says(test, power, paired=paired)
        metrics.append(
            MetricDifference(
                metric=name,
                says=f"{f'{name} {rules[name]}' if name in rules else name}: {says}",
                baseline=test.estimates[BASELINE] if test else None,
                other=test.estimates[OTHER] if test else None,
                comparison=test.comparisons[0] if test else None,
                power=power,
                pairs=len(a.items) if paired else 0,
                unpaired=_statuses(*sides[name]) if paired else {},
                only_baseline=len(only[0]),
                only_other=len(only[1]),
                named=tuple(named) if paired else (),
                signatures=(a.signatures, b.signatures),
                moved=furthest.get(name, ()),
            )
        )
    left_out = tuple(
        f"{name}: only in {have.source}"
        for have, lack in (tables, tables[::-1])
        for name in have.metrics
        if name not in lack.metrics
    )
    found = [log.findings for log in logs] if paired and logs else [(), ()]
    resolved, new = missing_in(*found[::-1]), missing_in(*found)
    return CompareResult(
        baseline, other, tuple(metrics), left_out, level, seed, paired, rules, new, resolved
    )


def _logs(baseline: str, other: str, ids: Ids) -> tuple[CheckedLog, CheckedLog] | tuple[()]:
    """Return two checked files of conversations; none if one holds scores."""
    if not (holds_conversations(baseline) and holds_conversations(other)):
        return ()
    rules = selected(ALL)
    return check_log(baseline, rules, ids), check_log(other, rules, ids)


def _shared_metrics(first: ScoreTable, second: ScoreTable, *, across_signatures: bool) -> Sides:
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
        lines = [f"\n  {first.source}: {signature}" for signature in a]
        lines += [f"\n  {second.source}: {signature}" for signature in b]
        raise InputError(
            f"{name} was computed in different ways and is not comparable:{''.join(lines)}\n"
            "  score both with the same version, models and options, or give "
            "--across-signatures to compare them nevertheless"
        )
    return {name: (first.metrics[name], second.metrics[name]) for name in shared}


def _both_ok(a: MetricScores, b: MetricScores) -> tuple[MetricScores, MetricScores]:
    """Return the rows of the items that are ``ok`` in both files."""
    a, b = a.at(~np.isnan(a.values)), b.at(~np.isnan(b.values))
    return a.at(np.isin(a.items, b.items)), b.at(np.isin(b.items, a.items))


def _statuses(a: MetricScores, b: MetricScores) -> dict[str, int]:
    """Count the shared items by their two statuses, without those that are ``ok`` in both."""
    a, b = a.at(np.isin(a.items, b.items)), b.at(np.isin(b.items, a.items))
    codes = a.statuses.astype(np.int64) * len(STATUSES) + b.statuses
    pairs = [f"{one}/{two}" for one in STATUSES for two in STATUSES]
    counts = zip(pairs, np.bincount(codes, minlength=len(pairs)).tolist(), strict=True)
    return {pair: count for pair, count in counts if count and pair != "ok/ok"}


def _tests(joined: Sides, *, paired: bool, level: float, seed: int) -> dict[str, Ranking]:
    """Test each metric, with p-values and verdicts corrected for the number of metrics."""
    tests: dict[str, Ranking] = {}
    for name, (a, b) in joined.items():
        given = [side.values[np.isfinite(side.values)] for side in (a, b)]
        bounds = metric_range(name, a.signatures[0], *given)
        if paired and len(np.unique(a.conversations)) > 1:
            tests[name] = compare_systems(
                {BASELINE: a.given, OTHER: b.given}, groups=a.conversations, baseline=BASELINE,
                bounds=bounds, level=level, seed=seed,
            )  # fmt: skip
        elif not paired and all(map(len, given)):
            scores = {OTHER: b.values, BASELINE: a.values}
            groups = {OTHER: b.conversations, BASELINE: a.conversations}
            if test := compare_unpaired(scores, groups, bounds=bounds, level=level):
                tests[name] = test
    p_values = holm([test.comparisons[0].p_single for test in tests.values()])
    for (name, test), p in zip([*tests.items()], p_values, strict=True):
        [comparison] = test.comparisons
        outcome = verdict(comparison.difference.value, p, level)
        comparison = replace(comparison, p_value=p, correction="holm", verdict=outcome)
        tests[name] = replace(test, comparisons=(comparison,))
    return tests


def _says(test: Ranking, power: Power | None, *, paired: bool) -> str:
    [comparison] = test.comparisons
    gap, few = comparison.difference, ""
    if paired:
        over = f"over {gap.groups} conversations"
        if (gap.groups or 0) < FEW:
            few = f"; fewer than {FEW} conversations: a rough guide"
    else:
        first, second = (test.estimates[side].groups for side in (BASELINE, OTHER))
        over = f"over {first} and {second} conversations, unpaired"
        few = f"; {gap.note}" if gap.note else ""
    if comparison.verdict in DIFFERENT:
        rare = "; changes are rare: the interval includes 0" if gap.side(0) == "either" else ""
        return f"{DIFFERENT[comparison.verdict]} the baseline {over}{rare}{few}"
    says = f"no significant difference from the baseline at this n, {over}"
    if power is not None:
        size = f"a difference of {power.difference:.3g}"
        needed = f"about {power.more:,} more {power.unit} would be needed to find {size}"
        enough = f"the {power.now:,} {power.unit} would show {size} with {power.power:.0%} power"
        says += f"; {needed if power.more else enough}"
    says += few
    if gap.side(0) != "either" and comparison.p_single <= 1 - gap.level:
        says += "; the interval excludes 0, but the p-value is corrected over all metrics"
    return says


def _moved(
    files: Sequence[str], joined: Sides, ids: Ids, most: int, texts: str | None
) -> dict[str, tuple[MovedConversation, ...]]:
    """Return the conversations that moved most, by metric, furthest first."""
    furthest: dict[str, list[tuple[int, float]]] = {}
    for name, (a, b) in joined.items():
        numbers, codes = np.unique(a.conversations, return_inverse=True)
        means = np.bincount(codes, b.given - a.given) / np.bincount(codes)
        order = np.argsort(-np.abs(means), kind="stable")[:most]
        furthest[name] = [(int(numbers[i]), float(means[i])) for i in order if means[i] != 0]
    wanted = {(name, number) for name, moved in furthest.items() for number, _ in moved}
    names = ids.names()
    evidence: list[dict[tuple[str, int], Score]] = []
    for file in files if wanted else ():
        found, number = {}, ids.of_file()
        for _, score in read_scores(file):
            item = number(score, score.meta.get("file"))
            if (score.metric, item >> TURN_BITS) in wanted:
                found[score.metric, item] = score
        evidence.append(found)
    turns: dict[str, tuple[str, ...]] = {}
    if texts is not None and wanted:
        chosen = {names[number] for _, number in wanted}
        for record in read(texts):
            if isinstance(record, Conversation) and record.id in chosen:
                turns[record.id] = tuple(turn.text for turn in record.turns)
        if not turns:
            raise InputError(
                f"{texts}: none of the conversations that moved is in it, such as "
                f"{min(chosen)!r}; give the file that was scored"
            )

    def items(name: str, number: int) -> list[MovedItem]:
        a, b = joined[name]
        rows = np.flatnonzero(a.conversations == number)
        change = np.abs(b.given[rows] - a.given[rows])
        spoken = turns.get(names[number], ())
        moved = []
        for row in rows[np.argsort(-change, kind="stable")][:ITEMS]:
            before, after = (scores[name, int(a.items[row])] for scores in evidence)
            text = "" if before.turn is None else "".join(spoken[before.turn : before.turn + 1])
            changes = _evidence_changes(before.evidence, after.evidence)
            values = float(a.given[row]), float(b.given[row])
            moved.append(MovedItem(before.turn, *values, changes, text))
        return moved

    return {
        name: tuple(
            MovedConversation(names[number], gap, tuple(items(name, number)))
            for number, gap in moved
        )
        for name, moved in furthest.items()
    }


def _evidence_changes(
    baseline: Sequence[Evidence], other: Sequence[Evidence]
) -> tuple[EvidenceChange, ...]:
    """Return the pieces that differ or that one side alone has, largest change first."""
    first, second = (dict(map(_measured, side)) for side in (baseline, other))
    changes = [
        EvidenceChange(*key, first.get(key), second.get(key))
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]
    changes.sort(key=lambda change: -abs((change.other or 0.0) - (change.baseline or 0.0)))
    return tuple(changes[:CHANGES])


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
