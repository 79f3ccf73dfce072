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
from grice.evaluation.scores import read_score_groups
from grice.evaluation.table import metric_range
from grice.stats.clusters import ClusteredMean
from grice.stats.estimate import FEW, Estimate
from grice.stats.systems import proportion
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.evaluation.scores import ScoreLine
    from grice.records import Score, Status
    from grice.stats.clusters import Bounds

    Scored: TypeAlias = Score | ScoreLine


Verdict: TypeAlias = Literal["passed", "failed", "uncertain"]
EVERY = "every metric"
"""Name under which shares of statuses over all metrics are checked."""


class ShareBelow(msgspec.Struct, frozen=True):
    """At most so large a share of the items may score below a value."""

    metric: str
    below: float
    share: float


class Rules(msgspec.Struct, frozen=True):
    """Thresholds of a run.

    Attributes:
        minimum: Least mean by metric, held against the low end of its interval.
        share_below: Largest shares, held against the high end of the interval of the share.
        max_failed: Largest share of failed scores by metric, or of :data:`EVERY`.
        max_abstained: Largest share of abstained scores likewise.
        allow_uncertain: Let checks pass that a larger sample might decide either way.
        max_drop: Largest drop of the mean against a baseline, by metric, or of :data:`EVERY` one
            that both have; held against the low end of the interval of the difference.
    """

    minimum: dict[str, float] = {}
    share_below: tuple[ShareBelow, ...] = ()
    max_failed: dict[str, float] = {}
    max_abstained: dict[str, float] = {}
    allow_uncertain: bool = False
    max_drop: dict[str, float] = {}

    def metrics(self) -> set[str]:
        """Return the metrics that the rules name."""
        statuses = (*self.max_failed.items(), *self.max_abstained.items())
        below = [(rule.metric, rule.below) for rule in self.share_below]
        shares = [(rule.metric, rule.share) for rule in self.share_below]
        for metric, value in (*self.minimum.items(), *below):
            if not math.isfinite(value):
                raise InputError(f"{metric}: a threshold is a finite number, found {value}")
        for metric, value in (*statuses, *shares):
            if not 0 <= value <= 1:
                raise InputError(f"{metric}: a share lies between 0 and 1, found {value}")
        for metric, value in self.max_drop.items():
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{metric}: a drop is 0 or more, found {value}")
        drops = self.max_drop.items()
        named = {metric for metric, _ in (*self.minimum.items(), *statuses, *shares, *drops)}
        if not named:
            raise InputError(
                "nothing to check: give a least mean (--min), a largest share below a value "
                "(--max-share-below), a largest share of failed or abstained scores "
                "(--max-failed, --max-abstained), or a largest drop against an earlier run "
                "(--baseline, --max-drop)"
            )
        return named - {EVERY}

    def check_reachable(self, ranges: Mapping[str, Bounds]) -> None:
        """Refuse thresholds that no score can miss, or none can reach."""
        below = [(rule.metric, rule.below) for rule in self.share_below]
        for metric, value in (*self.minimum.items(), *below):
            low, high = ranges.get(metric, (-math.inf, math.inf))
            if not low <= value <= high:
                raise InputError(
                    f"{metric}: its scores lie between {low:g} and {high:g}, a threshold of "
                    f"{value:g} decides nothing"
                )


class Check(msgspec.Struct, frozen=True):
    """One rule and how it came out."""

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
    """All checks of a run."""

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
    """Check a file that ``grice score`` wrote, in one pass."""
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
    """Return how a rule comes out."""
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


def rules(
    *,
    minimum: Iterable[tuple[str, float]] = (),
    share_below: Iterable[tuple[str, float, float]] = (),
    max_failed: Iterable[tuple[str, float]] = (),
    max_abstained: Iterable[tuple[str, float]] = (),
    max_drop: Iterable[tuple[str, float]] = (),
    allow_uncertain: bool = False,
) -> Rules:
    """Return rules from thresholds as a command line names them."""
    return Rules(
        _once("--min", minimum),
        tuple(ShareBelow(*rule) for rule in share_below),
        _once("--max-failed", max_failed),
        _once("--max-abstained", max_abstained),
        allow_uncertain,
        _once("--max-drop", max_drop),
    )


def _once(flag: str, thresholds: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return thresholds by metric; of two for one metric none is dropped in silence."""
    by_metric: dict[str, float] = {}
    for metric, value in thresholds:
        name = metric or EVERY
        if name in by_metric:
            pair = f"{by_metric[name]:g} and {value:g}"
            raise InputError(f"{flag}: two thresholds for {name}, {pair}")
        by_metric[name] = value
    return by_metric
