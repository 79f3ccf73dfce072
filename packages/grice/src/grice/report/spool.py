"""Conversations on their way into the page, kept on disk as compressed chunks."""

from __future__ import annotations

import gzip
import tempfile
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK_LINES = 50
CHUNK_BYTES = 256 * 1024
"""A chunk closes at whichever comes first: a browser unpacks one in a few milliseconds."""


def compress(data: bytes) -> bytes:
    """Return ``data`` as gzip, the same bytes for the same data."""
    return gzip.compress(data, compresslevel=6, mtime=0)


class ChunkSpool:
    """Lines of bytes, written once, then read back; holds at most one chunk in memory.

    Args:
        folder: Where the nameless spool file lives, None for where the system keeps such files;
            it is gone when closed or when the process ends.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by close)
        self._sizes = array("Q")
        self._starts = array("Q")
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._lines = 0

    def append(self, line: bytes) -> None:
        """Add one line, which holds no line break."""
        self._open.append(line)
        self._open_bytes += len(line)
        if len(self._open) >= CHUNK_LINES or self._open_bytes >= CHUNK_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._open:
            self._starts.append(self._lines)
            self._sizes.append(self._file.write(compress(b"\n".join(self._open))))
            self._lines += len(self._open)
            self._open = []
            self._open_bytes = 0

    def starts(self) -> list[int]:
        """Return the number of the first line of each chunk, counted from 0."""
        self._flush()
        return self._starts.tolist()

    def chunks(self) -> Iterator[bytes]:
        """Yield the compressed chunks in order; unpacked, each is its lines with breaks between."""
        self._flush()
        self._file.seek(0)
        for size in self._sizes:
            yield self._file.read(size)

    def lines(self) -> Iterator[bytes]:
        """Yield all lines in the order they were added."""
        for chunk in self.chunks():
            yield from gzip.decompress(chunk).split(b"\n")

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()
