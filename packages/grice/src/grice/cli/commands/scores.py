"""Commands on scores of conversations: score, report and explain."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grice.cli.derive import Count, Endpoints, Input, OutputPath, Scoring, names
from grice.cli.options import (
    check_options,
    columns_of,
    load_grader,
    loader,
    opened,
    suggest_larger,
)
from grice.cli.output import (
    DONE,
    INVOCATION,
    PARTIAL,
    UNUSABLE,
    Output,
    emit,
    note,
    one_line,
    warn,
)
from grice.errors import LONGEST, InputError, plural, redacted
from grice.progress import tracking
from grice.tables import Lines, Table, View, number, value_and_bounds

if TYPE_CHECKING:
    from grice.data import Conversation, Evidence, Score
    from grice.detectors.check import Check
    from grice.evaluation.perturbed import Counterfactual
    from grice.evaluation.ranking import Ranking
    from grice.models.endpoint import Usage
    from grice.scoring.api import Grader
    from grice.scoring.loaded import LoadedMetric
    from grice.scoring.run import Run
    from grice.scoring.summary import Summary

FIRST = 5
"""Number of replies listed to check first, and of unreadable records that are shown."""


def score(
    files: Sequence[str],
    *,
    output: OutputPath | None = None,
    report: OutputPath | None = None,
    reading: Input,
    speaker: Sequence[str] = (),
    bad_records: Literal["skip", "fail"] = "skip",
    resume: bool = True,
    sample: Count | None = None,
    seed: int = 0,
    blend: Sequence[str] = (),
    engine: Literal["dask", "ray", "spark"] | None = None,
    address: str | None = None,
    endpoints: Endpoints,
    scoring: Scoring,
    json: bool,
) -> Output | int:
    """Score the replies in files of conversations.

    Args:
        files (FILE): conversations in any known format, gzipped or not; a directory; a URL of a
            store, such as s3://…; - for standard input
        output (OUT.jsonl): a score per line, or a table (.parquet, .arrow); the summary is printed
        bad_records: skip and count a record that cannot be read (exit status 4), or end the run (2)
        resume: finish the interrupted run of OUT.jsonl (the default)
        sample (N): score N conversations, drawn at random, instead of all
        seed: --sample
        blend (HOW:METRIC,METRIC): also score by the min, max, mean or geometric mean of metrics
            that are run; may be repeated
        engine: score each file by a worker; -o is then a folder
        address (URL): of a running cluster; default: workers are started here
    """
    from grice.evaluation.ranking import Ranker
    from grice.readers import part_read
    from grice.report import page_of
    from grice.scoring.blended import blend_of
    from grice.scoring.run import Run, keeps_unfinished
    from grice.scoring.summary import notes

    check_options(scoring)
    if engine is not None:
        for option, value in (
            ("sample", sample),
            ("report", report),
            ("blend", blend or None),
            ("rubric", scoring.rubric or None),
        ):
            if value is not None:
                raise InputError(f"--{option} needs a run in this process: leave out --engine")
        if output is None:
            raise InputError("--engine writes a shard for each file: name a folder with -o FOLDER")
        return _score_on_engine(engine, files, str(output), scoring, reading, speaker, address)
    with ExitStack() as stack:
        readings = [stack.enter_context(each) for each in opened(files, reading)]
        grader = stack.enter_context(load_grader(scoring, speaker, skip_missing=True))
        blends = [blend_of(stated, grader.scorer.metrics) for stated in blend]
        scorer = grader.scorer._replace(blends=blends)
        open_run = partial(Run, readings, bad_records=bad_records, sample=sample, seed=seed)
        if endpoints.dry_run:
            asking = [loaded for loaded in scorer.metrics if loaded.asks_endpoint]
            return _plan(open_run(grader.scorer._replace(metrics=asking)), asking, grader)
        to = str(output or "-") if output or json or not sys.stdout.isatty() else None
        scored = open_run(scorer, to, format=reading.format, resume=resume)
        part = None if sample else partial(part_read, readings)
        try:
            with (
                page_of(report, readings, scorer, INVOCATION.get().command()) as page,
                tracking("conversations", sample, part) as advance,
            ):
                ranker = page.ranker if page is not None else Ranker(FIRST)
                for talk, scores in scored:
                    (page or ranker).add(talk, scores)
                    advance(1)
                if page is not None:
                    page.close(scored.summary)
        except KeyboardInterrupt:
            if keeps_unfinished(to):
                warn(f"{to} is unfinished; the same command resumes it")
            raise
        finally:
            for line in usage_lines(grader.usage, planned=False):  # also of a run that fails
                note(line)
    summary = scored.summary
    for line in notes(summary):
        note(line)
    if to is None or to not in ("-", "/dev/stdout"):
        checked = ranker.checker.check()
        record = summary.record() | {"findings": checked.counts()}
        emit([record], _summary_view(summary, ranker.ranking(), checked), as_json=json)
    elif summary.skipped:
        for problem in summary.problems:
            warn(problem)
        warn(f"{plural(summary.skipped, 'record')} could not be read")
    if scored.judged_nobody:
        speakers = " or ".join(speaker)
        warn(f"no turn is by {speakers}: --speaker takes names and roles as the file writes them")
        return UNUSABLE
    _warn_of_failures(summary)
    suggest_larger(grader.scorer.preset)
    if not (summary.skipped or summary.failed or grader.missing):
        return DONE
    return UNUSABLE if summary.failed == summary.scores else PARTIAL


def _plan(run: Run, asking: Sequence[LoadedMetric], grader: Grader) -> Output:
    """Estimate the requests to endpoints; only metrics that send some are run."""
    if not asking:
        return Output([], [Lines(["no metric uses an endpoint: nothing would be sent"])])
    for _ in run:
        pass
    summary = run.summary
    metrics = ", ".join(loaded.metric.name for loaded in asking)
    items = plural(sum(sum(metric.counts.values()) for metric in summary.metrics), "judgement")
    lines = [f"{items} by {metrics}; nothing was sent", *usage_lines(grader.usage, planned=True)]
    return Output(grader.usage, [Lines(lines)], PARTIAL if summary.skipped else DONE)


def usage_lines(usages: Sequence[Usage], *, planned: bool) -> Iterator[str]:
    """Yield the requests to endpoints in words."""
    if usages:
        from grice.models.endpoint import in_words

        for usage in usages:
            yield from in_words(usage, planned=planned)


def _warn_of_failures(summary: Summary) -> None:
    for metric in summary.metrics:
        if failed := metric.counts.get("failed", 0):
            scores = plural(sum(metric.counts.values()), "score")
            common, often = metric.reasons.get("failed"), ""
            first = one_line(metric.failure or "")
            if common and 1 < common.count < failed:
                often = f", most often ({common.count:,}): {one_line(common.reason)}"
            warn(f"{metric.metric}: {failed:,} of {scores} failed{often}; the first: {first}")


def _score_on_engine(
    engine: str,
    files: Sequence[str],
    output: str,
    scoring: Scoring,
    reading: Input,
    speakers: Sequence[str],
    address: str | None,
) -> Output:
    """Score each file by a worker; the status is 4 if a file could not be scored."""
    from msgspec.structs import replace

    from grice.integrations import Grading, score_on

    chosen = loader(scoring, speakers).keywords
    grading = Grading(
        tuple(names(scoring.metrics)),
        options=chosen["options"],
        speakers=tuple(speakers),
        mode=scoring.mode,
        plugins=tuple(str(path.resolve()) for path in scoring.plugin),
        models=chosen["models"],
        format=reading.format,
        columns=columns_of(reading),
    )
    shards = []
    for shard in score_on(engine, files, output, grading, address=address):
        shards.append(replace(shard, source=redacted(shard.source), shard=redacted(shard.shard)))
        if shard.problem is not None:
            warn(shard.problem)
            continue
        scores = "was scored before"
        if shard.scores is not None:
            scores = f"{plural(shard.scores, 'score')}, {shard.failed:,} failed"
        note(f"{shard.source}: {scores}")
    broken = sum(shard.problem is not None for shard in shards)
    failed = broken or any(shard.failed for shard in shards)
    written = plural(len(shards) - broken, "shard")
    folder = redacted(output)
    then = f"grice report {folder} FILE … -o OUT.html"
    line = f"{written} in {folder}; for means and lowest replies: {then}"
    status = UNUSABLE if broken == len(shards) else PARTIAL if failed else DONE
    return Output(shards, [Lines([line])], status)


def _summary_view(
    summary: Summary, worst: Ranking | None = None, checked: Check | None = None
) -> View:
    from grice.report.findings import RULE_COLUMNS, rule_rows

    drawn = summary.sample
    of = f", drawn of {drawn.of:,} (seed {drawn.seed})" if drawn else ""
    conversations = plural(summary.conversations, "conversation")
    yield Lines([f"{conversations}, {plural(summary.turns, 'turn')}{of}"], style="bold")
    rows = []
    for metric in summary.metrics:
        counts = [f"{metric.counts.get(status, 0):,}" for status in ("ok", "abstained", "failed")]
        rows.append((metric.metric, *value_and_bounds(metric.mean), *counts))
    yield Table(("metric", "mean", "95 % interval", "ok", "abstained", "failed"), rows)
    if checked and (rows := rule_rows(checked)):
        yield "\n"
        found = plural(checked.flawed, "reply has", "replies have")
        yield Lines([f"{found} a finding of a rule, of {checked.replies:,}"], style="bold")
        yield Table(RULE_COLUMNS, rows, words=2)
    for metric in summary.metrics:
        if metric.lowest:
            yield "\n"
            yield Lines([f"lowest {metric.metric}"], style="bold")
        for low in metric.lowest:
            yield _turn(number(low.value), low.conversation, low.turn, low.text, low.reason)
    flawed = [item for item in worst.items if item.has_flaw] if worst else []
    if worst and flawed:
        title = "to look at first"
        yield "\n"
        yield Lines([title], style="bold")
        for item in flawed[:FIRST]:
            why = item.reason + (f" ({item.metric})" if item.metric else "")
            yield _turn(item.certainty, item.conversation, item.turn, item.reply, why)
    if summary.skipped:
        skipped = plural(summary.skipped, "record")
        yield "\n"
        yield Lines([f"{skipped} could not be read"], style="bold red")
        yield Lines(summary.problems[:FIRST], indent=2)
        if summary.skipped > FIRST:
            yield Lines([f"… and {summary.skipped - FIRST:,} more"], indent=2)


def _turn(value: str, conversation: str, turn: int | None, text: str, reason: str | None) -> Table:
    from grice.text.markup import as_read

    place = one_line(conversation if turn is None else f"{conversation} #{turn}")
    shown = f"{place}  {one_line(as_read(text))}" if text else place
    return Table((), [(f"{value:>6}", shown), *([("", one_line(reason))] if reason else [])])


def report(
    scores: str, conversations: Sequence[str], *, output: OutputPath, plugin: Sequence[Path] = ()
) -> Output:
    """Write the HTML report of a run from its scores or a folder of shards.

    Args:
        scores (OUT): scores of grice score: a file, or a folder of shards
        conversations (FILE): the conversations that were scored
        output (OUT.html): the page
    """
    from grice.report.writer import report_scores
    from grice.scoring.summary import notes

    command = INVOCATION.get().command()
    summary = report_scores(scores, conversations, output, plugins=plugin, command=command)
    for line in notes(summary):
        note(line)
    return Output([summary.record()], _summary_view(summary))


def explain(
    turns: Sequence[str] = (),
    *,
    file: str | None = None,
    id_: str | None = None,
    turn: int | None = None,
    reading: Input,
    what_if: bool = False,
    scoring: Scoring,
) -> Output:
    """Score one reply and show the evidence.

    Args:
        turns (TURN): the texts, one argument a turn; the last one is the reply
        file (FILE): read the conversation from this file
        id_ (ID): id of the conversation in the file
        turn (N): index of the reply, from 0
        what_if: also try which single change of knowledge or text would raise the score
    """
    from grice.evaluation.perturbed import counterfactuals
    from grice.readers import find_conversation

    check_options(scoring)
    if file is None:
        conversation = _conversation(turns, is_placed=id_ is not None or turn is not None)
    elif turns:
        raise InputError("give either turns or --file, not both")
    else:
        conversation = find_conversation(
            file, id=id_, turn=turn, format=reading.format, columns=columns_of(reading)
        )
    with load_grader(scoring, skip_missing=True) as grader:
        scores = grader.score(conversation)
        loaded = {metric.metric.name: metric for metric in grader.scorer.metrics}
        changes = {
            score.metric: counterfactuals(loaded[score.metric], conversation, score)
            for score in (scores if what_if else ())
        }
    failed = sum(score.status == "failed" for score in scores)
    texts = [each.text for each in conversation.turns]
    return Output(
        [*scores, *chain.from_iterable(changes.values())],
        chain(_scores_view(scores, texts), _changes_view(changes)),
        UNUSABLE
        if failed and failed == len(scores)
        else PARTIAL
        if failed or grader.missing
        else DONE,
    )


def _scores_view(scores: Sequence[Score], texts: Sequence[str]) -> View:
    """Show scores with all their evidence; ``texts`` are the turns of the conversation."""
    for score in scores:
        status = "" if score.status == "ok" else f"  {score.status}"
        flags = f"  ({', '.join(score.flags)})" if score.flags else ""
        yield Lines([f"{score.metric}  {number(score.value)}{status}{flags}"], style="bold")
        if score.reason:
            yield Lines([score.reason], indent=2, style="italic")
        for evidence in score.evidence:
            first, *more = _described(evidence, texts)
            yield Lines([first], indent=2, longest=LONGEST)
            yield Lines(more, indent=8, longest=LONGEST)


def _described(evidence: Evidence, texts: Sequence[str]) -> list[str]:
    from grice.data import FeatureEvidence, TripleEvidence, TurnEvidence
    from grice.text.markup import as_read

    match evidence:
        case TripleEvidence(triple=triple, plausibility=plausibility, known=known):
            written = f"{one_line(triple.head)} —{triple.relation}→ {one_line(triple.tail)}"
            lines = [f"{plausibility:.2f}  {written}"]
            if known:
                relation = "known to the contrary" if known.opposes else "nearest known"
                lines.append(
                    f"{relation}: {one_line(known.head)} → {one_line(known.tail)} "
                    f"(heads {known.head_similarity:.2f}, tails {known.tail_similarity:.2f}, "
                    f"{known.source})"
                )
            return lines
        case TurnEvidence(turn=turn, effect=effect):
            return [f"{effect:+.2f}  #{turn} {one_line(as_read(texts[turn]))}"]
        case FeatureEvidence(name=name, value=value, effect=None):
            return [f"{one_line(name)} = {round(value, 3):g}"]
        case FeatureEvidence(name=name, value=value, effect=effect):
            return [f"{effect:+.2f}  {one_line(name)} = {round(value, 3):g}"]


def _changes_view(changes: Mapping[str, Sequence[Counterfactual]]) -> View:
    for metric, tried in changes.items():
        yield Lines([f"changes that would raise {metric}"], style="bold")
        lines = []
        best = {change.kind: change for change in reversed(tried)}
        for change in sorted(best.values(), key=lambda change: -change.lift):
            what = "knowing" if change.kind == "knowledge" else "without the words"
            lines.append(f"{change.value:.3f}  ({change.lift:+.3f})  {what}: {change.change}")
        yield Lines(lines or ["none of the changes that were tried"], indent=2)


def _conversation(texts: Sequence[str], *, is_placed: bool) -> Conversation:
    """Return the conversation of the arguments, said by two speakers in turn."""
    from grice.data import Conversation, Turn

    if not texts:
        raise InputError(
            'nothing to explain: give the turns, as in grice explain "How are you?" '
            '"Fine, thanks.", or --file FILE --id ID --turn N'
        )
    # A reply may be longer than a path can be, for which pathlib raises an error.
    if len(texts) == 1 and os.path.isfile(texts[0]):  # noqa: PTH113
        raise InputError(
            f"{texts[0]} is a file: give it as --file {texts[0]}, with --id ID and --turn N where "
            "it holds several"
        )
    if is_placed:
        raise InputError("--id and --turn need --file FILE")
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    return Conversation("talk", turns, targets=(len(turns) - 1,))
