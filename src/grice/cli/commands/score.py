"""``grice score``: scores for every reply of files of conversations."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._options import add_metric_options, load_grader
from grice.cli._status import DONE, PARTIAL, UNUSABLE
from grice.errors import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli._report import Report
    from grice.errors import RecordError
    from grice.formats import Reading
    from grice.records import Conversation
    from grice.scoring.run import Listener, Scorer
    from grice.scoring.sink import Sink
    from grice.scoring.summary import Summary

HELP = "score every reply of files of conversations"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="conversations in any known format, gzipped or not; a directory; - for standard input",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT.jsonl", help="write the scores here, one JSON object a line"
    )
    parser.add_argument(
        "--report", type=Path, metavar="OUT.html", help="write a page to look at them"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="for machines: scores as JSON lines, or the summary as JSON if -o is given",
    )
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")
    parser.add_argument(
        "--speaker",
        action="append",
        default=[],
        metavar="NAME",
        help="judge only turns of this speaker or role; may be repeated",
    )
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
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Score the files; see :mod:`grice.cli._status` for the exit status."""
    from grice.cli._terminal import warn
    from grice.formats import read
    from grice.scoring.run import run as run_scoring
    from grice.scoring.sink import ScoreFile

    with ExitStack() as stack:
        readings = [
            stack.enter_context(read(file, format=arguments.format)) for file in arguments.files
        ]
        scorer = stack.enter_context(load_grader(arguments, arguments.speaker)).scorer
        report = None if arguments.report is None else _open_report(arguments, scorer, stack)
        listeners: list[Listener] = [] if report is None else [report]
        sink = _sink(arguments, _identity(arguments, scorer), stack)
        if sys.stderr.isatty():
            listeners.append(_open_progress(readings, stack))
        try:
            summary = run_scoring(_records(arguments, readings), scorer, sink, listeners)
        except KeyboardInterrupt:
            if isinstance(sink, ScoreFile):
                warn(f"{arguments.output} is unfinished; the same command goes on")
            raise
        if report is not None:
            report.finish(summary)
    _show(arguments, readings, summary)
    if summary.turns > 0 and _unheard(scorer, summary):
        warn(f"no turn is by {' or '.join(arguments.speaker)}: --speaker takes names and roles as "
             "the file writes them")  # fmt: skip
        return UNUSABLE
    return _status(summary)


def _status(summary: Summary) -> int:
    """Return the exit status of a finished run, and say what is missing from it."""
    from grice.cli._terminal import one_line, warn

    for metric in summary.metrics:
        if failed := metric.counts.get("failed", 0):
            total = sum(metric.counts.values())
            warn(f"{metric.metric}: {failed:,} of {plural(total, 'score')} failed, the first: "
                 f"{one_line(metric.failure or '')}")  # fmt: skip
    if not summary.skipped and not summary.failed:
        return DONE
    return UNUSABLE if summary.failed == summary.scores else PARTIAL


def _unheard(scorer: Scorer, summary: Summary) -> bool:
    """Return whether a speaker was asked for whom nobody heard: no reply was judged."""
    judged = [
        sum(one.counts.values())
        for one, loaded in zip(summary.metrics, scorer.metrics, strict=True)
        if loaded.metric.judges == "response"
    ]
    return bool(scorer.speakers and judged) and not any(judged)


def _open_report(arguments: argparse.Namespace, scorer: Scorer, stack: ExitStack) -> Report:
    from grice.cli._report import Report

    return stack.enter_context(Report(arguments.report, ", ".join(arguments.files), scorer))


def _open_progress(readings: Sequence[Reading], stack: ExitStack) -> Listener:
    from grice.cli._progress import Progress

    return stack.enter_context(Progress(readings))


def _records(
    arguments: argparse.Namespace, readings: Sequence[Reading]
) -> Iterator[Conversation | RecordError]:
    from msgspec.structs import replace

    from grice.errors import RecordError

    for reading in readings:
        for record in reading:
            if isinstance(record, RecordError):
                if arguments.bad_records == "fail":
                    raise record
                yield record
            elif len(readings) > 1:
                # Ids are unique within a file only.
                yield replace(record, meta={"file": reading.source, **record.meta})
            else:
                yield record


def _is_file(output: str | None) -> bool:
    return output not in (None, "-", "/dev/stdout")


def _identity(arguments: argparse.Namespace, scorer: Scorer) -> str:
    """Return whatever decides the lines of the output; a run goes on only if it agrees."""
    parts = [loaded.signature for loaded in scorer.metrics]
    parts += [f"speaker={speaker}" for speaker in sorted(scorer.speakers)]
    parts += [f"file={file}" for file in arguments.files]
    return " ".join([*parts, f"format={arguments.format}"])


def _sink(arguments: argparse.Namespace, identity: str, stack: ExitStack) -> Sink:
    from grice.files import destination, streaming
    from grice.scoring.sink import NoSink, ScoreFile, ScoreStream

    if _is_file(arguments.output):
        path = Path(arguments.output)
        if destination(path) is None:
            return ScoreStream(stack.enter_context(streaming(path)), identity, path)
        return ScoreFile(path, identity, resume=arguments.resume)
    if arguments.output or arguments.json or not sys.stdout.isatty():
        return ScoreStream(sys.stdout.buffer, identity)
    return NoSink(identity)


def _show(arguments: argparse.Namespace, readings: Sequence[Reading], summary: Summary) -> None:
    from grice.cli._terminal import print_summary, warn
    from grice.records import to_json

    for reading in readings:
        warn(f"{reading.source}: read as {reading.format}")
    if _is_file(arguments.output) and arguments.json:
        sys.stdout.write(to_json(summary) + "\n")
    elif _is_file(arguments.output) or (sys.stdout.isatty() and not arguments.json):
        print_summary(summary)
    elif summary.skipped:
        for problem in summary.problems:
            warn(problem)
        warn(f"{plural(summary.skipped, 'record')} could not be read")
