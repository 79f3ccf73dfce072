"""Commands that decide: compare, gate, rerank, and calibrate and estimate from a few ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from grice.cli.derive import Count, Input, Names, OutputPath, Scale, Scoring, named_number, names
from grice.cli.options import check_options, conversations, loader, usable
from grice.cli.output import DONE, PARTIAL, UNMET, Output, one_line, write_rows, write_text
from grice.errors import InputError, RecordError, plural
from grice.tables import Lines, Table, View, bounds, number, value_and_bounds

if TYPE_CHECKING:
    from grice.data import Finding
    from grice.evaluation.compare import CompareResult, MetricDifference
    from grice.evaluation.gate import GateResult, ShareBelow
    from grice.evaluation.ratings import Calibration, EstimateResult
    from grice.evaluation.rerank import Preference, Ranked


def compare(
    baseline: str,
    other: str,
    *,
    across_signatures: bool = False,
    difference: float | None = None,
    moved: int = 5,
    texts: str | None = None,
    seed: int = 0,
    report: OutputPath | None = None,
) -> Output:
    """Compare two versions: their scores, or the findings in their conversations.

    Args:
        baseline (A.jsonl): scores to compare with, of another tool FILE#COLUMN; or conversations,
            which the default rules of grice check then check
        other (B.jsonl): those of the other version for the same conversations
        difference (D): smallest relevant difference, for the sample size; default: the observed one
        moved (N): number of changed conversations to list, and of new and of resolved findings
        texts (CHATS): the scored conversations, to show the judged replies
        seed: permutation tests and resampling
    """
    from grice.evaluation.compare import compare

    result = compare(
        baseline,
        other,
        across_signatures=across_signatures,
        difference=difference,
        moved=moved,
        texts=texts,
        seed=seed,
    )
    if report is not None:
        from grice.report.exports import difference_page

        write_text(difference_page(result), report)
    return Output([result], _compare_view(result, moved))


def _compare_view(result: CompareResult, most: int) -> View:
    yield Lines([f"{result.other} against the baseline {result.baseline}"], style="bold")
    if not result.paired:
        yield Lines(["no conversation in common: means over the conversations of each, unpaired"])
    if result.of_findings:
        yield from _findings_view(result, most)
        return
    columns = ("metric", "baseline", "other", "difference", "95 % interval", "p (Holm)", "d_z", "n")
    yield Table(columns, map(_compared, result.metrics))
    for metric in result.metrics:
        yield Lines([metric.says])
        if result.paired:
            yield Lines(_left_out(metric), style="yellow", indent=2)
    yield Lines((f"not compared: {line}" for line in result.left_out), style="yellow")
    for metric in result.metrics:
        if metric.moved:
            yield from _moved_view(metric)


def _compared(metric: MetricDifference) -> Sequence[str]:
    comparison = metric.comparison
    if comparison is None or metric.baseline is None or metric.other is None:
        return (metric.metric, *"––––––", str(metric.pairs))
    return (
        metric.metric,
        number(metric.baseline.value),
        number(metric.other.value),
        number(comparison.difference.value, "+.3f"),
        bounds(comparison.difference, "+.3f"),
        number(comparison.p_value, ".2g"),
        number(comparison.d_z, "+.2f"),
        f"{comparison.difference.n:,}",
    )


def _left_out(metric: MetricDifference) -> Iterator[str]:
    for statuses, n in metric.unpaired.items():
        yield f"{plural(n, 'item')} {statuses}: left out"
    if metric.only_baseline or metric.only_other:
        only = f"{plural(metric.only_baseline, 'item')} only in the baseline"
        yield f"{only}, {metric.only_other:,} only in the other: left out"
        yield from metric.named


def _moved_view(metric: MetricDifference) -> View:
    from grice.text.markup import as_read

    yield Lines([f"moved most in {metric.metric}"], style="bold")
    for moved in metric.moved:
        yield Lines([f"{moved.difference:+.3f}  {moved.conversation}"], indent=2)
        for item in moved.items:
            place = "whole conversation" if item.turn is None else f"turn {item.turn}"
            yield Lines([f"{place}: {item.baseline:.3f} → {item.other:.3f}"], indent=10)
            if item.text:
                yield Lines([f"“{one_line(as_read(item.text), 100)}”"], indent=12)
            changes = (
                f"{change.measure} {number(change.baseline)} → {number(change.other)}: "
                f"{change.what}"
                for change in item.changes
            )
            yield Lines(changes, style="dim", indent=12)


def _findings_view(result: CompareResult, most: int) -> View:
    from grice.evaluation.compare import DIFFERENT

    yield Lines(["share of replies with a finding"])
    rows = (
        (f"{metric.metric} {result.rules.get(metric.metric, '')}", *_compared(metric)[1:5])
        for metric in result.metrics
    )
    yield Table(("rule", "baseline", "other", "difference", "95 % interval"), rows)
    every, *rules = result.metrics
    yield Lines([every.says])
    if result.paired:
        yield Lines(_left_out(every), style="yellow", indent=2)
    yield Lines(
        rule.says for rule in rules if rule.comparison and rule.comparison.verdict in DIFFERENT
    )
    for name, findings in (("new", result.new), ("resolved", result.resolved)):
        if findings:
            yield "\n"
            yield Lines([f"{name}: {plural(len(findings), 'finding')}"], style="bold")
            yield from listed(findings, most, f"--moved {len(findings)} lists all")


def listed(findings: Sequence[Finding], most: int, more: str) -> View:
    """Yield so many findings at most, one per line, then how to list the others."""
    from grice.report.findings import line

    yield Lines(map(line, findings[:most]), indent=2)
    if len(findings) > most:
        yield Lines([f"… and {len(findings) - most:,} more: {more}"], style="dim", indent=2)


STYLES = {"passed": "green", "failed": "bold red", "uncertain": "yellow"}
FINDINGS = 10  # listed under a failed gate
SHARE_BELOW = "METRIC:VALUE=SHARE, such as relevance:0.3=0.1"


def gate(
    scores: str,
    *,
    min_: Sequence[str] = (),
    max_share_below: Sequence[str] = (),
    max_failed: Sequence[str] = (),
    max_abstained: Sequence[str] = (),
    max_drop: Sequence[str] = (),
    max_findings: Sequence[str] = (),
    baseline: str | None = None,
    allow_uncertain: bool = False,
    junit: OutputPath | None = None,
    markdown: OutputPath | None = None,
) -> Output:
    """Check thresholds of scores or findings: exit status 0 passed, 1 failed, 2 unusable input.

    Args:
        scores (OUT.jsonl): scores of grice score; of another tool: FILE#COLUMN; - for stdin; with
            --max-findings conversations
        min_ (METRIC=VALUE): fail if the mean may be below VALUE (lower end of the 95 % interval);
            may be repeated
        max_share_below (METRIC:VALUE=SHARE): fail if more than SHARE of the items may score below
            VALUE (upper end of the 95 % interval); may be repeated
        max_failed ([METRIC=]SHARE): largest share of failed scores, of all metrics or of one
        max_abstained ([METRIC=]SHARE): largest share of abstained scores, of all metrics or of one
        max_drop ([METRIC=]DROP): fail if the mean may be more than DROP below that of the baseline
            (lower end of the interval of the difference), for all metrics or for one
        max_findings ([CODE=]SHARE): fail if more than SHARE of the replies may have a finding of
            the rules of a code, its beginning or name, of all default rules without one (upper end
            of the interval); without any finding it passes; may be repeated
        baseline (OLD.jsonl): the scores of an earlier run, for --max-drop
        allow_uncertain: pass a check if its estimate passes but its interval includes the threshold
        junit (FILE.xml): write JUnit XML
        markdown (FILE.md): write a summary
    """
    from grice.evaluation.gate import EVERY, Rules, gate_file
    from grice.evaluation.rates import ANY
    from grice.report.exports import junit as junit_of
    from grice.report.exports import markdown as markdown_of

    wanted = Rules(
        _by_metric("--min", min_, "METRIC=VALUE, such as relevance=0.6"),
        tuple(map(_share_below, max_share_below)),
        _by_metric("--max-failed", max_failed, "[METRIC=]SHARE", EVERY),
        _by_metric("--max-abstained", max_abstained, "[METRIC=]SHARE", EVERY),
        allow_uncertain,
        _by_metric("--max-drop", max_drop, "[METRIC=]DROP", EVERY),
        _by_metric("--max-findings", max_findings, "[CODE=]SHARE", ANY),
    )
    result = gate_file(scores, wanted, baseline)
    for output, written in ((junit, junit_of), (markdown, markdown_of)):
        if output is not None:
            write_text(written(result, scores), output)
    return Output([result], _gate_view(result, scores), DONE if result.passed else UNMET)


def _gate_view(result: GateResult, file: str) -> View:
    for check in result.checks:
        line = f"{check.verdict:9}  {check.metric}: {check.says}"
        yield Lines([line], style=STYLES[check.verdict])
    if not result.passed:
        yield from listed(result.findings, FINDINGS, f"grice check {file}")


def _by_metric(
    flag: str, thresholds: Sequence[str], form: str, every: str = ""
) -> dict[str, float]:
    """Return thresholds by metric, ``every`` without one; two for one metric are refused."""
    by_metric: dict[str, float] = {}
    for text in thresholds:
        metric, value = named_number(flag, text, form)
        name = metric or every
        if name in by_metric:
            pair = f"{by_metric[name]:g} and {value:g}"
            raise InputError(f"{flag}: two thresholds for {name}, {pair}")
        by_metric[name] = value
    return by_metric


def _share_below(text: str) -> ShareBelow:
    from grice.evaluation.gate import ShareBelow

    option = "--max-share-below"
    place, share = named_number(option, text, SHARE_BELOW)
    metric, value = named_number(option, place, SHARE_BELOW, between=":")
    return ShareBelow(metric, value, share)


WIDTH = 69  # characters of a turn that are shown: a line of a terminal


def rerank(
    files: Sequence[str],
    *,
    candidates: str = "candidates",
    blend: Literal["mean", "geometric", "min", "max"] = "mean",
    weight: Sequence[str] = (),
    veto: Sequence[str] = (),
    held_out: Names = (),
    reading: Input,
    output: OutputPath | None = None,
    top: Count = 5,
    pairs: bool = False,
    margin: float | None = None,
    length_ratio: float | None = None,
    agreement: bool = False,
    scoring: Scoring,
) -> Output:
    """Choose the best of several candidate replies by metrics.

    Args:
        files (FILE): conversations to continue, each with a field of candidate replies; - for
            stdin
        candidates (FIELD): name of that field
        blend: combination of several metrics
        weight (METRIC=WEIGHT): of a metric in the blend (default 1); may be repeated
        veto (METRIC=VALUE): a candidate below VALUE is ranked after all others; may be repeated
        held_out (NAMES): metrics that are computed and shown but not used for the choice
        output: one line per context with its ranked candidates; with --pairs one line per pair
        pairs: preference pairs for training, the best and the worst candidate of each context:
            prompt, chosen, rejected
        margin (M): for pairs: smallest difference of the two values (default 0.1)
        length_ratio (R): for pairs: the longer reply has at most R times the words of the shorter
        agreement: for pairs: no metric may prefer the rejected reply
    """
    from grice.evaluation.rerank import Blend, preferences, rerank
    from grice.scoring.api import default_preset, named_preset

    filters: dict[str, Any] = {"margin": margin, "length_ratio": length_ratio}
    filters = {name: value for name, value in filters.items() if value is not None}
    filters |= {"agreement": True} if agreement else {}
    given = ", ".join(f"--{name.replace('_', '-')}" for name in filters)
    if given and not pairs:
        raise InputError(f"{given}: only pairs are filtered; add --pairs")
    weights = dict(named_number("--weight", text) for text in weight)
    vetoes = dict(named_number("--veto", text) for text in veto)
    chosen = names(scoring.metrics)
    if not chosen:
        preset = named_preset(scoring.models or default_preset())
        chosen = [*scoring.registry.defaults(), *preset.metrics]
    left_out = dict.fromkeys([*held_out, *(name for name in vetoes if name not in chosen)])
    metrics = list(dict.fromkeys((*chosen, *weights, *left_out)))
    check_options(scoring, metrics)
    how = Blend(blend, weights=weights, vetoes=vetoes, held_out=tuple(left_out))
    broken: list[RecordError] = []
    with loader(scoring)(metrics) as grader:
        found = rerank(conversations(files, reading), grader.scorer, how, field=candidates)
        ranked = list(usable(found, broken))
    if not ranked:
        raise InputError("no record could be used: each needs turns and candidates")
    rows: Sequence[object] = ranked
    view = _ranked_view(ranked, top)
    if pairs:
        refused: Counter[str] = Counter()
        rows = preferred = list(preferences(ranked, refused, **filters))
        view = _pairs_view(preferred, refused)
    if output is not None:
        write_rows(rows, output)
    return Output(rows, view, PARTIAL if broken else DONE)


def _ranked_view(ranked: Sequence[Ranked], top: int) -> View:
    for item in ranked[:top]:
        yield Lines([item.conversation], style="bold")
        yield Lines([f"> {one_line(turn.text, WIDTH)}" for turn in item.turns[-1:]], indent=3)
        for place, candidate in enumerate(item.candidates):
            text = one_line(candidate.text, WIDTH).strip() or "(empty)"
            value = "   –" if candidate.value is None else f"{candidate.value:.2f}"
            yield Lines([f"{value} {text}"], indent=3)
            reasons = [
                f"{score.metric} {score.value:.2f}" + (f": {score.reason}" if score.reason else "")
                for score in (candidate.scores if place == 0 else ())
                if score.value is not None
            ]
            if candidate.vetoed:
                reasons.append(f"vetoed by {', '.join(candidate.vetoed)}")
            yield Lines(reasons, indent=8, style="italic")
        left_out = (f"{metric} not used: {why}" for metric, why in item.left_out.items())
        yield Lines(left_out, indent=3, style="dim")
    if len(ranked) > top:
        more = f"… and {plural(len(ranked) - top, 'context')}: -o FILE.jsonl"
        yield Lines([more], style="dim")
    others = sum(item.best.index != 0 for item in ranked)
    undecided = sum(item.tied > 1 for item in ranked)
    counts = f"a later candidate is best in {others:,}; tied in {undecided:,}"
    yield Lines([f"{plural(len(ranked), 'context')}; {counts}"], style="bold")


def _pairs_view(pairs: Sequence[Preference], refused: Counter[str]) -> View:
    of = plural(len(pairs) + refused.total(), "context")
    yield Lines([f"{plural(len(pairs), 'pair')} from {of}"], style="bold")
    yield Lines([f"{count:,} left out: {why}" for why, count in refused.most_common()], indent=2)
    if pairs:
        longer = sum(
            len(pair.chosen[0]["content"].split()) > len(pair.rejected[0]["content"].split())
            for pair in pairs
        )
        margins = sorted(pair.margin for pair in pairs)
        facts = [
            ("median margin", f"{margins[len(margins) // 2]:.3f}"),
            ("the chosen reply is the longer one", f"{longer / len(pairs):.0%}"),
        ]
        yield Table((), facts)


def calibrate(
    files: Sequence[str],
    *,
    output: OutputPath | None = None,
    apply: str | None = None,
    metrics: Names = (),
    scale: Scale | None = None,
    level: float = 0.9,
    across_signatures: bool = False,
    seed: int = 0,
) -> Output | None:
    """Map scores to the scale of your raters, from a few ratings.

    Args:
        files (FILE): LABELS.jsonl OUT.jsonl to fit a map; with --apply OUT.jsonl alone; scores of
            another tool are FILE#COLUMN
        output: the map; with --apply the calibrated scores, one per line
        apply (MAP.json): apply this map
        metrics: all by default
        seed: every split
    """
    from grice.evaluation import ratings

    if apply is not None:
        if len(files) != 1:
            raise InputError("--apply takes one file of scores, as grice score wrote it")
        read = ratings.read_calibration(apply)
        rows = ratings.apply(read, files[0], across_signatures=across_signatures)
        write_rows(rows, output)
        return None
    if len(files) != 2:
        raise InputError(
            "to fit a map give two files, grice calibrate LABELS.jsonl OUT.jsonl -o MAP.json; to "
            "apply one, grice calibrate --apply MAP.json OUT.jsonl"
        )
    result = ratings.calibrate(*files, metrics=metrics, scale=scale, level=level, seed=seed)
    if output is not None:
        write_rows([result], output)
    return Output([result], _map_view(result))


def _map_view(calibration: Calibration) -> View:
    rows = []
    for fitted in calibration.maps:
        ratings, radius = fitted.map.ratings, fitted.map.radius
        rows.append(
            (
                fitted.metric,
                *value_and_bounds(fitted.correlation, "+.2f"),
                f"{ratings[0]:.2f} – {ratings[-1]:.2f}",
                "whole scale" if radius is None else f"± {radius:.2f}",
                f"{fitted.n:,}",
            )
        )
    band = f"{calibration.maps[0].map.level:.0%} band"
    yield Table(("metric", "Spearman", "95 % interval", "ratings", band, "n"), rows)
    yield Lines(calibration.says)


def estimate(
    labels: str,
    scores: str,
    *,
    metrics: Names = (),
    scale: Scale | None = None,
    level: float = 0.95,
) -> Output:
    """Estimate the mean rating of all conversations from a few ratings.

    Args:
        labels (LABELS): ratings of a random sample
        scores (OUT.jsonl): scores of all conversations; of another tool: FILE#COLUMN
        metrics: all by default
    """
    from grice.evaluation.ratings import estimate

    result = estimate(labels, scores, metrics=metrics, scale=scale, level=level)
    return Output([result], _estimate_view(result))


def _estimate_view(result: EstimateResult) -> View:
    rated, others = f"{result.labelled:,} rated", f"{result.unlabelled:,} other {result.unit}s"
    yield Lines([f"{rated} and {others}"], style="bold")
    alone = result.labels_only
    rows: list[tuple[str, ...]] = [("labels alone", *value_and_bounds(alone), "", "")]
    for metric in result.metrics:
        saved = (number(metric.labels_saved, "+.0f"), f"{metric.weight:.2f}")
        rows.append((f"with {metric.metric}", *value_and_bounds(metric.mean), *saved))
    yield Table(("mean rating", "", f"{alone.level:.0%} interval", "labels saved", "weight"), rows)
    yield Lines(line for metric in result.metrics for line in metric.says)
    yield Lines([*([alone.note] if alone.note else []), *result.remarks], style="yellow")
