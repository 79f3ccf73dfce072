"""Runs: records of open inputs are scored, a window at a time, into an output.

A file of scores survives a kill and is finished by the next run. Until then its lines are in
``OUT.partial``, its progress in ``OUT.state``; for a link, next to the file it points to. Lines are
synced first and counted in the state afterwards; lines after the counted ones are truncated. The
finished file appears atomically. A run into a device or a pipe cannot be resumed.
"""

from __future__ import annotations

import gzip
import hashlib
import heapq
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import msgspec

from grice.data import Conversation, Score, json_line
from grice.errors import InputError, OutputError, RecordError
from grice.files import (
    cannot_write,
    destination,
    keep_permissions,
    open_own,
    renaming,
    streaming,
    try_lock,
)
from grice.readers import Found, Reading, check_arrow, records_of
from grice.scoring.summary import SMALL, Sampled, Summary, SummaryBuilder

if TYPE_CHECKING:
    from grice.scoring.api import Scorer

logger = logging.getLogger("grice")
logger.addHandler(logging.NullHandler())  # applications configure the handlers

WINDOW_TURNS = 1024
WINDOW_RECORDS = 512
"""A window ends at the first of these limits: it bounds memory and the loss by a kill."""
FIRST_TURNS = 16
"""Turns of the first window; each may be twice as long as the one before, so that the first
scores, and with them an estimate of the time, come within seconds."""
CHANGED = "the input has changed since the interrupted run read it; give --no-resume to start over"
KEPT = "earlier scores are kept next to it, and the same command resumes"
STANDARD = ("-", "/dev/stdout")
TABLES = (".parquet", ".arrow")


@dataclass(frozen=True)
class Run:
    """Scores of open inputs: iterate over it to the end, then read the summary.

    The scores of conversations that an interrupted run has finished are read back.
    """

    readings: Sequence[Reading]
    scorer: Scorer
    output: str | Path | None = None  # ``-`` is standard output; None writes none
    format: str | None = None  # that was asked for: it belongs to the identity of the run
    bad_records: Literal["skip", "fail"] = "skip"  # count them, or raise the first
    resume: bool = True  # finish what an interrupted run has left beside ``output``
    sample: int | None = None  # number of conversations to draw; None scores all
    seed: int = 0

    def __post_init__(self) -> None:
        if self.bad_records not in ("skip", "fail"):
            raise InputError(f"bad records {self.bad_records!r}: write skip or fail")
        if self.sample is not None and self.sample < 1:
            raise InputError(f"a sample of {self.sample}: at least one conversation is needed")

    @cached_property
    def _builder(self) -> SummaryBuilder:
        return SummaryBuilder(self.scorer.columns, self.scorer.preset, self.scorer.speakers)

    @cached_property
    def _identity(self) -> str:
        """All settings that decide the output: a run is resumed only if they are equal."""
        columns = {part: name for source in self.readings for part, name in source.columns.items()}
        parts = [
            *(column.signature for column in self.scorer.columns),
            *(f"speaker={speaker}" for speaker in sorted(self.scorer.speakers)),
            *(f"file={reading.name}" for reading in self.readings),
            f"format={self.format}",
            *(f"column={part}={name}" for part, name in sorted(columns.items())),
            *([] if self.scorer.preset == SMALL else [f"models={self.scorer.preset}"]),
            *([] if self.sample is None else [f"sample={self.sample} seed={self.seed}"]),
        ]
        return " ".join(parts)

    def __iter__(self) -> Iterator[tuple[Conversation, Sequence[Score]]]:
        """Score the inputs; yield each conversation with its scores once they are written."""
        with ExitStack() as stack:
            sink = self._sink(stack)
            scored = score_windows(self._records(), self.scorer, sink, self.readings)
            for record, scores in scored:
                if isinstance(record, RecordError):
                    self._builder.skip(record)
                else:
                    self._builder.add(record, scores)
                    yield record, scores

    @property
    def summary(self) -> Summary:
        """The summary of the scores so far."""
        return self._builder.summary()

    @property
    def judged_nobody(self) -> bool:
        """Whether no reply was judged since no turn is by the speakers asked for."""
        columns, summary = self.scorer.columns, self.summary
        replies = [
            metric.counts
            for metric, column in zip(summary.metrics, columns, strict=True)
            if column.judges == "response"
        ]
        return bool(summary.turns and self.scorer.speakers and replies) and not any(replies)

    def _records(self) -> Iterator[Found]:
        heap: list[tuple[int, str, int, Conversation]] = []
        seen = 0
        for record in records_of(self.readings):
            if isinstance(record, RecordError) and self.bad_records == "fail":
                raise record
            if self.sample is None or isinstance(record, RecordError):
                yield record
                continue
            # Conversations are drawn by hashed id, the same ones on every machine.
            named = f"{self.seed} {record.id}".encode("utf-8", "surrogatepass")
            place = int.from_bytes(hashlib.blake2b(named, digest_size=8).digest(), "big")
            entry = (-place, record.id, seen, record)
            seen += 1
            if len(heap) < self.sample:
                heapq.heappush(heap, entry)
            elif entry[0] > heap[0][0]:
                heapq.heapreplace(heap, entry)
        if self.sample is not None:
            self._builder.so_far.sample = Sampled(len(heap), seen, self.seed)
            yield from (record for *_, record in sorted(heap, key=lambda entry: entry[2]))

    def _sink(self, stack: ExitStack) -> Sink:
        if self.output is None:
            return Sink(self._identity)
        if str(self.output) in STANDARD:
            return Sink(self._identity, sys.stdout.buffer)
        path = Path(self.output)
        if destination(path) is None:
            return Sink(self._identity, stack.enter_context(streaming(path)), path)
        if path.suffix in TABLES:
            check_arrow()
        return ScoreFile(path, self._identity, resume=self.resume)


def keeps_unfinished(output: str | Path | None) -> bool:
    """Return whether an interrupted run into an output can be continued."""
    return (
        output is not None and str(output) not in STANDARD and destination(Path(output)) is not None
    )


def score_windows(
    records: Iterable[Found], scorer: Scorer, sink: Sink, readings: Sequence[Reading] = ()
) -> Iterator[tuple[Found, Sequence[Score]]]:
    """Score records into a sink; yield each with its scores, none for an unreadable one.

    A window is also closed while a reading gives nothing.
    """
    done, earlier, digest = sink.done, sink.replay(), hashlib.blake2b(digest_size=16)
    state = State(done.run)
    window: list[Found] = []
    scored: list[tuple[Found, Sequence[Score]]] = []

    def close() -> None:
        """Score the records since the last window, if there are any."""
        nonlocal state
        if not window:
            return
        for record in window:
            if isinstance(record, RecordError):
                logger.warning("skipped: %s", record)
                digest.update(str(record).encode("utf-8", "replace"))
            else:
                digest.update(msgspec.json.encode(record))
        state = State(done.run, digest.hexdigest(), state.records + len(window))
        talks = [record for record in window if isinstance(record, Conversation)]
        if state.records <= done.records:
            if state.records == done.records and state.input != done.input:
                raise InputError(CHANGED)
            groups = [list(islice(earlier, scorer.count(talk))) for talk in talks]
        else:
            groups = scorer.score(talks)
            logger.info("scored %d conversations", len(talks))
            sink.append([score for group in groups for score in group], state)
        scores = iter(groups)
        scored.extend(
            (record, () if isinstance(record, RecordError) else next(scores)) for record in window
        )
        window.clear()

    for reading in readings:
        reading.when_silent(close)
    turns, most_turns = 0, FIRST_TURNS
    try:
        for record in records:
            turns = turns if window else 0
            window.append(record)
            turns += len(record.turns) if isinstance(record, Conversation) else 0
            full = turns >= most_turns or len(window) >= WINDOW_RECORDS
            # Windows of an earlier run keep their ends.
            if full or state.records + len(window) == done.records:
                most_turns = min(WINDOW_TURNS, 2 * most_turns)
                close()
            yield from scored
            scored.clear()
        close()
        yield from scored
        if state.records < done.records:
            raise InputError(CHANGED)
        sink.finish()
    finally:
        sink.close()


class State(msgspec.Struct, frozen=True):
    """Progress of an unfinished file."""

    run: str  # signatures of the metrics and everything else that decides the numbers
    input: str = ""  # digest over the records scored so far
    records: int = 0  # number of finished records of the input, broken ones included
    bytes: int = 0  # length of the lines that belong to them


class Sink:
    """Scores as JSON lines on a stream, which the caller closes; without one they are dropped."""

    def __init__(self, run: str, stream: BinaryIO | None = None, path: Path | None = None) -> None:
        self.done = State(run)  # progress of an earlier, interrupted run
        self._stream = stream
        self._path = path

    def replay(self) -> Iterator[Score]:
        """Yield the scores of that earlier run in their order."""
        return iter(())

    def append(self, scores: Sequence[Score], state: State) -> None:  # noqa: ARG002 - no memory
        """Write the scores that lead to ``state``; in a file they are safe when this returns."""
        if self._stream is None:
            return
        try:
            self._stream.write(encode_scores(scores, self._path))
            self._stream.flush()
        except OSError as error:
            if self._path is None:
                raise
            raise cannot_write(self._path, error) from error

    def finish(self) -> None:
        """Complete the result after the last scores."""

    def close(self) -> None:
        """Release open files, finished or not."""


def encode_scores(scores: Sequence[Score], path: Path | None = None) -> bytes:
    """Return the scores as JSON lines, gzipped if the path ends in ``.gz``."""
    lines = b"".join(json_line(score) + b"\n" for score in scores)
    return gzip.compress(lines, mtime=0) if path is not None and path.suffix == ".gz" else lines


class ScoreFile(Sink):
    """Scores as JSON lines in a file, gzipped for ``.gz``, a table for ``.parquet`` or ``.arrow``.

    Such a table ends with what its reader begins with, so that it is made when all lines are there.
    """

    def __init__(self, path: Path, run: str, *, resume: bool) -> None:
        self.path = path
        self._target = target = destination(path) or path  # of a link the file it points to
        self._partial = target.with_name(target.name + ".partial")
        self._state = target.with_name(target.name + ".state")
        try:
            self.done = self._unfinished(run) if resume else State(run)
            self._bytes = self.done.bytes
            # Opened for appending: another run may be writing it and must not be truncated.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._file = os.fdopen(open_own(self._partial, flags), "ab")
            if not try_lock(self._file):
                self._file.close()
                raise OutputError(
                    f"{path}: another run is writing it; wait for its end, or give another output"
                )
            self._file.truncate(self.done.bytes)
            keep_permissions(self._partial, target)
        except OSError as error:
            raise cannot_write(path, error) from error

    def _unfinished(self, run: str) -> State:
        again = "give --no-resume to start over"
        try:
            with os.fdopen(open_own(self._state, os.O_RDONLY), "rb") as file:
                state = msgspec.json.decode(file.read(), type=State)
            size = self._partial.stat().st_size
        except FileNotFoundError:
            return State(run)
        except msgspec.DecodeError as error:
            raise InputError(f"{self._state}: not the state of a run ({error}); {again}") from None
        if state.run != run:
            raise InputError(
                f"{self._partial}: left by a run with other metrics, models, options or inputs; "
                f"repeat that run to finish it, or {again}\n  then: {state.run}\n  now:  {run}"
            )
        if size < state.bytes:
            raise InputError(f"{self._partial}: shorter than its state says; {again}")
        return state

    def replay(self) -> Iterator[Score]:
        """Yield the scores of the lines that count: the file was cut to them."""
        decoder = msgspec.json.Decoder(Score)
        with os.fdopen(open_own(self._partial, os.O_RDONLY), "rb") as file:
            lines = gzip.GzipFile(fileobj=file) if self.path.suffix == ".gz" else file
            yield from map(decoder.decode, lines)

    def append(self, scores: Sequence[Score], state: State) -> None:
        """Make the scores durable, then the state that counts them."""
        data = encode_scores(scores, self.path)
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._bytes += len(data)
            counted = msgspec.structs.replace(state, bytes=self._bytes)
            with renaming(self._state) as fresh:
                fresh.write_bytes(msgspec.json.encode(counted))
        except OSError as error:
            raise cannot_write(self.path, error, KEPT) from error

    def finish(self) -> None:
        """Make the finished file."""
        try:
            self._file.close()
            if self.path.suffix in TABLES:
                from grice.scoring.arrow import write_table

                with renaming(self._target) as fresh, fresh.open("wb") as table:
                    write_table(self.path.suffix, self.replay(), table)
                self._partial.unlink(missing_ok=True)
            else:
                self._partial.replace(self._target)
            self._state.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error, KEPT) from error

    def close(self) -> None:
        """Close the file, whose failed writes were reported when they failed."""
        with suppress(OSError):
            self._file.close()
