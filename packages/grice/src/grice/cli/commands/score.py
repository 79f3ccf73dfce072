"""``grice score``: scores for every reply of files of conversations."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, PARTIAL, UNUSABLE
from grice.cli.models import recommend_larger
from grice.cli.options import (
    add_metric_options,
    check_options,
    chosen_preset,
    load_grader,
    loader,
    names,
)
from grice.cli.settings import check_settings
from grice.errors import InputError, plural
from grice.progress import watched

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.evaluation.review import Reviewer
    from grice.models.endpoint.usage import Usage
    from grice.readers import Reading
    from grice.scoring.api import Grader
    from grice.scoring.run import Listener, Scorer
    from grice.scoring.summary import Summary

HELP = "score the replies in files of conversations"
ENGINES = ("dask", "ray", "spark")
LOCAL_ALONE = ("sample", "report")
"""Options of a run that sees all conversations."""
FIRST = 5
"""Replies that are named as those to look at first."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    flags.add_files(
        parser,
        "conversations in any known format, gzipped or not; a directory; a URL of a store, "
        "such as s3://…; - for standard input",
    )
    flags.add_output(
        parser,
        "OUT.jsonl",
        "a score a line, or a table (.parquet, .arrow); what is printed is then their summary",
    )
    flags.add_report(parser)
    flags.add_json(parser)
    flags.add_input(parser)
    flags.add_speaker(parser)
    parser.add_argument(
        "--bad-records",
        choices=("skip", "fail"),
        default="skip",
        help="a record that cannot be read is skipped and counted (exit status 4), or ends the run "
        "(2)",
    )
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="finish what an interrupted run left beside OUT.jsonl (the default)",
    )
    flags.add_number(
        parser, "--sample", "N", "score N conversations, drawn at random, instead of all"
    )
    flags.add_seed(parser, "--sample")
    flags.add_list(
        parser,
        "--blend",
        "HOW:METRIC,METRIC",
        "also score by the min, max, mean or geometric mean of metrics that are run; may be "
        "repeated",
    )
    _add_engine(parser)
    flags.add_endpoints(parser)
    add_metric_options(parser, words, *ENGINES)
    check_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score the files; see :mod:`grice.cli._status` for the exit status."""
    from grice.cli.terminal import warn
    from grice.evaluation.review import Reviewer
    from grice.readers import read
    from grice.report.batch import judged_nobody
    from grice.scoring.blended import blend_of
    from grice.scoring.presets import SMALL

    check_options(arguments)
    if arguments.engine is not None:
        if arguments.blend:
            raise InputError("--blend: not with --engine; blend in a run of one process")
        return _run_on_engine(arguments)
    with ExitStack() as stack:
        readings = [
            stack.enter_context(read(file, format=arguments.format, columns=arguments.columns))
            for file in arguments.files
        ]
        grader = stack.enter_context(load_grader(arguments, arguments.speaker))
        blends = [blend_of(stated, grader.scorer.metrics) for stated in arguments.blend]
        scorer = grader.scorer._replace(blends=blends)
        if arguments.dry_run:
            return _plan(arguments, readings, grader)
        reviewer = Reviewer(FIRST)
        try:
            summary = _score(arguments, readings, scorer, reviewer)
        finally:
            _tell_usage(grader.usage)
    _show(arguments, readings, summary, reviewer)
    if judged_nobody(summary, scorer):
        speakers = " or ".join(arguments.speaker)
        warn(f"no turn is by {speakers}: --speaker takes names and roles as the file writes them")
        return UNUSABLE
    status = _status(summary)
    if chosen_preset(arguments) == SMALL:
        recommend_larger(names(arguments.metrics))
    return status


def _plan(arguments: argparse.Namespace, readings: Sequence[Reading], grader: Grader) -> int:
    """Say what would be sent to endpoints; only metrics that ask one are run."""
    from grice.cli.output import emit_rows
    from grice.models.endpoint.usage import in_words
    from grice.report.batch import score_readings
    from grice.tables import Lines

    asking = [loaded for loaded in grader.scorer.metrics if loaded.asks_endpoint]
    if not asking:
        emit_rows([], [Lines(["no metric asks an endpoint: nothing would be sent"])],
                  as_json=arguments.json)  # fmt: skip
        return DONE
    summary = score_readings(
        readings,
        grader.scorer._replace(metrics=asking),
        sample=arguments.sample,
        seed=arguments.seed,
        bad_records=arguments.bad_records,
    )
    names = ", ".join(loaded.metric.name for loaded in asking)
    items = plural(sum(sum(metric.counts.values()) for metric in summary.metrics), "judgement")
    lines = [f"{items} by {names}; nothing was sent"]
    lines += [line for usage in grader.usage for line in in_words(usage, planned=True)]
    emit_rows(grader.usage, [Lines(lines)], as_json=arguments.json)
    return PARTIAL if summary.skipped else DONE


def _tell_usage(usages: Sequence[Usage]) -> None:
    """Say what was sent to endpoints, also where the run ends before its end."""
    if not usages:
        return
    from grice.cli.terminal import note
    from grice.models.endpoint.usage import in_words

    for usage in usages:
        for line in in_words(usage, planned=False):
            note(line)


def _score(
    arguments: argparse.Namespace, readings: Sequence[Reading], scorer: Scorer, reviewer: Reviewer
) -> Summary:
    from grice.cli.terminal import warn
    from grice.report.batch import keeps_unfinished, score_readings

    printed = arguments.json or not sys.stdout.isatty()
    output = str(arguments.output or "-") if arguments.output or printed else None
    with _listeners(readings, arguments.sample, quiet=arguments.quiet) as listeners:
        try:
            return score_readings(
                readings,
                scorer,
                output,
                format=arguments.format,
                bad_records=arguments.bad_records,
                resume=arguments.resume,
                report=arguments.report,
                command=shlex.join(["grice", *sys.argv[1:]]),
                sample=arguments.sample,
                seed=arguments.seed,
                listeners=[*listeners, reviewer],
            )
        except KeyboardInterrupt:
            if keeps_unfinished(output):
                warn(f"{output} is unfinished; the same command goes on")
            raise


@contextmanager
def _listeners(
    readings: Sequence[Reading], sample: int | None, *, quiet: bool
) -> Iterator[list[Listener]]:
    """Draw a progress bar on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield []
        return
    from grice.cli._progress import Progress

    with watched(None), Progress(readings, sample) as progress:  # one bar at a time
        yield [progress]


def _status(summary: Summary) -> int:
    """Return the exit status of a finished run, and say what is missing from it."""
    from grice.cli.terminal import one_line, warn

    for metric in summary.metrics:
        if failed := metric.counts.get("failed", 0):
            scores = plural(sum(metric.counts.values()), "score")
            first = one_line(metric.failure or "")
            common = metric.reasons.get("failed")
            often = (
                f"most often ({common.count:,}): {one_line(common.reason)}; "
                if common and common.count > 1
                else ""
            )
            warn(f"{metric.metric}: {failed:,} of {scores} failed, {often}the first: {first}")
    if not summary.skipped and not summary.failed:
        return DONE
    return UNUSABLE if summary.failed == summary.scores else PARTIAL


def _show(
    arguments: argparse.Namespace, readings: Sequence[Reading], summary: Summary, reviewer: Reviewer
) -> None:
    from grice.cli.output import print_json_lines
    from grice.cli.terminal import note, print_summary, warn
    from grice.scoring.summary import notes

    for reading in readings:
        note(f"{reading.source}: read as {reading.format}")
    for line in notes(summary):
        note(line)
    to_file = str(arguments.output or "-") not in ("-", "/dev/stdout")
    if to_file and arguments.json:
        print_json_lines([summary.record()])
    elif to_file or (sys.stdout.isatty() and not arguments.json):
        print_summary(summary, reviewer.review())
    elif summary.skipped:
        for problem in summary.problems:
            warn(problem)
        warn(f"{plural(summary.skipped, 'record')} could not be read")


def _add_engine(parser: argparse.ArgumentParser) -> None:
    """Add what scores beyond this process."""
    parser.add_argument(
        "--engine", choices=ENGINES, help="score each file by a worker; -o is then a folder"
    )
    parser.add_argument("--address", help="of a cluster that runs; default: workers started here")


def _run_on_engine(arguments: argparse.Namespace) -> int:
    """Score the files on an engine; the status is 4 if a file could not be scored."""
    from grice.cli.output import print_json_lines, show
    from grice.cli.terminal import note, warn
    from grice.integrations import Grading, score_on
    from grice.tables import Lines

    for option in LOCAL_ALONE:
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option} needs a run in this process: leave out --engine")
    if arguments.output is None:
        raise InputError("--engine writes a shard for each file: name their folder with -o FOLDER")
    chosen = loader(arguments, arguments.speaker).keywords
    grading = Grading(
        tuple(names(arguments.metrics)),
        options=chosen["options"],
        speakers=tuple(arguments.speaker),
        mode=arguments.mode,
        plugins=tuple(str(path.resolve()) for path in arguments.plugin),
        models=chosen["models"],
        format=arguments.format,
        columns=arguments.columns,
    )
    shards = []
    for shard in score_on(
        arguments.engine, arguments.files, arguments.output, grading, address=arguments.address
    ):
        shards.append(shard)
        if shard.problem is not None:
            warn(shard.problem)
        elif shard.scores is None:
            note(f"{shard.source}: was scored before")
        else:
            note(f"{shard.source}: {plural(shard.scores, 'score')}, {shard.failed:,} failed")
    broken = sum(shard.problem is not None for shard in shards)
    if arguments.json:
        print_json_lines(shards)
    else:
        written = plural(len(shards) - broken, "shard")
        show([Lines([f"{written} in {arguments.output}, each named by a hash of its input"])])
    failed = any(shard.failed for shard in shards)
    return UNUSABLE if broken == len(shards) else PARTIAL if broken or failed else DONE
