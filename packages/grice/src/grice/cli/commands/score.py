"""``grice score``: scores for every reply of files of conversations."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Literal

from grice.cli.derive import names
from grice.cli.options import (
    check_options,
    chosen_preset,
    columns_of,
    load_grader,
    loader,
    opened,
    recommend_larger,
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
from grice.errors import InputError, plural
from grice.progress import track
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Count, Endpoints, Input, OutputPath, Scoring
    from grice.evaluation.review import Review
    from grice.models.endpoint import Usage
    from grice.scoring.api import Grader
    from grice.scoring.loaded import LoadedMetric
    from grice.scoring.run import Run
    from grice.scoring.summary import Summary
    from grice.tables import View

FIRST = 5
"""Replies that are named as those to check first, and unreadable records that are shown."""


def run(
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
        output (OUT.jsonl): a score a line, or a table (.parquet, .arrow); the summary is printed
        bad_records: skip and count a record that cannot be read (exit status 4), or end the run (2)
        resume: finish the interrupted run of OUT.jsonl (the default)
        sample (N): score N conversations, drawn at random, instead of all
        seed: --sample
        blend (HOW:METRIC,METRIC): also score by the min, max, mean or geometric mean of metrics
            that are run; may be repeated
        engine: score each file by a worker; -o is then a folder
        address (URL): of a running cluster; default: workers are started here
    """
    from grice.evaluation.review import Reviewer
    from grice.readers import part_read
    from grice.report import page_of
    from grice.scoring.blended import blend_of
    from grice.scoring.presets import SMALL
    from grice.scoring.run import Run, keeps_unfinished
    from grice.scoring.summary import notes

    check_options(scoring)
    if engine is not None:
        for option, value in (("sample", sample), ("report", report), ("blend", blend or None)):
            if value is not None:
                raise InputError(f"--{option} needs a run in this process: leave out --engine")
        if output is None:
            raise InputError("--engine writes a shard for each file: name a folder with -o FOLDER")
        return _score_on_engine(engine, files, str(output), scoring, reading, speaker, address)
    reviewer = Reviewer(FIRST)
    with ExitStack() as stack:
        readings = [stack.enter_context(each) for each in opened(files, reading)]
        grader = stack.enter_context(load_grader(scoring, speaker))
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
            with page_of(report, readings, scorer, INVOCATION.get().command()) as page:
                for talk, scores in track(scored, "conversations", sample, part=part):
                    reviewer.add(talk, scores)
                    if page is not None:
                        page.add(talk, scores)
                if page is not None:
                    page.close(scored.summary)
        except KeyboardInterrupt:
            if keeps_unfinished(to):
                warn(f"{to} is unfinished; the same command goes on")
            raise
        finally:
            for line in usage_lines(grader.usage, planned=False):  # also of a run that fails
                note(line)
    summary = scored.summary
    for line in notes(summary):
        note(line)
    if to is None or to not in ("-", "/dev/stdout"):
        emit([summary.record()], summary_view(summary, reviewer.review()), as_json=json)
    elif summary.skipped:
        for problem in summary.problems:
            warn(problem)
        warn(f"{plural(summary.skipped, 'record')} could not be read")
    if scored.judged_nobody:
        speakers = " or ".join(speaker)
        warn(f"no turn is by {speakers}: --speaker takes names and roles as the file writes them")
        return UNUSABLE
    _warn_of_failures(summary)
    if chosen_preset(scoring) == SMALL:
        recommend_larger(names(scoring.metrics))
    if not summary.skipped and not summary.failed:
        return DONE
    return UNUSABLE if summary.failed == summary.scores else PARTIAL


def _plan(run: Run, asking: Sequence[LoadedMetric], grader: Grader) -> Output:
    """Estimate the requests to endpoints; only metrics that send some are run."""
    if not asking:
        return Output([], [Lines(["no metric asks an endpoint: nothing would be sent"])])
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
            if common and common.count > 1:
                often = f"most often ({common.count:,}): {one_line(common.reason)}; "
            first = one_line(metric.failure or "")
            warn(f"{metric.metric}: {failed:,} of {scores} failed, {often}the first: {first}")


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
        shards.append(shard)
        if shard.problem is not None:
            warn(shard.problem)
        elif shard.scores is None:
            note(f"{shard.source}: was scored before")
        else:
            note(f"{shard.source}: {plural(shard.scores, 'score')}, {shard.failed:,} failed")
    broken = sum(shard.problem is not None for shard in shards)
    failed = any(shard.failed for shard in shards)
    written = plural(len(shards) - broken, "shard")
    line = f"{written} in {output}, each named by a hash of its input"
    status = UNUSABLE if broken == len(shards) else PARTIAL if broken or failed else DONE
    return Output(shards, [Lines([line])], status)


def summary_view(summary: Summary, worst: Review | None = None) -> View:
    """Show a run: a line per metric, the lowest replies, and those to check first."""
    drawn = summary.sample
    of = f", drawn of {drawn.of:,} (seed {drawn.seed})" if drawn else ""
    conversations = plural(summary.conversations, "conversation")
    yield Lines([f"{conversations}, {plural(summary.turns, 'turn')}{of}"], style="bold")
    rows = []
    for metric in summary.metrics:
        counts = [f"{metric.counts.get(status, 0):,}" for status in ("ok", "abstained", "failed")]
        mean = number(metric.mean.value if metric.mean else None)
        rows.append((metric.metric, mean, bounds(metric.mean), *counts))
    yield Table(("metric", "mean", "95 % interval", "ok", "abstained", "failed"), rows)
    for metric in summary.metrics:
        if metric.lowest:
            yield Lines(["", f"lowest {metric.metric}"], style="bold")
            for low in metric.lowest:
                yield _turn(number(low.value), low.conversation, low.turn, low.text, low.reason)
    flawed = [item for item in worst.items if item.has_flaw] if worst else []
    if worst and flawed:
        from grice.detectors import in_words

        title = "to look at first, by the probability that a person would mark it"
        yield Lines(["", title], style="bold")
        if worst.certain:
            yield Lines([f"certain flaws: {in_words(worst.certain)}"])
        for item in flawed:
            why = f"{item.headline}, by {item.metric}" if item.metric else item.headline
            why += f": {item.reason}" if item.reason else ""
            yield _turn(item.certainty, item.conversation, item.turn, item.reply, why)
    if summary.skipped:
        skipped = plural(summary.skipped, "record")
        yield Lines(["", f"{skipped} could not be read"], style="bold red")
        yield Lines(summary.problems[:FIRST], indent=2)
        if summary.skipped > FIRST:
            yield Lines([f"… and {summary.skipped - FIRST:,} more"], indent=2)


def _turn(value: str, conversation: str, turn: int | None, text: str, reason: str | None) -> Table:
    """Show a value beside its place and text, and the reason."""
    from grice.text.markup import as_read

    place = one_line(conversation if turn is None else f"{conversation} #{turn}")
    shown = f"{place}  {one_line(as_read(text))}" if text else place
    return Table((), [(f"{value:>6}", shown), *([("", one_line(reason))] if reason else [])])
