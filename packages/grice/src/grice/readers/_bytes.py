"""From a path to lines of bytes: opening, gzip, looking ahead, lines of bounded length."""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import sys
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from grice.errors import InputError, RecordError, os_reason
from grice.readers._format import Line
from grice.stores import is_url, open_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PREFIX = 1 << 16
"""How many bytes are looked at to recognise a format."""

LONGEST_LINE = 64 << 20
"""A longer line is reported and skipped, without being held."""

_BLOCK = 1 << 16
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UNREADABLE = (EOFError, OSError, zlib.error)

_OLD_MAC = re.compile(rb"\r[^\r\n]")

_BINARY = {
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive or an office document; unpack or export it",
    b"BZh91AY&SY": "compressed with bzip2; unpack it, or pipe it in with: bzcat FILE | …",
    b"\xfd7zXZ\x00": "compressed with xz; unpack it, or pipe it in with: xzcat FILE | …",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or pipe it in with: zstdcat FILE | …",
    b"\x1f\x8b": "compressed twice with gzip; unpack it once",
    b"SQLite format 3\x00": "an SQLite data base; export it as JSON lines or CSV",
    b"\x7fELF": "a program",
    b"\xff\xfe": "UTF-16 text; convert it with: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16 text; convert it with: iconv -f UTF-16 -t UTF-8",
}


SECONDS = 0.5
"""A stream that gives nothing for so long is silent."""


class SilenceError(Exception):
    """An error of the callback while a stream was silent, which is no fault of the stream."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Silence:
    """Calls back when a stream has nothing to give for a while, before it is waited for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._callback: Callable[[], None] | None = None

    def call(self, callback: Callable[[], None]) -> None:
        """Set what is called at each silence."""
        self._callback = callback

    def is_now(self) -> bool:
        """Return whether nothing comes for a while; false where nobody can tell."""
        try:
            return not select.select([self._descriptor], [], [], SECONDS)[0]
        except (OSError, ValueError):  # a platform that can wait for sockets alone
            return False

    def watch(self) -> None:
        """Call back if nothing comes for a while; an error becomes a :class:`SilenceError`."""
        if self._callback is None or not self.is_now():
            return
        try:
            self._callback()
        except OSError as error:
            raise SilenceError(error) from error


class _Readable(Protocol):
    def read1(self, size: int, /) -> bytes: ...


class _Replayed(io.RawIOBase):
    """A stream that begins with bytes that were already taken from it."""

    def __init__(
        self, prefix: bytes, stream: _Readable, error: Exception | None, silence: Silence | None
    ) -> None:
        self._silence = silence
        self._prefix = memoryview(prefix)
        self._stream = stream
        # Raised in its place behind the prefix: a broken gzip stream may not say it twice.
        self._error = error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        if self._prefix:
            count = min(len(buffer), len(self._prefix))
            buffer[:count] = self._prefix[:count]
            self._prefix = self._prefix[count:]
            return count
        if self._error is not None:
            raise self._error
        if self._silence is not None:
            self._silence.watch()
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _peek(
    stream: _Readable, size: int, *, silence: Silence | None = None, watched: bool = False
) -> tuple[bytes, io.BufferedReader]:
    """Return up to ``size`` first bytes, and a stream that still begins with them.

    Of a stream that may be slow, one whole line is enough once it is silent.
    """
    prefix = bytearray()
    error: Exception | None = None
    while len(prefix) < size:
        if silence is not None and b"\n" in prefix and silence.is_now():
            break
        try:
            data = stream.read1(size - len(prefix))
        except _UNREADABLE as caught:
            error = caught
            break
        if not data:
            break
        prefix += data
    start = len(_BOM) if prefix.startswith(_BOM) else 0
    rest = bytes(prefix[start:])
    return rest, io.BufferedReader(
        _Replayed(rest, stream, error, silence if watched else None), _BLOCK
    )


class Opened(NamedTuple):
    """An input at its beginning; ``lines`` still yield the bytes of its unpacked prefix.

    ``position`` returns how many bytes on disk were taken; ``silence`` is None of a file.
    """

    name: str
    prefix: bytes
    lines: Lines
    position: Callable[[], int]
    closing: ExitStack
    silence: Silence | None


def _raw(source: str, closing: ExitStack) -> _Readable:
    if source == "-":
        return cast("io.BufferedReader", sys.stdin.buffer)
    if is_url(source):
        return closing.enter_context(open_url(source))
    return closing.enter_context(Path(source).open("rb"))


def open_input(source: str, *, peek: int, holds: str = "conversation") -> Opened:
    """Open a file or ``-``, unpack gzip, and look at the first ``peek`` bytes.

    Raises InputError for an input that cannot be opened, is empty or is no text.
    """
    closing = ExitStack()
    name = "<stdin>" if source == "-" else source
    try:
        raw = _raw(source, closing)
        silence = _silence(raw) if source == "-" else None
        magic, stream = _peek(raw, len(_GZIP) + len(_BOM), silence=silence, watched=True)
        if magic.startswith(_GZIP):
            stream = closing.enter_context(gzip.GzipFile(fileobj=stream))  # type: ignore[arg-type]
        prefix, stream = _peek(stream, peek, silence=silence)
        _refuse(name, prefix, stream, holds)
    except (OSError, ValueError) as error:
        closing.close()
        raise InputError(f"{name}: cannot be read: {os_reason(error)}") from None
    except InputError:
        closing.close()
        raise
    lines = Lines(stream, name)
    plain = None if magic.startswith(_GZIP) else lines
    return Opened(name, prefix, lines, _position(raw, source, plain), closing, silence)


def _silence(raw: _Readable) -> Silence | None:
    try:
        return Silence(cast("io.BufferedReader", raw).fileno())
    except (OSError, AttributeError):  # not of the system, as in tests
        return None


def _position(raw: _Readable, source: str, plain: Lines | None) -> Callable[[], int]:
    """Return what tells the bytes taken; those that were unpacked are told by the block."""
    if source == "-" or is_url(source):
        return lambda: 0
    file = cast("io.BufferedReader", raw)
    if not file.seekable():
        return lambda: 0
    size = os.fstat(file.fileno()).st_size

    def taken() -> int:
        if file.closed:
            return size
        return file.tell() if plain is None else plain.taken

    return taken


def _refuse(name: str, prefix: bytes, stream: io.BufferedReader, holds: str) -> None:
    for magic, kind in _BINARY.items():
        if prefix.startswith(magic):
            raise InputError(f"{name}: this is {kind}; {holds}s are text")
    if _OLD_MAC.search(prefix) and b"\n" not in prefix and b"\0" not in prefix:
        raise InputError(
            f"{name}: its lines end in CR alone, as on old Macs; convert them with: tr '\\r' '\\n'"
        )
    if not prefix:
        try:
            stream.peek(1)
        except _UNREADABLE as error:
            raise InputError(f"{name}: {_broken(error)}") from None
        raise InputError(f"{name}: the file is empty; there is no {holds} in it")


def _broken(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the gzip file is cut off here; what stood before the break was read"
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return f"the gzip file is damaged here ({error}); what stood before the damage was read"
    return f"reading broke off here: {os_reason(error)}"


class Lines:
    """The lines of a stream; a RecordError stands for a line that cannot be had."""

    def __init__(self, stream: io.BufferedReader, name: str) -> None:
        self.taken = 0  # bytes that were handed out or skipped
        self._stream = stream
        self._name = name

    def __iter__(self) -> Iterator[Line | RecordError]:
        number = 0
        readline = self._stream.readline
        while True:
            number += 1
            try:
                data = readline(LONGEST_LINE)
                if not data:
                    return
                self.taken += len(data)
                if data[-1] != 10 and len(data) == LONGEST_LINE:
                    self._skip_line()
                    yield self._error(
                        f"the line is longer than {LONGEST_LINE >> 20} MiB and was skipped", number
                    )
                    continue
            except _UNREADABLE as error:
                yield self._error(_broken(error), number)
                return
            if data[-1] == 10:
                data = data[:-2] if data[-2:] == b"\r\n" else data[:-1]
            yield Line(number, data)

    def blocks(self) -> Iterator[bytes | RecordError]:
        """Yield the bytes in blocks, for formats that do not go by lines."""
        while True:
            try:
                data = self._stream.read1(_BLOCK)
            except _UNREADABLE as error:
                yield RecordError(_broken(error), file=self._name)
                return
            if not data:
                return
            self.taken += len(data)
            yield data

    def _skip_line(self) -> None:
        while data := self._stream.readline(_BLOCK):
            self.taken += len(data)
            if data[-1] == 10:
                return

    def _error(self, problem: str, number: int) -> RecordError:
        return RecordError(problem, file=self._name, line=number)


def blocks_of(lines: Iterable[Line | RecordError]) -> Iterator[bytes | RecordError]:
    """Yield the bytes behind lines, however long the lines are."""
    if isinstance(lines, Lines):
        yield from lines.blocks()
        return
    for line in lines:
        yield line if isinstance(line, RecordError) else line.data + b"\n"
