"""Small text files, whole or by line; gzip is unpacked, ``-`` is standard input."""

from __future__ import annotations

import gzip
import sys
import zlib
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, TypeVar

import msgspec

from grice.errors import InputError, RecordError, os_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

GZIP = b"\x1f\x8b"
Row = TypeVar("Row", bound=msgspec.Struct)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers from 1."""
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            raise RecordError(os_reason(error), file=str(path), line=number) from error
        if text.strip():
            yield number, text


def read_rows(path: Path, kind: type[Row]) -> Iterator[tuple[int, Row]]:
    """Yield the records of a file of JSON lines, with the numbers of their lines."""
    for number, line in read_lines(path):
        yield number, decode_row(path, number, line, kind)


def decode_row(path: Path, number: int, line: str, kind: type[Row]) -> Row:
    """Decode a line of JSON; an error names its place and the fields that are needed."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        needed = [field.name for field in msgspec.structs.fields(kind) if field.required]
        hint = f"; a line needs {', '.join(needed)}" if needed else ""
        raise RecordError(f"{error}{hint}", file=str(path), line=number) from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked and without a byte-order mark."""
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
