"""From a path to lines of bytes: opening, gzip, looking ahead, lines of bounded length."""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import sys
import zlib
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, cast

from grice.errors import InputError, RecordError, os_reason
from grice.readers._json import Line
from grice.stores import is_url, open_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PREFIX = 1 << 16
"""Bytes that are looked at to recognise a format."""
LONGEST_LINE = 64 << 20
"""A longer line is reported and skipped, without being held."""
SECONDS = 0.5
"""A stream that gives nothing for so long is silent."""
_BLOCK = 1 << 16
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UNREADABLE = (EOFError, OSError, zlib.error)
_OLD_MAC = re.compile(rb"\r[^\r\n]")
_BINARY = {
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive or an office document; unpack or export it",
    b"BZh91AY&SY": "compressed with bzip2; unpack it, or pipe it in with: bzcat FILE | …",
    b"\xfd7zXZ\x00": "compressed with xz; unpack it, or pipe it in with: xzcat FILE | …",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or pipe it in with: zstdcat FILE | …",
    _GZIP: "compressed twice with gzip; unpack it once",
    b"SQLite format 3\x00": "an SQLite data base; export it as JSON lines or CSV",
    b"\x7fELF": "a program",
    b"\xff\xfe": "UTF-16 text; convert it with: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16 text; convert it with: iconv -f UTF-16 -t UTF-8",
}


class SilenceError(Exception):
    """An error of the callback while a stream was silent, which is no fault of the stream."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Raw(io.RawIOBase):
    """A stream that takes what is there of another, with a call before each read."""

    def __init__(self, read1: Callable[[int], bytes], wait: Callable[[], None]) -> None:
        self._read1, self._wait = read1, wait

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        self._wait()
        data = self._read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Input:
    """A file, or ``-`` for standard input, unpacked: its first bytes, and its lines.

    A RecordError stands for a line that cannot be had.

    Attributes:
        name: The source, ``<stdin>`` for standard input.
        prefix: The first bytes; the lines still begin with them.
        taken: Bytes that were handed out or skipped.
        on_silence: Called where standard input gives nothing for half a second.
    """

    def __init__(self, source: str, peek: int) -> None:
        """Open and look at the first bytes; InputError if it is missing, empty or no text."""
        self.name = "<stdin>" if source == "-" else source
        self.taken = 0
        self.on_silence: Callable[[], None] | None = None
        self._closing = ExitStack()
        try:
            self._open(source, peek)
            self._refuse()
        except (OSError, ValueError) as error:
            self.close()
            raise InputError(f"{self.name}: cannot be read: {os_reason(error)}") from None
        except InputError:
            self.close()
            raise

    def _open(self, source: str, peek: int) -> None:
        self._size = self._descriptor = None
        file: io.BufferedReader
        if source == "-":
            standard = cast("io.BufferedReader", sys.stdin.buffer)
            with suppress(OSError, AttributeError):  # not of the system, as in tests
                self._descriptor = standard.fileno()
            file = io.BufferedReader(_Raw(standard.read1, self._wait), _BLOCK)
        elif is_url(source):
            file = self._closing.enter_context(open_url(source))
        else:
            file = cast("io.BufferedReader", Path(source).open("rb", _BLOCK))  # noqa: SIM115
            self._closing.callback(file.close)
            self._size = os.fstat(file.fileno()).st_size if file.seekable() else None
        self._file = self._lines = file
        self._is_packed = file.peek(len(_GZIP)).startswith(_GZIP)
        if self._is_packed:
            packed = self._closing.enter_context(gzip.GzipFile(fileobj=file))
            self._lines = io.BufferedReader(_Raw(packed.read1, lambda: None), _BLOCK)
        prefix = b""
        # Raised in its place behind the prefix: a broken gzip stream may not raise it twice.
        self._error: Exception | None = None
        # One whole line of a stream that is silent is enough.
        while len(prefix) < peek and not (b"\n" in prefix and self._is_silent()):
            try:
                data = self._lines.read1(peek - len(prefix))
            except _UNREADABLE as error:
                self._error = error
                break
            if not data:
                break
            prefix += data
        self.prefix = prefix.removeprefix(_BOM)
        self._head = io.BytesIO(self.prefix)

    def _is_silent(self) -> bool:
        if self._descriptor is None:
            return False
        try:
            return not select.select([self._descriptor], [], [], SECONDS)[0]
        except (OSError, ValueError):  # a platform that can wait for sockets alone
            return False

    def _wait(self) -> None:
        if self.on_silence is not None and self._is_silent():
            try:
                self.on_silence()
            except OSError as error:
                raise SilenceError(error) from error

    def _refuse(self) -> None:
        prefix = self.prefix
        for magic, found in _BINARY.items():
            if prefix.startswith(magic):
                raise InputError(f"{self.name}: this is {found}; conversations are text")
        if _OLD_MAC.search(prefix) and b"\n" not in prefix and b"\0" not in prefix:
            raise InputError(
                f"{self.name}: its lines end in CR alone, as on old Macs; convert them with: "
                "tr '\\r' '\\n'"
            )
        if not prefix and self._error is not None:
            raise InputError(f"{self.name}: {_broken(self._error)}")
        if not prefix:
            raise InputError(f"{self.name}: the file is empty; there is no conversation in it")

    @property
    def position(self) -> int:
        """Bytes on disk that were read, counted by the block if packed; 0 if not known."""
        if self._size is None:
            return 0
        if self._file.closed:
            return self._size
        return self._file.tell() if self._is_packed else self.taken

    def close(self) -> None:
        """Close the file."""
        self._closing.close()

    def __iter__(self) -> Iterator[Line | RecordError]:
        readline, in_head = self._head.readline, True
        for number in count(1):
            try:
                data = readline(LONGEST_LINE)
                if in_head and data[-1:] != b"\n":
                    if self._error is not None:
                        raise self._error
                    readline, in_head = self._lines.readline, False
                    data += readline(LONGEST_LINE - len(data))
                if not data:
                    return
                self.taken += len(data)
                if data[-1] != 10 and len(data) == LONGEST_LINE:
                    while data and data[-1] != 10:
                        data = readline(_BLOCK)
                        self.taken += len(data)
                    problem = f"the line is longer than {LONGEST_LINE >> 20} MiB and was skipped"
                    yield RecordError(problem, file=self.name, line=number)
                    continue
            except _UNREADABLE as error:
                yield RecordError(_broken(error), file=self.name, line=number)
                return
            if data[-1] == 10:
                data = data[:-2] if data[-2:] == b"\r\n" else data[:-1]
            yield Line(number, data)

    def blocks(self) -> Iterator[bytes | RecordError]:
        """Yield the bytes in blocks."""
        data = self._head.read()
        try:
            while data:
                self.taken += len(data)
                yield data
                if self._error is not None:
                    raise self._error
                data = self._lines.read1(_BLOCK)
        except _UNREADABLE as error:
            yield RecordError(_broken(error), file=self.name)


def _broken(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the gzip file is cut off here; what stood before the break was read"
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return f"the gzip file is damaged here ({error}); what stood before the damage was read"
    return f"reading broke off here: {os_reason(error)}"


def blocks_of(lines: Iterable[Line | RecordError]) -> Iterator[bytes | RecordError]:
    """Yield the bytes behind lines, however long the lines are."""
    if isinstance(lines, Input):
        yield from lines.blocks()
        return
    for line in lines:
        yield line if isinstance(line, RecordError) else line.data + b"\n"
