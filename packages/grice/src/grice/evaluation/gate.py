"""Thresholds for scores: does a run pass, fail, or say too little?

A check passes only if the whole 95 % interval lies on the good side of its threshold, so that a
build neither passes nor fails by luck. If the figure is good but its interval reaches across it,
or there are fewer than ten conversations, the check is *uncertain*, which counts as failed unless
it is allowed. How many scores failed or abstained is no estimate but a fact of the run; its
threshold is held against the figure itself.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import InputError, did_you_mean, plural
from grice.evaluation.gate_rules import EVERY, Rules
from grice.evaluation.scores import read_score_groups
from grice.evaluation.table import metric_range
from grice.stats.clusters import ClusteredMean
from grice.stats.estimate import FEW, Estimate
from grice.stats.proportions import proportion
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.evaluation.scores import ScoreLine
    from grice.records import Score, Status
    from grice.stats.clusters import Bounds

    Scored: TypeAlias = Score | ScoreLine

Verdict: TypeAlias = Literal["passed", "failed", "uncertain"]


class Check(msgspec.Struct, frozen=True):
    """One rule and how it came out.

    Attributes:
        metric: The metric, or :data:`EVERY`.
        what: What was held against the threshold.
        value: The figure; None if there is nothing to compute it from.
        low: Low end of its 95 % interval; None where it has none.
        verdict: ``passed``, ``failed`` or ``uncertain``.
    """

    metric: str
    what: str
    value: float | None
    low: float | None
    high: float | None
    bar: float
    n: int
    conversations: int
    verdict: Verdict
    says: str


class GateResult(msgspec.Struct, frozen=True):
    """All checks of a run.

    Attributes:
        allow_uncertain: Whether uncertain checks were let through.
    """

    checks: tuple[Check, ...]
    passed: bool
    allow_uncertain: bool


class _Tally:
    """One metric, conversation by conversation: a few numbers each."""

    def __init__(self, bounds: Bounds | None, thresholds: Iterable[float]) -> None:
        self.mean = ClusteredMean(bounds)
        self.sizes = array("q")
        self.below = {threshold: array("q") for threshold in thresholds}
        self.statuses: dict[Status, int] = {"ok": 0, "abstained": 0, "failed": 0}
        self.conversations = 0
        self.range = bounds or (-math.inf, math.inf)

    def add(self, scores: Iterable[Scored]) -> None:
        values = []
        for score in scores:
            self.statuses[score.status] += 1
            if score.status == "ok" and score.value is not None:
                values.append(score.value)
                if not self.range[0] <= score.value <= self.range[1]:  # of another scale
                    self.range = (-math.inf, math.inf)
        self.mean.add(values)
        self.conversations += 1
        self.sizes.append(len(values))
        for threshold, counts in self.below.items():
            counts.append(sum(value < threshold for value in values))

    @property
    def total(self) -> int:
        return sum(self.statuses.values())


def gate_file(file: str, rules: Rules, baseline: str | None = None) -> GateResult:
    """Check a file that ``grice score`` wrote, in one pass.

    Args:
        file: The scores.
        rules: What they have to hold.
        baseline: The scores of an earlier run, which ``max_drop`` is held against: over the same
            conversations item by item, else over those of each.

    Raises:
        InputError: If a rule names a metric that the file does not have, the file cannot be
            read, the lines of a conversation stand apart, or the baseline was computed otherwise.
    """
    if (baseline is None) == bool(rules.max_drop):
        raise InputError("--baseline and --max-drop belong together: give both, or neither")
    result = _checked(read_score_groups(file), rules, file)
    if baseline is None:
        return result
    return _result((*result.checks, *_of_drops(rules, baseline, file)), rules)


def _of_drops(rules: Rules, baseline: str, file: str) -> Iterator[Check]:
    from grice.evaluation.compare import compare  # which loads numpy and scipy

    metrics = {metric.metric: metric for metric in compare(baseline, file, moved=0).metrics}
    every = rules.max_drop.get(EVERY)
    drops = {} if every is None else dict.fromkeys(metrics, every)
    for name, most in {**drops, **rules.max_drop}.items():
        if name == EVERY:
            continue
        if name not in metrics:
            raise InputError(f"{baseline}: no scores of metric {name!r}")
        comparison = metrics[name].comparison
        if comparison is None:
            says = f"drop: no two conversations to compare, at most {most:g} wanted"
            yield Check(name, "drop", None, None, None, most, 0, 0, "failed", says)
            continue
        gap = comparison.difference
        yield _check(
            name,
            "drop",
            gap,
            most,
            good=gap.value >= -most,
            sure=gap.low is not None and gap.low >= -most,
            says=f"{with_interval(gap, '+.3f')} against {baseline}, a drop of at most "
            f"{most:g} wanted",
        )


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
        for metric, signature in {score.metric: score.signature for score in group}.items():
            if metric not in tallies:
                below = {rule.below for rule in rules.share_below if rule.metric == metric}
                tallies[metric] = _Tally(metric_range(metric, signature), below)
            tallies[metric].add(score for score in group if score.metric == metric)
    if not tallies:
        raise InputError(f"{where}: there is no score in it")
    for metric in sorted(named):
        if metric not in tallies:
            near = did_you_mean(metric, tallies)
            raise InputError(f"{where}: no scores of metric {metric!r}{near}")
    rules.check_reachable({metric: tallies[metric].range for metric in named})
    checks = (
        *_of_means(rules, tallies),
        *_of_shares(rules, tallies),
        *_of_statuses(rules, tallies),
    )
    return _result(checks, rules)


def _result(checks: tuple[Check, ...], rules: Rules) -> GateResult:
    fine = {"passed", "uncertain"} if rules.allow_uncertain else {"passed"}
    passed = all(check.verdict in fine for check in checks)
    return GateResult(checks, passed, rules.allow_uncertain)


def _of_means(rules: Rules, tallies: Mapping[str, _Tally]) -> Iterator[Check]:
    for metric, least in rules.minimum.items():
        tally = tallies[metric]
        mean = tally.mean.estimate()
        if mean is None:
            yield _nothing(metric, "mean", least, tally)
            continue
        yield _check(
            metric,
            "mean",
            mean,
            least,
            good=mean.value >= least,
            sure=mean.low is not None and mean.low >= least,
            says=f"mean {with_interval(mean)}, at least {least:g} wanted",
        )


def _of_shares(rules: Rules, tallies: Mapping[str, _Tally]) -> Iterator[Check]:
    for rule in rules.share_below:
        tally = tallies[rule.metric]
        what = f"share below {rule.below:g}"
        below = proportion(tally.below[rule.below], tally.sizes)
        if below is None:
            yield _nothing(rule.metric, what, rule.share, tally)
            continue
        yield _check(
            rule.metric,
            what,
            below,
            rule.share,
            good=below.value <= rule.share,
            sure=below.high is not None and below.high <= rule.share,
            says=f"{what}: {with_interval(below, '.1%')}, at most {rule.share:.1%} wanted",
        )


def _check(
    metric: str, what: str, figure: Estimate, threshold: float, *, good: bool, sure: bool, says: str
) -> Check:
    """Return how a rule comes out.

    Args:
        good: Whether the figure is on the good side of it.
        sure: Whether its whole interval is.
    """
    conversations = figure.n if figure.groups is None else figure.groups
    few = conversations < FEW
    verdict: Verdict = "failed" if not good else "uncertain" if few or not sure else "passed"
    why = ""
    if good and few:
        so_many = plural(conversations, "conversation is", "conversations are")
        why = f"; {so_many} too few to tell ({FEW} needed)"
    elif good and not sure:
        why = "; the interval reaches across the threshold: more conversations are needed"
    figures = (figure.value, figure.low, figure.high, threshold, figure.n, conversations)
    return Check(metric, what, *figures, verdict, f"{says}{why}")


def _of_statuses(rules: Rules, tallies: Mapping[str, _Tally]) -> Iterator[Check]:
    wanted: list[tuple[Status, dict[str, float]]] = [
        ("failed", rules.max_failed),
        ("abstained", rules.max_abstained),
    ]
    for status, thresholds in wanted:
        for metric, most in thresholds.items():
            chosen = list(tallies.values()) if metric == EVERY else [tallies[metric]]
            n = sum(tally.total for tally in chosen)
            count = sum(tally.statuses[status] for tally in chosen)
            units = max(tally.conversations for tally in chosen)
            verdict: Verdict = "passed" if count <= most * n else "failed"
            says = f"{status}: {count:,} of {n:,} ({count / n:.2%}), at most {most:.2%} wanted"
            what = f"share {status}"
            yield Check(metric, what, count / n, None, None, most, n, units, verdict, says)


def _nothing(metric: str, what: str, threshold: float, tally: _Tally) -> Check:
    counts = ", ".join(f"{n:,} {status}" for status, n in tally.statuses.items() if n)
    says = f"{what}: no score with status ok ({counts}), so nothing can be held against"
    return Check(metric, what, None, None, None, threshold, 0, 0, "failed", f"{says} {threshold:g}")
