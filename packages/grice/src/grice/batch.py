"""Whole files: conversations in, a file of scores and a report out, resumed where it stopped."""

from __future__ import annotations

import heapq
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from grice.errors import InputError, RecordError
from grice.files import check_not_input, destination, streaming
from grice.readers import SilenceError, check_arrow, read, records_of
from grice.scoring.api import load
from grice.scoring.presets import SMALL
from grice.scoring.run import run
from grice.scoring.sink import NoSink, ScoreFile, ScoreStream, write_table
from grice.scoring.summary import Sampled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from grice.models.embedded import Mode
    from grice.readers import Reading
    from grice.records import Conversation
    from grice.scoring.run import Listener, Scorer
    from grice.scoring.sink import Sink
    from grice.scoring.summary import Summary

    BadRecords: TypeAlias = Literal["skip", "fail"]


def score_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path | None = None,
    *,
    metrics: Sequence[str] = (),
    options: Mapping[str, Mapping[str, object]] | None = None,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
    speakers: Collection[str] = (),
    bad_records: BadRecords = "skip",
    resume: bool = True,
    report: str | Path | None = None,
    mode: Mode = "fast",
    workers: int | None = None,
    cache: str | Path | None = None,
    plugins: Sequence[str | Path] = (),
    models: str = SMALL,
    sample: int | None = None,
    seed: int = 0,
    listeners: Sequence[Listener] = (),
) -> Summary:
    r"""Score files of conversations, as ``grice score`` does, and return the summary.

    A run into a file that was interrupted goes on where it stopped when it is called again; the
    finished file is the same, byte for byte. Of several files, each score says in its ``meta``
    which one it is of. Memory does not grow with the input.

    Args:
        paths: A path, or several: files in any known format, gzipped or not, directories, or
            ``-`` for standard input.
        output: Where the scores are written, one JSON object a line, gzipped if its name ends in
            ``.gz``, or a table if it ends in ``.parquet`` or ``.arrow``; ``-`` is standard output,
            None writes none.
        metrics: Names of metrics; without any, those that ``grice score`` runs.
        options: Options and model references by metric name.
        format: Name of the files' format; None recognises each.
        columns: Names of columns of tables by what they are, as in
            ``{"conversation": "ticket no"}``; see :func:`grice.read`.
        speakers: Judge only turns of these speakers or roles, ``all`` is everybody. Without any,
            the assistant is judged where roles or speakers' names say who that is, else everybody.
            If nobody has such a name, nothing is judged, and the counts of the summary are empty.
        bad_records: A record that cannot be read is counted in the summary (``skip``), or raised
            (``fail``).
        resume: Finish what an interrupted run left beside ``output``; if false, start again.
        report: Where a page to look at the scores is written; None writes none.
        mode: ``fast`` (int8) or ``exact`` (float32, slower); see ``docs/modes.md``.
        workers: Batches computed at the same time; by default one per core.
        cache: Folder that keeps what models answered; by default nothing is kept.
        plugins: Python files that declare further metrics.
        models: Preset of models and weights, as in :func:`grice.load`.
        sample: Score so many conversations, drawn at random; by default all. The summary says
            which part of the input that was.
        seed: Another one draws other conversations.
        listeners: Told of every scored conversation, in input order.

    Raises:
        InputError: If an input cannot be read, or an unfinished output is of another run.
        RecordError: For the first record that cannot be read, with ``bad_records="fail"``.
        OutputError: If an output cannot be written, or is one of the inputs.
        MetricError: For an unknown metric or option.
        BundleError: For a model that is missing or changed.

    >>> import grice
    >>> from pathlib import Path
    >>> _ = Path("chat.txt").write_text("Ann: Is it far?\nBob: Ten minutes.\n")
    >>> summary = grice.score_files("chat.txt", "scores.jsonl", metrics=["log_length"])
    >>> [(metric.metric, metric.counts["ok"]) for metric in summary.metrics]
    [('log_length', 2)]
    >>> len(Path("scores.jsonl").read_text().splitlines())
    2
    """
    sources = [paths] if isinstance(paths, (str, Path)) else list(paths)
    for written in (output, report):
        if written is not None:
            check_not_input(Path(written), map(Path, sources))
    with ExitStack() as stack:
        readings = [
            stack.enter_context(read(source, format=format, columns=columns)) for source in sources
        ]
        grader = stack.enter_context(
            load(
                *metrics,
                options=options,
                speakers=speakers,
                mode=mode,
                workers=workers,
                cache=cache,
                plugins=plugins,
                models=models,
            )
        )
        return score_readings(
            readings,
            grader.scorer,
            output,
            format=format,
            bad_records=bad_records,
            resume=resume,
            report=report,
            command=f"grice.score_files({[str(source) for source in sources]})",
            sample=sample,
            seed=seed,
            listeners=listeners,
        )


def score_readings(
    readings: Sequence[Reading],
    scorer: Scorer,
    output: str | Path | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the flag's name
    bad_records: BadRecords = "skip",
    resume: bool = True,
    report: str | Path | None = None,
    command: str = "",
    sample: int | None = None,
    seed: int = 0,
    listeners: Sequence[Listener] = (),
) -> Summary:
    """Score files that are open with metrics that are loaded; see :func:`score_files`.

    Args:
        readings: The open files.
        scorer: The loaded metrics.
        output, bad_records, resume, report, sample, seed, listeners: As in :func:`score_files`.
        format: The format that was asked for, which belongs to the identity of the run.
        command: What the report names as the way to repeat the run.
    """
    if bad_records not in ("skip", "fail"):
        raise InputError(f"bad records {bad_records!r}: write skip or fail")
    if sample is not None and sample < 1:
        raise InputError(f"a sample of {sample}: at least one conversation is needed")
    drawn = None if sample is None else (sample, seed)
    with ExitStack() as stack:
        page = None
        if report is not None:
            from grice.report import ReportWriter

            title = ", ".join(reading.source for reading in readings)
            page = stack.enter_context(
                ReportWriter(Path(report), title=title, metrics=scorer.columns, command=command)
            )
        identity = _identity(readings, scorer, format, drawn)
        sink = _open_sink(output, identity, stack, resume=resume)
        records, part = _drawn(_records(readings, bad_records), drawn)
        seen_by = [*([] if page is None else [page]), *listeners]
        try:
            summary = run(records, scorer, sink, seen_by, readings)
        except SilenceError as error:
            raise error.cause from None
        summary = msgspec.structs.replace(summary, sample=part)
        if page is not None:
            page.close(summary)
    return summary


def keeps_unfinished(output: str | Path | None) -> bool:
    """Return whether a run into an output that is interrupted can go on later."""
    return not _is_standard(output) and output is not None and destination(Path(output)) is not None


def judged_nobody(summary: Summary, scorer: Scorer) -> bool:
    """Return whether no reply of a run was judged because no turn is by the speakers asked for."""
    replies = [
        sum(metric.counts.values())
        for metric, column in zip(summary.metrics, scorer.columns, strict=True)
        if column.judges == "response"
    ]
    return bool(summary.turns and scorer.speakers and replies) and not any(replies)


def _is_standard(output: str | Path | None) -> bool:
    return str(output) in ("-", "/dev/stdout")


def _records(
    readings: Sequence[Reading], bad_records: BadRecords
) -> Iterator[Conversation | RecordError]:
    for record in records_of(readings):
        if isinstance(record, RecordError) and bad_records == "fail":
            raise record
        yield record


def _drawn(
    records: Iterator[Conversation | RecordError], drawn: tuple[int, int] | None
) -> tuple[Iterator[Conversation | RecordError], Sampled | None]:
    """Return records that are scored, in input order, and which part of the input they are."""
    if drawn is None:
        return records, None
    most, seed = drawn
    broken: list[RecordError] = []
    seen = 0

    def conversations() -> Iterator[Conversation]:
        nonlocal seen
        for record in records:
            if isinstance(record, RecordError):
                broken.append(record)
            else:
                seen += 1
                yield record

    placed = sorted(
        _lowest(conversations(), most, seed), key=lambda placed_record: placed_record[0]
    )
    chosen = [conversation for _, conversation in placed]
    return iter([*broken, *chosen]), Sampled(len(chosen), seen, seed)


def _lowest(
    conversations: Iterable[Conversation], most: int, seed: int
) -> list[tuple[int, Conversation]]:
    """Return the conversations whose hashed ids are lowest, the lowest first, with their places."""
    from grice.evaluation.datasets import hashed

    heap: list[tuple[int, str, int, Conversation]] = []
    for place, conversation in enumerate(conversations):
        entry = (-hashed(conversation.id, seed), conversation.id, place, conversation)
        if len(heap) < most:
            heapq.heappush(heap, entry)
        elif entry[0] > heap[0][0]:
            heapq.heapreplace(heap, entry)
    heap.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [(place, conversation) for *_, place, conversation in heap]


def _identity(
    readings: Sequence[Reading],
    scorer: Scorer,
    asked_format: str | None,
    drawn: tuple[int, int] | None,
) -> str:
    """Return whatever decides the lines of the output; a run goes on only if it agrees."""
    return " ".join(
        [
            *(column.signature for column in scorer.columns),
            *(f"speaker={speaker}" for speaker in sorted(scorer.speakers)),
            *(f"file={reading.source}" for reading in readings),
            f"format={asked_format}",
            *dict.fromkeys(
                f"column={part}={name}"
                for reading in readings
                for part, name in sorted(reading.columns.items())
            ),
            *([] if scorer.preset == SMALL else [f"models={scorer.preset}"]),
            *([] if drawn is None else [f"sample={drawn[0]} seed={drawn[1]}"]),
        ]
    )


def _open_sink(output: str | Path | None, identity: str, stack: ExitStack, *, resume: bool) -> Sink:
    if output is None:
        return NoSink(identity)
    if _is_standard(output):
        return ScoreStream(sys.stdout.buffer, identity)
    path = Path(output)
    if destination(path) is None:
        return ScoreStream(stack.enter_context(streaming(path)), identity, path)
    if path.suffix in (".parquet", ".arrow"):
        check_arrow()
        complete = partial(write_table, path.suffix)
        return ScoreFile(path, identity, resume=resume, complete=complete)
    return ScoreFile(path, identity, resume=resume)
