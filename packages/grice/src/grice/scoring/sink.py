"""Outputs of a run. A file of scores survives a kill and is finished by the next run.

While a run is under way its lines stand in ``OUT.partial`` and its progress in ``OUT.state``.
Lines are made durable first and counted in the state afterwards, so that after a kill at any
moment the state describes lines that are there; what stands behind them is cut off. The
finished file appears under its own name in one step. Of a link, all of this happens beside the
file it points to. A device or a pipe is written through, and a run into it starts from the top.
"""

from __future__ import annotations

import gzip
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from grice.data import Score, json_line
from grice.errors import InputError, OutputError
from grice.files import cannot_write, destination, keep_permissions, open_own, renaming, try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEPT = "what was scored before is kept beside it, and the same command goes on from there"
TABLES = (".parquet", ".arrow")


class State(msgspec.Struct, frozen=True):
    """Progress of an unfinished file.

    Attributes:
        run: Signatures of the metrics and whatever else decides the numbers.
        input: Digest over the records scored so far.
        records: How many records of the input are done, broken ones included.
        bytes: Length of the lines that belong to them.
    """

    run: str
    input: str = ""
    records: int = 0
    bytes: int = 0


class Sink:
    """Takes the scores of one window of conversations after another, and drops them.

    Attributes:
        done: Progress of an earlier, interrupted run.
    """

    def __init__(self, run: str) -> None:
        self.done = State(run)

    def replay(self) -> Iterator[Score]:
        """Yield the scores of that earlier run in their order."""
        return iter(())

    def append(self, scores: Sequence[Score], state: State) -> None:
        """Take the scores that lead to ``state``; they are safe when this returns."""

    def finish(self) -> None:
        """Complete the result: nothing more will come."""

    def close(self) -> None:
        """Release what is open, finished or not."""


def encode_scores(scores: Sequence[Score], path: Path | None = None) -> bytes:
    """Return the scores as JSON lines, gzipped if the path ends in ``.gz``."""
    lines = b"".join(json_line(score) + b"\n" for score in scores)
    return gzip.compress(lines, mtime=0) if path is not None and path.suffix == ".gz" else lines


class ScoreStream(Sink):
    """Scores as JSON lines on a stream, such as standard output, which the caller closes."""

    def __init__(self, stream: BinaryIO, run: str, path: Path | None = None) -> None:
        super().__init__(run)
        self._stream = stream
        self._path = path

    def append(self, scores: Sequence[Score], state: State) -> None:  # noqa: ARG002 - no memory
        """Write the scores."""
        try:
            self._stream.write(encode_scores(scores, self._path))
            self._stream.flush()
        except OSError as error:
            if self._path is None:
                raise
            raise cannot_write(self._path, error) from error


class ScoreFile(Sink):
    """Scores as JSON lines in a file, gzipped for ``.gz``, a table for ``.parquet`` or ``.arrow``.

    Such a table ends with what its reader begins with, so that it is made when all lines are there.
    """

    def __init__(self, path: Path, run: str, *, resume: bool) -> None:
        self.path = path
        target = destination(path)
        if target is None:
            raise OutputError(f"{path}: a device or a pipe keeps no unfinished file")
        self._target = target
        self._partial = target.with_name(target.name + ".partial")
        self._state = target.with_name(target.name + ".state")
        try:
            self.done = self._unfinished(run) if resume else State(run)
            self._bytes = self.done.bytes
            # Opened to append: another run may be writing it, and nothing of that must be cut off.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._file = os.fdopen(open_own(self._partial, flags), "ab")
            if not try_lock(self._file):
                self._file.close()
                raise OutputError(
                    f"{path}: another run is writing it; wait for its end, or name another output"
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
        """Yield the scores of the earlier run."""
        # The file was cut to the lines that count when it was opened.
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
                self._write_table()
            else:
                self._partial.replace(self._target)
            self._state.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error, KEPT) from error

    def _write_table(self) -> None:
        from grice.scoring.arrow import write_lines_as

        with (
            os.fdopen(open_own(self._partial, os.O_RDONLY), "rb") as lines,
            renaming(self._target) as fresh,
            fresh.open("wb") as table,
        ):
            write_lines_as(self.path.suffix, lines, table)
        self._partial.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave the file, finished or to be continued."""
        # Lines that counted are on the disk; what could not be written was said when it failed.
        with suppress(OSError):
            self._file.close()
