"""Thresholds for scores: does a run pass, fail, or allow no decision?

A check passes only if the whole 95 % interval lies on the good side of its threshold, so that a
build neither passes nor fails by chance. If the value is good but its interval includes the
threshold, or there are fewer than ten conversations, the check is *uncertain*, which counts as
failed unless it is allowed. The shares of failed and abstained scores are facts of the run: their
thresholds are compared with the share itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError, plural
from grice.evaluation.table import STATUSES, metric_range, read_table, table_of
from grice.stats.clusters import ClusteredMean
from grice.stats.comparison import proportion
from grice.stats.estimate import FEW, Estimate
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grice.data import Score
    from grice.evaluation.table import MetricScores, ScoreTable


Verdict: TypeAlias = Literal["passed", "failed", "uncertain"]
EVERY = "every metric"
"""Key of thresholds for all metrics together."""


class ShareBelow(msgspec.Struct, frozen=True):
    """The largest share of items that may score below a value."""

    metric: str
    below: float
    share: float


class Rules(msgspec.Struct, frozen=True):
    """Thresholds of a run.

    Attributes:
        minimum: Least mean by metric, compared with the low end of its interval.
        share_below: Largest shares, compared with the high end of the interval of the share.
        max_failed: Largest share of failed scores by metric, or of :data:`EVERY`.
        max_abstained: Largest share of abstained scores likewise.
        allow_uncertain: Let uncertain checks pass.
        max_drop: Largest drop of the mean against a baseline, by metric, or of :data:`EVERY` one
            that both have; compared with the low end of the interval of the difference.
    """

    minimum: dict[str, float] = {}
    share_below: tuple[ShareBelow, ...] = ()
    max_failed: dict[str, float] = {}
    max_abstained: dict[str, float] = {}
    allow_uncertain: bool = False
    max_drop: dict[str, float] = {}


class Check(msgspec.Struct, frozen=True):
    """One rule and its outcome."""

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


def gate_file(file: str, rules: Rules, baseline: str | None = None) -> GateResult:
    """Check a score file, and its drop against a baseline."""
    if (baseline is None) == bool(rules.max_drop):
        raise InputError("--baseline and --max-drop belong together: give both, or neither")
    named = _named(rules)
    drops = () if baseline is None else _drops(rules, baseline, file)
    return _gate(read_table(file), rules, named, drops)


def gate(scores: Iterable[Score], rules: Rules) -> GateResult:
    """Check scores in memory, in any order."""
    return _gate(table_of(scores), rules, _named(rules))


def _value_thresholds(rules: Rules) -> list[tuple[str, float]]:
    """Return the thresholds that are compared with scores, by metric."""
    return [*rules.minimum.items(), *((rule.metric, rule.below) for rule in rules.share_below)]


def _named(rules: Rules) -> set[str]:
    """Return the metrics that rules name; refuse impossible thresholds."""
    shares = [(rule.metric, rule.share) for rule in rules.share_below]
    shares += [*rules.max_failed.items(), *rules.max_abstained.items()]
    wanted: tuple[tuple[Iterable[tuple[str, float]], Callable[[float], bool], str], ...] = (
        (_value_thresholds(rules), math.isfinite, "a threshold is a finite number"),
        (shares, lambda value: 0 <= value <= 1, "a share lies between 0 and 1"),
        (rules.max_drop.items(), lambda value: 0 <= value < math.inf, "a drop is 0 or more"),
    )
    named = set()
    for thresholds, possible, problem in wanted:
        for metric, value in thresholds:
            named.add(metric)
            if not possible(value):
                raise InputError(f"{metric}: {problem}, found {value}")
    if not named:
        raise InputError(
            "nothing to check: give a least mean (--min), a largest share below a value "
            "(--max-share-below), a largest share of failed or abstained scores "
            "(--max-failed, --max-abstained), or a largest drop against an earlier run "
            "(--baseline, --max-drop)"
        )
    return named - {EVERY}


def _gate(
    table: ScoreTable, rules: Rules, named: set[str], drops: Iterable[Check] = ()
) -> GateResult:
    if not table.metrics:
        raise InputError(f"{table.source}: there is no score in it")
    for metric in sorted(named):
        table.named(metric)
    for metric, value in _value_thresholds(rules):
        scores = table.metrics[metric]
        values = scores.values[~np.isnan(scores.values)]
        low, high = metric_range(metric, scores.signatures[0], values) or (-math.inf, math.inf)
        if not low <= value <= high:
            raise InputError(
                f"{metric}: its scores lie between {low:g} and {high:g}, a threshold of "
                f"{value:g} decides nothing"
            )
    checks = (
        *(_mean(metric, table.metrics[metric], least) for metric, least in rules.minimum.items()),
        *(_share_below(rule, table.metrics[rule.metric]) for rule in rules.share_below),
        *_statuses(rules, table),
        *drops,
    )
    fine = {"passed", "uncertain"} if rules.allow_uncertain else {"passed"}
    passed = all(check.verdict in fine for check in checks)
    return GateResult(checks, passed, rules.allow_uncertain)


def _mean(metric: str, scores: MetricScores, least: float) -> Check:
    values = scores.values
    mean = ClusteredMean(metric_range(metric, scores.signatures[0]))
    starts = np.flatnonzero(np.diff(scores.conversations)) + 1
    for cluster in np.split(values, starts):
        mean.add(cluster[~np.isnan(cluster)].tolist())
    estimate = mean.estimate()
    if estimate is None:
        return _nothing(metric, "mean", least, scores)
    return _check(
        metric,
        "mean",
        estimate,
        least,
        good=estimate.value >= least,
        sure=estimate.low is not None and estimate.low >= least,
        says=f"mean {with_interval(estimate)}, at least {least:g} wanted",
    )


def _share_below(rule: ShareBelow, scores: MetricScores) -> Check:
    what = f"share below {rule.below:g}"
    _, codes = np.unique(scores.conversations, return_inverse=True)
    values = scores.values
    hits, sizes = (np.bincount(codes, each) for each in (values < rule.below, ~np.isnan(values)))
    below = proportion(hits.tolist(), sizes.astype(int).tolist())
    if below is None:
        return _nothing(rule.metric, what, rule.share, scores)
    return _check(
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
    """Return the outcome of a rule on an estimate."""
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


def _nothing(metric: str, what: str, threshold: float, scores: MetricScores) -> Check:
    counts = zip(STATUSES, _counts(scores), strict=True)
    listed = ", ".join(f"{n:,} {status}" for status, n in counts if n)
    says = f"{what}: no score with status ok ({listed}), so nothing can be held against"
    return Check(metric, what, None, None, None, threshold, 0, 0, "failed", f"{says} {threshold:g}")


def _counts(scores: MetricScores) -> list[int]:
    """Return the number of scores of each status."""
    counts: list[int] = np.bincount(scores.statuses, minlength=len(STATUSES)).tolist()
    return counts


def _statuses(rules: Rules, table: ScoreTable) -> Iterator[Check]:
    for status, thresholds in (("failed", rules.max_failed), ("abstained", rules.max_abstained)):
        for metric, most in thresholds.items():
            chosen = [*table.metrics.values()] if metric == EVERY else [table.metrics[metric]]
            n = sum(len(scores.items) for scores in chosen)
            count = sum(_counts(scores)[STATUSES.index(status)] for scores in chosen)
            units = max(len(np.unique(scores.conversations)) for scores in chosen)
            verdict: Verdict = "passed" if count <= most * n else "failed"
            says = f"{status}: {count:,} of {n:,} ({count / n:.2%}), at most {most:.2%} wanted"
            what = f"share {status}"
            yield Check(metric, what, count / n, None, None, most, n, units, verdict, says)


def _drops(rules: Rules, baseline: str, file: str) -> Iterator[Check]:
    from grice.evaluation.compare import compare  # which loads scipy

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
