"""``grice score``: scores for every reply of files of conversations."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal

from grice.cli.derive import names
from grice.cli.options import (
    check_options,
    chosen_preset,
    columns_of,
    load_grader,
    loader,
    recommend_larger,
)
from grice.cli.output import Output, emit_rows
from grice.cli.streams import DONE, PARTIAL, QUIET, TYPED, UNUSABLE, note, warn
from grice.errors import InputError, plural
from grice.progress import watched
from grice.tables import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Count, Endpoints, Input, OutputPath, Scoring
    from grice.cli.progress import Progress
    from grice.evaluation.review import Reviewer
    from grice.integrations import Grading
    from grice.readers import Reading
    from grice.scoring.api import Grader
    from grice.scoring.loaded import LoadedMetric
    from grice.scoring.run import Run
    from grice.scoring.summary import Summary

EXTRAS = ("dask", "ray", "spark")
FIRST = 5
"""Replies that are named as those to check first."""


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
    from grice.readers import read
    from grice.report import page_of
    from grice.scoring.blended import blend_of
    from grice.scoring.presets import SMALL
    from grice.scoring.run import Run, keeps_unfinished

    check_options(scoring)
    if engine is not None:
        for option, value in (("sample", sample), ("report", report), ("blend", blend or None)):
            if value is not None:
                raise InputError(f"--{option} needs a run in this process: leave out --engine")
        if output is None:
            raise InputError("--engine writes a shard for each file: name a folder with -o FOLDER")
        chosen = _grading(scoring, reading, speaker)
        return _score_on_engine(engine, files, str(output), chosen, address)
    with ExitStack() as stack:
        readings = [
            stack.enter_context(read(file, format=reading.format, columns=columns_of(reading)))
            for file in files
        ]
        grader = stack.enter_context(load_grader(scoring, speaker))
        blends = [blend_of(stated, grader.scorer.metrics) for stated in blend]
        scorer = grader.scorer._replace(blends=blends)
        open_run = partial(Run, readings, bad_records=bad_records, sample=sample, seed=seed)
        if endpoints.dry_run:
            asking = [loaded for loaded in grader.scorer.metrics if loaded.asks_endpoint]
            return _plan(open_run(grader.scorer._replace(metrics=asking)), asking, grader)
        reviewer = Reviewer(FIRST)
        printed = json or not sys.stdout.isatty()
        to = str(output or "-") if output or printed else None
        scored = open_run(scorer, to, format=reading.format, resume=resume)
        command = shlex.join(["grice", *TYPED.get()])
        try:
            with (
                _progress(readings, sample) as progress,
                page_of(report, readings, scorer, command) as page,
            ):
                watching = [watcher for watcher in (page, progress, reviewer) if watcher]
                for talk, scores in scored:
                    for watcher in watching:
                        watcher.add(talk, scores)
                if page is not None:
                    page.close(scored.summary)
        except KeyboardInterrupt:
            if keeps_unfinished(to):
                warn(f"{to} is unfinished; the same command goes on")
            raise
        finally:
            _report_usage(grader)
    summary = scored.summary
    _show(readings, summary, reviewer, output, as_json=json)
    if scored.judged_nobody:
        speakers = " or ".join(speaker)
        warn(f"no turn is by {speakers}: --speaker takes names and roles as the file writes them")
        return UNUSABLE
    status = _status(summary)
    if chosen_preset(scoring) == SMALL:
        recommend_larger(names(scoring.metrics))
    return status


def _plan(run: Run, asking: Sequence[LoadedMetric], grader: Grader) -> Output:
    """Estimate the requests to endpoints; only metrics that send some are run."""
    from grice.models.endpoint import in_words

    if not asking:
        return Output([], [Lines(["no metric asks an endpoint: nothing would be sent"])])
    for _ in run:
        pass
    summary = run.summary
    metrics = ", ".join(loaded.metric.name for loaded in asking)
    items = plural(sum(sum(metric.counts.values()) for metric in summary.metrics), "judgement")
    lines = [f"{items} by {metrics}; nothing was sent"]
    lines += [line for usage in grader.usage for line in in_words(usage, planned=True)]
    return Output(grader.usage, [Lines(lines)], PARTIAL if summary.skipped else DONE)


def _report_usage(grader: Grader) -> None:
    """Print the requests to endpoints, also of a run that fails."""
    if grader.usage:
        from grice.models.endpoint import in_words

        for usage in grader.usage:
            for line in in_words(usage, planned=False):
                note(line)


@contextmanager
def _progress(readings: Sequence[Reading], sample: int | None) -> Iterator[Progress | None]:
    """Draw a progress bar on a terminal."""
    if QUIET.get() or not sys.stderr.isatty():
        yield None
        return
    from grice.cli.progress import Progress

    with watched(None), Progress(readings, sample) as progress:  # one bar at a time
        yield progress


def _status(summary: Summary) -> int:
    """Report failed scores, and return the exit status of a finished run."""
    from grice.cli.terminal import one_line

    for metric in summary.metrics:
        if failed := metric.counts.get("failed", 0):
            scores = plural(sum(metric.counts.values()), "score")
            common, often = metric.reasons.get("failed"), ""
            if common and common.count > 1:
                often = f"most often ({common.count:,}): {one_line(common.reason)}; "
            first = one_line(metric.failure or "")
            warn(f"{metric.metric}: {failed:,} of {scores} failed, {often}the first: {first}")
    if not summary.skipped and not summary.failed:
        return DONE
    return UNUSABLE if summary.failed == summary.scores else PARTIAL


def _show(
    readings: Sequence[Reading],
    summary: Summary,
    reviewer: Reviewer,
    output: OutputPath | None,
    *,
    as_json: bool,
) -> None:
    from grice.scoring.summary import notes

    for reading in readings:
        note(f"{reading.source}: read as {reading.format}")
    for line in notes(summary):
        note(line)
    to_file = str(output or "-") not in ("-", "/dev/stdout")
    if to_file or (sys.stdout.isatty() and not as_json):
        from grice.cli.terminal import summary_view

        view = summary_view(summary, reviewer.review())
        emit_rows([summary.record()], view, as_json=as_json)
    elif summary.skipped:
        for problem in summary.problems:
            warn(problem)
        warn(f"{plural(summary.skipped, 'record')} could not be read")


def _grading(scoring: Scoring, reading: Input, speakers: Sequence[str]) -> Grading:
    """Return the options of a run as a record for the workers of an engine."""
    from grice.integrations import Grading

    chosen = loader(scoring, speakers).keywords
    return Grading(
        tuple(names(scoring.metrics)),
        options=chosen["options"],
        speakers=tuple(speakers),
        mode=scoring.mode,
        plugins=tuple(str(path.resolve()) for path in scoring.plugin),
        models=chosen["models"],
        format=reading.format,
        columns=columns_of(reading),
    )


def _score_on_engine(
    engine: str, files: Sequence[str], output: str, grading: Grading, address: str | None
) -> Output:
    """Score each file by a worker; the status is 4 if a file could not be scored."""
    from grice.integrations import score_on

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
