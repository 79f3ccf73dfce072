"""Where scores go. A file of scores survives a kill and is finished by the next run.

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
from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec

from grice.errors import InputError, OutputError
from grice.files import cannot_write, destination, keep_permissions, open_own, renaming, try_lock
from grice.records import Score, json_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


KEPT = "what was scored before is kept beside it, and the same command goes on from there"


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


class Sink(Protocol):
    """Takes the scores of one window of conversations after another."""

    @property
    def done(self) -> State:
        """What an earlier, interrupted run has done already."""
        ...

    def replay(self) -> Iterator[Score]:
        """Yield the scores of that earlier run in their order."""
        ...

    def append(self, scores: Sequence[Score], state: State) -> None:
        """Take the scores that lead to ``state``; they are safe when this returns."""
        ...

    def finish(self) -> None:
        """Make the result complete: nothing more will come."""
        ...

    def close(self) -> None:
        """Release what is open, finished or not."""
        ...


def encode_scores(scores: Sequence[Score]) -> bytes:
    """Return the scores as JSON lines."""
    return b"".join(json_line(score) + b"\n" for score in scores)


class ScoreStream:
    """Scores as JSON lines on a stream, such as standard output."""

    def __init__(self, stream: BinaryIO, run: str, path: Path | None = None) -> None:
        self._stream = stream
        self._path = path
        self.done = State(run)

    def replay(self) -> Iterator[Score]:
        """Yield nothing: a stream remembers nothing."""
        return iter(())

    def append(self, scores: Sequence[Score], state: State) -> None:  # noqa: ARG002 - no memory
        """Write the scores."""
        try:
            self._stream.write(_packed(encode_scores(scores), self._path))
            self._stream.flush()
        except OSError as error:
            if self._path is None:
                raise
            raise cannot_write(self._path, error) from error

    def finish(self) -> None:
        """Do nothing: every line is out already."""

    def close(self) -> None:
        """Do nothing: the stream belongs to somebody else."""


class NoSink:
    """Forgets the scores: somebody looks at the summary only."""

    def __init__(self, run: str) -> None:
        self.done = State(run)

    def replay(self) -> Iterator[Score]:
        """Yield nothing."""
        return iter(())

    def append(self, scores: Sequence[Score], state: State) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class ScoreFile:
    """Scores as JSON lines in a file, gzipped if its name ends in ``.gz``."""

    def __init__(
        self,
        path: Path,
        run: str,
        *,
        resume: bool,
        complete: Callable[[Path, Path], object] = Path.replace,
    ) -> None:
        self.path = path
        self._complete = complete
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
            lines = gzip.GzipFile(fileobj=file) if _gzipped(self.path) else file
            for line in lines:
                yield decoder.decode(line)

    def append(self, scores: Sequence[Score], state: State) -> None:
        """Make the scores durable, then the state that counts them."""
        data = _packed(encode_scores(scores), self.path)
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._bytes += len(data)
            with renaming(self._state) as fresh:
                fresh.write_bytes(
                    msgspec.json.encode(msgspec.structs.replace(state, bytes=self._bytes))
                )
        except OSError as error:
            raise cannot_write(self.path, error, KEPT) from error

    def finish(self) -> None:
        """Make the finished file."""
        try:
            self._file.close()
            self._complete(self._partial, self._target)
            self._state.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error, KEPT) from error

    def close(self) -> None:
        """Leave the file, finished or to be continued."""
        # Lines that counted are on the disk; what could not be written was said when it failed.
        with suppress(OSError):
            self._file.close()


def write_table(suffix: str, lines: Path, target: Path) -> None:
    """Turn lines of scores into a Parquet or Arrow file; see :mod:`grice.scoring.score_tables`.

    Such a table ends with what its reader begins with: what is unfinished of one would be lost.
    """
    from grice.scoring.score_tables import write_lines_as

    with (
        os.fdopen(open_own(lines, os.O_RDONLY), "rb") as unfinished,
        renaming(target) as fresh,
        fresh.open("wb") as table,
    ):
        write_lines_as(suffix, unfinished, table)
    lines.unlink(missing_ok=True)


def _gzipped(path: Path | None) -> bool:
    return path is not None and path.suffix == ".gz"


def _packed(lines: bytes, path: Path | None) -> bytes:
    return gzip.compress(lines, mtime=0) if _gzipped(path) else lines
