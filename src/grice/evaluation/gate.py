"""Thresholds for scores: does a run pass, fail, or say too little?

A check passes only if the whole 95 % interval lies on the good side of its bar, so that a build
neither passes nor fails by luck. If the figure is good but its interval reaches across the bar,
or there are fewer than ten conversations, the check is *uncertain*, which counts as failed unless
it is allowed. How many scores failed or abstained is no estimate but a fact of the run; its bar is
held against the figure itself.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from grice.errors import InputError, counted, did_you_mean
from grice.evaluation.proportions import proportion
from grice.evaluation.scores import read_score_groups
from grice.evaluation.table import metric_range
from grice.stats.clusters import ClusteredMean
from grice.stats.estimate import FEW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.records import Status

__all__ = ["Check", "GateResult", "Rules", "gate", "gate_file"]

EVERY = "every metric"
"""Name under which shares of statuses over all metrics are checked."""


class Bar(msgspec.Struct, frozen=True):
    """At most so large a share of the items may score below a value."""

    metric: str
    below: float
    share: float


class Rules(msgspec.Struct, frozen=True):
    """What a run has to hold.

    Attributes:
        minimum: Least mean by metric, held against the low end of its interval.
        share_below: Bars, held against the high end of the interval of the share.
        max_failed: Largest share of failed scores by metric, or of :data:`EVERY`.
        max_abstained: Largest share of abstained scores likewise.
        allow_uncertain: Let checks pass that a larger sample might decide either way.
    """

    minimum: dict[str, float] = {}
    share_below: tuple[Bar, ...] = ()
    max_failed: dict[str, float] = {}
    max_abstained: dict[str, float] = {}
    allow_uncertain: bool = False

    def metrics(self) -> set[str]:
        """Return the metrics that the rules name.

        Raises:
            InputError: If there is no rule, or a bar is no finite number or no share.
        """
        statuses = (*self.max_failed.items(), *self.max_abstained.items())
        below = [(bar.metric, bar.below) for bar in self.share_below]
        shares = [(bar.metric, bar.share) for bar in self.share_below]
        for metric, value in (*self.minimum.items(), *below):
            if not math.isfinite(value):
                raise InputError(f"{metric}: a bar is a finite number, found {value}")
        for metric, value in (*statuses, *shares):
            if not 0 <= value <= 1:
                raise InputError(f"{metric}: a share lies between 0 and 1, found {value}")
        named = {metric for metric, _ in (*self.minimum.items(), *statuses, *shares)}
        if not named:
            raise InputError(
                "nothing to check: give a least mean (--min), a largest share below a value "
                "(--max-share-below), or a largest share of failed or abstained scores "
                "(--max-failed, --max-abstained)"
            )
        return named - {EVERY}


class Check(msgspec.Struct, frozen=True):
    """One rule and how it came out.

    Attributes:
        metric: The metric, or :data:`EVERY`.
        what: What was held against the bar.
        value: The figure; None if there is nothing to compute it from.
        low: Low end of its 95 % interval; None where it has none.
        high: High end.
        bar: The bar.
        n: Number of scores.
        conversations: Number of conversations they come from.
        verdict: ``passed``, ``failed`` or ``uncertain``.
        says: The outcome in words.
    """

    metric: str
    what: str
    value: float | None
    low: float | None
    high: float | None
    bar: float
    n: int
    conversations: int
    verdict: Literal["passed", "failed", "uncertain"]
    says: str


class GateResult(msgspec.Struct, frozen=True):
    """All checks of a run.

    Attributes:
        checks: One per rule.
        passed: Whether the run passes.
        allow_uncertain: Whether uncertain checks were let through.
    """

    checks: tuple[Check, ...]
    passed: bool
    allow_uncertain: bool


class Scored(Protocol):
    """What a check reads of a score."""

    @property
    def conversation(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def status(self) -> Status: ...


class _Tally:
    """One metric, conversation by conversation: a few numbers each."""

    def __init__(self, metric: str, bars: Iterable[float]) -> None:
        self.mean = ClusteredMean(metric_range(metric))
        self.sizes = array("q")
        self.below = {bar: array("q") for bar in bars}
        self.statuses: dict[Status, int] = {"ok": 0, "abstained": 0, "failed": 0}
        self.conversations = 0

    def add(self, scores: Iterable[Scored]) -> None:
        values = []
        for score in scores:
            self.statuses[score.status] += 1
            if score.status == "ok" and score.value is not None:
                values.append(score.value)
        self.mean.add(values)
        self.conversations += 1
        self.sizes.append(len(values))
        for bar, counts in self.below.items():
            counts.append(sum(value < bar for value in values))

    @property
    def total(self) -> int:
        return sum(self.statuses.values())


def gate_file(file: str, rules: Rules) -> GateResult:
    """Check a file that ``grice score`` wrote, in one pass.

    Raises:
        InputError: If a rule names a metric that the file does not have, the file cannot be
            read, or the lines of a conversation stand apart.
    """
    return _checked(read_score_groups(file), rules, file)


def gate(scores: Iterable[Scored], rules: Rules) -> GateResult:
    """Check scores that are at hand, in any order.

    Raises:
        InputError: If a rule names a metric without scores.
    """
    groups: dict[str, list[Scored]] = {}
    for score in scores:
        groups.setdefault(score.conversation, []).append(score)
    return _checked(groups.values(), rules, "the scores")


def _checked(groups: Iterable[Sequence[Scored]], rules: Rules, where: str) -> GateResult:
    named = rules.metrics()
    tallies: dict[str, _Tally] = {}
    for group in groups:
        for metric in dict.fromkeys(score.metric for score in group):
            if metric not in tallies:
                bars = {bar.below for bar in rules.share_below if bar.metric == metric}
                tallies[metric] = _Tally(metric, bars)
            tallies[metric].add(score for score in group if score.metric == metric)
    if not tallies:
        raise InputError(f"{where}: there is no score in it")
    for metric in sorted(named):
        if metric not in tallies:
            near = did_you_mean(metric, tallies)
            raise InputError(f"{where}: no scores of metric {metric!r}{near}")
    checks = (
        *_of_means(rules, tallies),
        *_of_shares(rules, tallies),
        *_of_statuses(rules, tallies),
    )
    fine = {"passed", "uncertain"} if rules.allow_uncertain else {"passed"}
    passed = all(check.verdict in fine for check in checks)
    return GateResult(checks, passed, rules.allow_uncertain)


def _of_means(rules: Rules, tallies: Mapping[str, _Tally]) -> Iterator[Check]:
    for metric, bar in rules.minimum.items():
        tally = tallies[metric]
        found = tally.mean.interval()
        if found is None:
            yield _nothing(metric, "mean", bar, tally)
            continue
        units = tally.mean.clusters
        verdict, why = _decided(
            found.mean >= bar, found.low is not None and found.low >= bar, units
        )
        says = f"mean {found.mean:.3f}{_interval(found.low, found.high)}, at least {bar:g} wanted"
        yield Check(
            metric, "mean", found.mean, found.low, found.high, bar, tally.mean.count, units,
            verdict, f"{says}{why}",
        )  # fmt: skip


def _of_shares(rules: Rules, tallies: Mapping[str, _Tally]) -> Iterator[Check]:
    for bar in rules.share_below:
        tally = tallies[bar.metric]
        what = f"share below {bar.below:g}"
        found = proportion(tally.below[bar.below], tally.sizes)
        if found is None:
            yield _nothing(bar.metric, what, bar.share, tally)
            continue
        sure = found.high is not None and found.high <= bar.share
        verdict, why = _decided(found.value <= bar.share, sure, found.groups or 0)
        says = (
            f"{what}: {found.value:.1%}{_interval(found.low, found.high, '.1%')}, "
            f"at most {bar.share:.1%} wanted"
        )
        yield Check(
            bar.metric, what, found.value, found.low, found.high, bar.share, found.n,
            found.groups or 0, verdict, f"{says}{why}",
        )  # fmt: skip


def _of_statuses(rules: Rules, tallies: Mapping[str, _Tally]) -> Iterator[Check]:
    wanted: list[tuple[Status, dict[str, float]]] = [
        ("failed", rules.max_failed),
        ("abstained", rules.max_abstained),
    ]
    for status, bars in wanted:
        for metric, bar in bars.items():
            chosen = list(tallies.values()) if metric == EVERY else [tallies[metric]]
            n = sum(tally.total for tally in chosen)
            count = sum(tally.statuses[status] for tally in chosen)
            says = f"{status}: {count:,} of {n:,} ({count / n:.2%}), at most {bar:.2%} wanted"
            verdict: Literal["passed", "failed"] = "passed" if count <= bar * n else "failed"
            units = max(tally.conversations for tally in chosen)
            yield Check(
                metric, f"share {status}", count / n, None, None, bar, n, units, verdict, says
            )


def _nothing(metric: str, what: str, bar: float, tally: _Tally) -> Check:
    counts = ", ".join(f"{n:,} {status}" for status, n in tally.statuses.items() if n)
    says = f"{what}: no score with status ok ({counts}), so nothing can be held against {bar:g}"
    return Check(metric, what, None, None, None, bar, 0, 0, "failed", says)


def _decided(
    good: bool,  # noqa: FBT001 - two findings, no switches
    sure: bool,  # noqa: FBT001
    conversations: int,
) -> tuple[Literal["passed", "failed", "uncertain"], str]:
    if not good:
        return "failed", ""
    if conversations < FEW:
        few = counted(conversations, "conversation is", "conversations are")
        return "uncertain", f"; {few} too few to tell ({FEW} needed)"
    if not sure:
        return "uncertain", "; the interval reaches across the bar: more conversations are needed"
    return "passed", ""


def _interval(low: float | None, high: float | None, form: str = ".3f") -> str:
    return "" if low is None or high is None else f" [{low:{form}}, {high:{form}}]"
