"""Thresholds for scores and findings: a run passes, fails, or remains uncertain.

A check passes only if the whole 95 % interval lies on the passing side of its threshold. If the
value passes but its interval includes the threshold, or there are fewer than ten conversations, the
check is *uncertain*, which counts as failed unless it is allowed. The shares of failed and
abstained scores are facts of the run, without an interval. A drop passes by its value alone where
no score differs from the baseline, and a share of findings where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.detectors import ALL
from grice.detectors.rules import selected
from grice.errors import InputError, plural
from grice.evaluation.rates import ANY, check_log, holds_conversations
from grice.evaluation.table import Ids, MetricScores, ScoreTable, metric_range, read_table, table_of
from grice.stats.comparison import mean, proportion
from grice.stats.estimate import FEW, Bounds, Estimate
from grice.tables import with_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice.data import Finding, Score, Status

Verdict: TypeAlias = Literal["passed", "failed", "uncertain"]
MATCHED = 0.8  # least share of scores that both files have, for a drop to be decided
EVERY = "every metric"  # key of thresholds for all metrics together


class ShareBelow(msgspec.Struct, frozen=True):
    """The largest share of items that may score below a value."""

    metric: str
    below: float
    share: float


class Rules(msgspec.Struct, frozen=True):
    """Thresholds of a run by metric; shares of statuses and drops also of :data:`EVERY`."""

    minimum: dict[str, float] = {}  # of the mean: the low end of its interval counts
    share_below: tuple[ShareBelow, ...] = ()  # the high end counts
    max_failed: dict[str, float] = {}  # largest share of scores
    max_abstained: dict[str, float] = {}
    allow_uncertain: bool = False
    max_drop: dict[str, float] = {}  # of the mean against a baseline: the low end counts
    max_findings: dict[str, float] = {}
    """Largest share of replies with a finding, by code, beginning of codes or name of rules, or of
    the default rules by :data:`~grice.evaluation.rates.ANY`: the high end counts."""


class Check(msgspec.Struct, frozen=True):
    """One rule and its outcome."""

    metric: str
    what: str
    value: float | None
    low: float | None
    high: float | None
    bar: float  # the threshold
    n: int
    conversations: int
    verdict: Verdict
    says: str


class GateResult(msgspec.Struct, frozen=True):
    """All checks of a run, and the findings that they count."""

    checks: tuple[Check, ...]
    passed: bool
    allow_uncertain: bool
    findings: tuple[Finding, ...] = ()


def gate_file(file: str, rules: Rules, baseline: str | None = None) -> GateResult:
    """Check a score file, and its drop against a baseline, or the findings in conversations."""
    if (baseline is None) == bool(rules.max_drop):
        raise InputError("--baseline and --max-drop belong together: give both, or neither")
    named = _named(rules)
    if not rules.max_findings:
        return _gate(read_table(file), rules, named, baseline)
    if named:
        raise InputError("--max-findings checks conversations, the others scores: use two commands")
    if file != "-" and not holds_conversations(file):
        raise InputError(f"{file}: contains scores, and --max-findings checks conversations")
    return _gate_findings(file, rules)


def _gate_findings(file: str, rules: Rules) -> GateResult:
    chosen = {
        name: [rule.code for rule in selected(ALL, () if name == ANY else (name,))]
        for name in rules.max_findings
    }
    wanted = {code for codes in chosen.values() for code in codes}
    log = check_log(file, [rule for rule in ALL if rule.code in wanted], Ids())
    checks = []
    for name, most in rules.max_findings.items():
        scores = log.column(chosen[name], name)
        share = _share_of(scores, scores.given > 0)
        says = "" if share is None else f"replies with a finding: {with_interval(share, '.1%')}"
        says += f", at most {most:.1%} allowed"
        what = "share of replies with a finding"
        check = _check(name, what, share, most, says, scores, most=most)
        if share is not None and not share.value:
            says = f"no finding in {plural(check.n, 'reply', 'replies')}"
            check = replace(check, verdict="passed", says=says)
        checks.append(check)
    return _result(checks, rules, log.findings)


def _share_of(scores: MetricScores, hits: NDArray[np.bool_]) -> Estimate | None:
    """Return the share of hits among the items with a value, clustered by conversation."""
    _, codes = np.unique(scores.conversations, return_inverse=True)
    counts, sizes = (np.bincount(codes, each) for each in (hits, ~np.isnan(scores.values)))
    return proportion(counts.tolist(), sizes.astype(int).tolist())


def gate(scores: Iterable[Score], rules: Rules) -> GateResult:
    """Check scores in memory, in any order; InputError for a rule on a metric without scores."""
    return _gate(table_of(scores), rules, _named(rules))


def _named(rules: Rules) -> set[str]:
    """Return the metrics with a threshold; InputError for one out of range, or no threshold."""
    on_values = [*rules.minimum.items(), *((rule.metric, rule.below) for rule in rules.share_below)]
    shares = [(rule.metric, rule.share) for rule in rules.share_below]
    shares += [*rules.max_failed.items(), *rules.max_abstained.items()]
    named = set()
    for name, share in rules.max_findings.items():
        if not 0 <= share <= 1:
            raise InputError(f"{name}: a share lies between 0 and 1, found {share}")
    for thresholds, least, most, problem in (
        (on_values, -math.inf, math.inf, "a threshold is a finite number"),
        (shares, 0, 1, "a share lies between 0 and 1"),
        (rules.max_drop.items(), 0, math.inf, "a drop is 0 or more"),
    ):
        for metric, value in thresholds:
            named.add(metric)
            if not (math.isfinite(value) and least <= value <= most):
                raise InputError(f"{metric}: {problem}, found {value}")
    if not named and not rules.max_findings:
        raise InputError(
            "nothing to check: give a minimum mean (--min), a largest share below a value "
            "(--max-share-below), a largest share of failed or abstained scores "
            "(--max-failed, --max-abstained), a largest drop against an earlier run "
            "(--baseline, --max-drop), or a largest share of replies with findings "
            "(--max-findings)"
        )
    return named


def _gate(
    table: ScoreTable, rules: Rules, named: set[str], baseline: str | None = None
) -> GateResult:
    if not table.metrics:
        raise InputError(f"{table.source}: contains no scores")
    for metric in sorted(named - {EVERY}):
        table.named(metric)
    return _result(_checks(table, rules, baseline), rules)


def _result(checks: Iterable[Check], rules: Rules, findings: Sequence[Finding] = ()) -> GateResult:
    checks = tuple(checks)
    fine = {"passed", "uncertain"} if rules.allow_uncertain else {"passed"}
    passed = all(check.verdict in fine for check in checks)
    return GateResult(checks, passed, rules.allow_uncertain, tuple(findings))


def _bounds(metric: str, scores: MetricScores, threshold: float) -> Bounds | None:
    """Return the range of a metric; InputError for a threshold beyond it."""
    bounds = metric_range(metric, scores.signatures[0], scores.values[~np.isnan(scores.values)])
    if bounds is not None and not bounds[0] <= threshold <= bounds[1]:
        raise InputError(
            f"{metric}: its scores lie between {bounds[0]:g} and {bounds[1]:g}, a threshold of "
            f"{threshold:g} decides nothing"
        )
    return bounds


def _checks(table: ScoreTable, rules: Rules, baseline: str | None) -> Iterator[Check]:
    for metric, least in rules.minimum.items():
        scores = table.metrics[metric]
        bounds = _bounds(metric, scores, least)
        some = scores.counts["ok"]
        estimate = mean(scores.values, groups=scores.conversations, bounds=bounds) if some else None
        says = "" if estimate is None else f"mean {with_interval(estimate)}"
        says += f", at least {least:g} required"
        yield _check(metric, "mean", estimate, least, says, scores, least=least)
    for rule in rules.share_below:
        scores, what = table.metrics[rule.metric], f"share below {rule.below:g}"
        _bounds(rule.metric, scores, rule.below)
        below = _share_of(scores, scores.values < rule.below)
        says = "" if below is None else f"{what}: {with_interval(below, '.1%')}"
        says += f", at most {rule.share:.1%} allowed"
        yield _check(rule.metric, what, below, rule.share, says, scores, most=rule.share)
    limits: list[tuple[Status, str, float]] = [("failed", *x) for x in rules.max_failed.items()]
    limits += [("abstained", *x) for x in rules.max_abstained.items()]
    for status, metric, most in limits:
        chosen = [*table.metrics.values()] if metric == EVERY else [table.metrics[metric]]
        n = sum(len(scores.items) for scores in chosen)
        count = sum(scores.counts[status] for scores in chosen)
        units = max(len(np.unique(scores.conversations)) for scores in chosen)
        verdict: Verdict = "passed" if count <= most * n else "failed"
        says = f"{status}: {count:,} of {n:,} ({count / n:.2%}), at most {most:.2%} allowed"
        share = f"share {status}"
        yield Check(metric, share, count / n, None, None, most, n, units, verdict, says)
    if baseline is not None:
        yield from _drops(rules, baseline, table.source)


def _drops(rules: Rules, baseline: str, file: str) -> Iterator[Check]:
    from grice.evaluation.compare import compare  # which loads scipy

    metrics = {metric.metric: metric for metric in compare(baseline, file, moved=0).metrics}
    every = rules.max_drop.get(EVERY)
    drops = {} if every is None else dict.fromkeys(metrics, every)
    drops |= {name: most for name, most in rules.max_drop.items() if name != EVERY}
    for name, most in drops.items():
        if name not in metrics:
            raise InputError(f"{baseline}: no scores of metric {name!r}")
        comparison = metrics[name].comparison
        gap = comparison.difference if comparison else None
        says = "" if gap is None else f"{with_interval(gap, '+.3f')} against {baseline}"
        says += f", a drop of at most {most:g} allowed"
        # The run itself did not drop; what other conversations may show is no reason to fail it.
        unchanged = comparison is not None and comparison.d_z is None and comparison.dominance == 0
        if unchanged:
            says += "; no score differs, so nothing dropped in these conversations"
        check = _check(name, "drop", gap, most, says, least=-most, exact=unchanged)
        both = metrics[name].pairs + sum(metrics[name].unpaired.values())
        alone = max(metrics[name].only_baseline, metrics[name].only_other)
        if both and both < MATCHED * (both + alone):
            says = (
                f"{check.says}; but only {both:,} of {both + alone:,} scores are in both files, "
                "and the others were not compared: score the same conversations in both"
            )
            verdict: Verdict = "uncertain" if check.verdict == "passed" else check.verdict
            check = replace(check, says=says, verdict=verdict)
        yield check


def _check(
    metric: str,
    what: str,
    figure: Estimate | None,
    threshold: float,
    says: str,
    scores: MetricScores | None = None,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    exact: bool = False,
) -> Check:
    """Return the outcome of a rule on an estimate, ``exact`` by its value; none has failed."""
    if figure is None:
        counts = {} if scores is None else scores.counts
        listed = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n)
        why = f"no score with status ok ({listed})" if scores else "no two conversations to compare"
        says = f"{what}: {why}, so the threshold {threshold:g} cannot be checked"
        return Check(metric, what, None, None, None, threshold, 0, 0, "failed", says)
    good = least <= figure.value <= most
    ends = figure.interval
    sure = exact or (ends is not None and least <= ends[0] and ends[1] <= most)
    conversations = figure.n if figure.groups is None else figure.groups
    few = conversations < FEW
    verdict: Verdict = "failed" if not good else "uncertain" if few or not sure else "passed"
    if good and few:
        so_many = plural(conversations, "conversation is", "conversations are")
        says += f"; {so_many} too few to decide ({FEW} needed)"
    elif good and not sure:
        says += "; the interval includes the threshold: more conversations are needed"
    figures = (figure.value, figure.low, figure.high, threshold, figure.n, conversations)
    return Check(metric, what, *figures, verdict, says)
