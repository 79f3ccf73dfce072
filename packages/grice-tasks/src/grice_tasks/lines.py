"""Small text files, whole or line by line: JSON lines, tables, plain text; gzip is unpacked."""

from __future__ import annotations

import gzip
import sys
import zlib
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from grice.errors import InputError, RecordError, os_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

GZIP = b"\x1f\x8b"


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers from 1.

    ``-`` is standard input.
    """
    for number, line in enumerate(_content(path).split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            raise RecordError(os_reason(error), file=str(path), line=number) from error
        if text.strip():
            yield number, text


def read_text(path: Path) -> str:
    """Return the text of a file; ``-`` is standard input."""
    try:
        return _content(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {os_reason(error)}") from error


def _content(path: Path) -> bytes:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        data = gzip.decompress(data) if data.startswith(GZIP) else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from error
    return data.removeprefix(BOM_UTF8)


def check_distinct(path: Path, names: Iterable[str]) -> None:
    """Refuse a file in which two records have one id."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path}: the id {name!r} comes twice; ids must be distinct")
        seen.add(name)
