"""Whole files: conversations in, a file of scores and a report out, resumed where it stopped."""

from __future__ import annotations

import hashlib
import heapq
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from grice.errors import InputError, RecordError
from grice.files import check_not_input, destination, streaming
from grice.readers import SilenceError, check_arrow, read, records_of
from grice.scoring.api import load
from grice.scoring.presets import SMALL
from grice.scoring.run import run
from grice.scoring.sink import TABLES, ScoreFile, ScoreStream, Sink
from grice.scoring.summary import Sampled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias, Unpack

    from grice.data import Conversation
    from grice.readers import Reading
    from grice.scoring.run import Listener, Scorer
    from grice.scoring.summary import Summary
    from grice.settings import Settings

    BadRecords: TypeAlias = Literal["skip", "fail"]
    Records: TypeAlias = Iterator[Conversation | RecordError]

STANDARD = ("-", "/dev/stdout")


def score_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path | None = None,
    *,
    metrics: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
    bad_records: BadRecords = "skip",
    resume: bool = True,
    report: str | Path | None = None,
    sample: int | None = None,
    seed: int = 0,
    listeners: Sequence[Listener] = (),
    **settings: Unpack[Settings],
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
        format: Name of the files' format; None recognises each.
        columns: Names of columns of tables by what they are, as in
            ``{"conversation": "ticket no"}``; see :func:`grice.read`.
        bad_records: A record that cannot be read is counted in the summary (``skip``), or raised
            (``fail``).
        resume: Finish what an interrupted run left beside ``output``; if false, start again.
        report: Where a page to look at the scores is written; None writes none.
        sample: Score so many conversations, drawn at random; by default all. The summary says
            which part of the input that was.
        seed: Another one draws other conversations.
        listeners: Told of every scored conversation, in input order.
        settings: See :class:`grice.settings.Settings`.

    Raises:
        InputError: If an input cannot be read, or an unfinished output is of another run.
        RecordError: For the first record that cannot be read, with ``bad_records="fail"``.
        OutputError: If an output cannot be written, or is one of the inputs.
        MetricError: For an unknown metric or option.
        ModelFolderError: For a model that is missing or changed.

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
        grader = stack.enter_context(load(*metrics, **settings))
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

    The format that was asked for belongs to the identity of the run; the report names the command.
    """
    if bad_records not in ("skip", "fail"):
        raise InputError(f"bad records {bad_records!r}: write skip or fail")
    if sample is not None and sample < 1:
        raise InputError(f"a sample of {sample}: at least one conversation is needed")
    # All settings that decide the output: a run is resumed only if they are equal.
    columns = {part: name for reading in readings for part, name in reading.columns.items()}
    identity = " ".join(
        [
            *(column.signature for column in scorer.columns),
            *(f"speaker={speaker}" for speaker in sorted(scorer.speakers)),
            *(f"file={reading.source}" for reading in readings),
            f"format={format}",
            *(f"column={part}={name}" for part, name in sorted(columns.items())),
            *([] if scorer.preset == SMALL else [f"models={scorer.preset}"]),
            *([] if sample is None else [f"sample={sample} seed={seed}"]),
        ]
    )
    with ExitStack() as stack:
        page = None
        if report is not None:
            from grice.report.writer import ReportWriter

            title = ", ".join(reading.source for reading in readings)
            page = stack.enter_context(
                ReportWriter(Path(report), title=title, metrics=scorer.columns, command=command)
            )
        sink = _open_sink(output, identity, stack, resume=resume)
        records, part = _records(readings, bad_records), None
        if sample is not None:
            records, part = _drawn(records, sample, seed)
        try:
            pages = [] if page is None else [page]
            summary = run(records, scorer, sink, [*pages, *listeners], readings)
        except SilenceError as error:
            raise error.cause from None
        summary = msgspec.structs.replace(summary, sample=part)
        if page is not None:
            page.close(summary)
    return summary


def keeps_unfinished(output: str | Path | None) -> bool:
    """Return whether an interrupted run into an output can be continued."""
    return (
        output is not None and str(output) not in STANDARD and destination(Path(output)) is not None
    )


def judged_nobody(summary: Summary, scorer: Scorer) -> bool:
    """Return whether no reply was judged since no turn is by the speakers asked for."""
    replies = [
        sum(metric.counts.values())
        for metric, column in zip(summary.metrics, scorer.columns, strict=True)
        if column.judges == "response"
    ]
    return bool(summary.turns and scorer.speakers and replies) and not any(replies)


def _records(readings: Sequence[Reading], bad_records: BadRecords) -> Records:
    for record in records_of(readings):
        if isinstance(record, RecordError) and bad_records == "fail":
            raise record
        yield record


def _hashed(text: str, seed: int) -> int:
    """Return 64 pseudorandom bits, the same on every machine."""
    data = f"{seed} {text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def _drawn(records: Records, sample: int, seed: int) -> tuple[Records, Sampled]:
    """Draw conversations, those whose hashed ids are lowest; unreadable records come first."""
    broken: list[RecordError] = []
    heap: list[tuple[int, str, int, Conversation]] = []
    seen = 0
    for record in records:
        if isinstance(record, RecordError):
            broken.append(record)
            continue
        entry = (-_hashed(record.id, seed), record.id, seen, record)
        seen += 1
        if len(heap) < sample:
            heapq.heappush(heap, entry)
        elif entry[0] > heap[0][0]:
            heapq.heapreplace(heap, entry)
    heap.sort(key=lambda entry: entry[2])
    chosen = [conversation for *_, conversation in heap]
    return iter([*broken, *chosen]), Sampled(len(chosen), seen, seed)


def _open_sink(output: str | Path | None, identity: str, stack: ExitStack, *, resume: bool) -> Sink:
    if output is None:
        return Sink(identity)
    if str(output) in STANDARD:
        return ScoreStream(sys.stdout.buffer, identity)
    path = Path(output)
    if destination(path) is None:
        return ScoreStream(stack.enter_context(streaming(path)), identity, path)
    if path.suffix in TABLES:
        check_arrow()
    return ScoreFile(path, identity, resume=resume)
