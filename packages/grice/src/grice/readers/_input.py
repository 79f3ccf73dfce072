"""From a path to lines of bytes: opening, gzip, looking ahead, lines of bounded length."""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import sys
import tempfile
import zlib
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from grice.errors import InputError, os_reason
from grice.readers._json import FieldError, Line
from grice.stores import is_url, open_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PREFIX = 1 << 16
"""Bytes that are looked at to recognise a format, and bytes of a block."""
LONGEST_LINE = 64 << 20
"""A longer line is reported and skipped, without being held."""
SECONDS = 0.5
"""A stream that gives nothing for so long is silent."""
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UNREADABLE = (EOFError, OSError, zlib.error)
_OLD_MAC = re.compile(rb"\r[^\r\n]")
_BINARY = {
    b"\x89PNG\r\n": "a PNG image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive or an office document; unpack or export it",
    b"BZh91AY&SY": "compressed with bzip2; unpack it, or pipe it in with: bzcat FILE | …",
    b"\xfd7zXZ\x00": "compressed with xz; unpack it, or pipe it in with: xzcat FILE | …",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or pipe it in with: zstdcat FILE | …",
    _GZIP: "compressed twice with gzip; unpack it once",
    b"SQLite format 3\x00": "an SQLite data base; export it as JSON lines or CSV",
    b"\xff\xfe": "UTF-16 text; convert it with: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16 text; convert it with: iconv -f UTF-16 -t UTF-8",
}


class Input:
    """A file, or ``-`` for standard input, unpacked: its first bytes, its blocks, its lines.

    The blocks and lines still begin with ``prefix``. ``on_silence`` is called where standard input
    gives nothing for half a second.
    """

    def __init__(self, source: str, peek: int = PREFIX) -> None:
        """Open and look at the first bytes; InputError if it is missing, empty or no text."""
        self.name = "<stdin>" if source == "-" else source
        self.on_silence: Callable[[], None] | None = None
        self._closing = ExitStack()
        self._size: int | None = None
        self._descriptor: int | None = None
        self._error: Exception | None = None  # raised in its place, behind the prefix
        try:
            self._file = self._opened(source)
            self._is_packed = self._file.peek(len(_GZIP)).startswith(_GZIP)
            self._read1: Callable[[int], bytes] = self._file.read1
            if self._is_packed:
                packed = self._closing.enter_context(gzip.GzipFile(fileobj=self._file))
                self._read1 = packed.read1
            self.prefix = self._look(peek).removeprefix(_BOM)
            if problem := self._refusal():
                raise InputError(f"{self.name}: {problem}")
        except (OSError, ValueError) as error:
            self.close()
            raise InputError(f"{self.name}: cannot be read: {os_reason(error)}") from None
        except InputError:
            self.close()
            raise

    def _opened(self, source: str) -> io.BufferedReader:
        if source == "-":
            standard = cast("io.BufferedReader", sys.stdin.buffer)
            with suppress(OSError, AttributeError):  # not of the system, as in tests
                self._descriptor = standard.fileno()
            return standard
        if is_url(source):
            return self._closing.enter_context(open_url(source))
        file = cast("io.BufferedReader", Path(source).open("rb", PREFIX))  # noqa: SIM115
        self._closing.callback(file.close)
        self._size = os.fstat(file.fileno()).st_size if file.seekable() else None
        return file

    def _look(self, peek: int) -> bytes:
        prefix = b""
        # One whole line of a stream that is silent is enough.
        while len(prefix) < peek and not (b"\n" in prefix and self._is_silent()):
            try:
                data = self._read1(PREFIX)
            except _UNREADABLE as error:
                self._error = error
                break
            if not data:
                break
            prefix += data
        return prefix

    def _is_silent(self) -> bool:
        if self._descriptor is None:
            return False
        try:
            return not select.select([self._descriptor], [], [], SECONDS)[0]
        except (OSError, ValueError):  # a platform that can wait for sockets alone
            return False

    def _refusal(self) -> str | None:
        """Return why there can be no conversations in the input."""
        for magic, found in _BINARY.items():
            if self.prefix.startswith(magic):
                return f"this is {found}; conversations are text"
        if not self.prefix:
            empty = "the file is empty; there is no conversation in it"
            return _broken(self._error) if self._error else empty
        if _OLD_MAC.search(self.prefix) and b"\n" not in self.prefix and b"\0" not in self.prefix:
            return r"its lines end in CR alone, as on old Macs; convert them with: tr '\r' '\n'"
        return None

    @property
    def position(self) -> int:
        """Bytes on disk that were read, counted by the block; 0 if not known."""
        if self._size is None:
            return 0
        return self._size if self._file.closed else self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._closing.close()

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes in blocks; FieldError where reading breaks off."""
        data = self.prefix
        while data:
            yield data
            if self.on_silence is not None and self._is_silent():
                self.on_silence()
            try:
                if self._error is not None:
                    raise self._error
                data = self._read1(PREFIX)
            except _UNREADABLE as error:
                raise FieldError(None, _broken(error)) from None

    def __iter__(self) -> Iterator[Line]:
        number, size = 1, 0
        held: list[bytes] = []  # of the line that is not whole yet
        long = f"the line is longer than {LONGEST_LINE >> 20} MiB and was skipped"
        try:
            for block in self.blocks():
                start, *others = block.split(b"\n")
                held.append(start)
                size += len(start)
                if size > LONGEST_LINE:
                    held.clear()
                if not others:
                    continue
                others.insert(0, b"".join(held))
                if size > LONGEST_LINE:
                    yield Line(number, b"", long)
                    number += 1
                    del others[0]
                held = [others.pop()]
                size = len(held[0])
                for data in others:
                    yield Line(number, data[:-1] if data[-1:] == b"\r" else data)
                    number += 1
        except FieldError as bad:
            yield Line(number, b"", bad.problem)
            return
        if size:
            yield Line(number, b"".join(held), long if size > LONGEST_LINE else None)

    def seekable(self) -> BinaryIO:
        """Return the bytes as a file that can be read in any order, a temporary one if need be.

        FieldError if the input breaks off.
        """
        if not self._is_packed and self._file.seekable() and self._file is not sys.stdin.buffer:
            self._file.seek(0)
            return self._file
        spool = self._closing.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        for block in self.blocks():
            spool.write(block)
        spool.seek(0)
        return cast("BinaryIO", spool)


def _broken(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the gzip file is cut off here; what stood before the break was read"
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return f"the gzip file is damaged here ({error}); what stood before the damage was read"
    return f"reading broke off here: {os_reason(error)}"
