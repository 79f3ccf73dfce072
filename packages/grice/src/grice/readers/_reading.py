"""Reading an input of any kind, one conversation at a time.

:class:`Input` opens a path and gives its lines; :class:`Reading` turns them into conversations.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import sys
import tempfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from itertools import starmap
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
from msgspec.structs import replace

from grice.data import Conversation
from grice.errors import InputError, RecordError, os_reason, redacted
from grice.files import files_under, is_folder, is_url, open_url
from grice.readers._formats import (
    LONGEST_LINE,
    SURE_ENOUGH,
    FieldError,
    Format,
    Found,
    Line,
    best_format,
    field_names,
    named,
    recognise,
)
from grice.readers.table import LOOK_AT, check_parts

PREFIX = 1 << 16  # bytes that are used to recognise a format, and bytes of a block
DESCRIPTIONS = frozenset({"dataset_dict.json", "dataset_info.json", "state.json"})
"""Files beside the data in data sets of Hugging Face on disk, which hold no conversations."""
_UNREADABLE = (EOFError, OSError, zlib.error)


class Input:
    """A file, or ``-`` for standard input, unpacked: its first bytes, its blocks, its lines."""

    def __init__(self, source: str, peek: int = PREFIX) -> None:
        """Open and look at the first bytes; InputError if it is missing, empty or no text."""
        self.name = "<stdin>" if source == "-" else redacted(source)
        self.on_silence: Callable[[], None] | None = None
        self._closing = ExitStack()
        self._size: int | None = None
        self._descriptor: int | None = None
        self._error: Exception | None = None  # raised in its place, behind the prefix
        try:
            self._file = self._opened(source)
            self._is_packed = self._file.peek(2).startswith(b"\x1f\x8b")
            self._read1: Callable[[int], bytes] = self._file.read1
            if self._is_packed:
                packed = self._closing.enter_context(gzip.GzipFile(fileobj=self._file))
                self._read1 = packed.read1
            self.prefix = self._look(peek).removeprefix(b"\xef\xbb\xbf")
            if not self.prefix:
                empty = "the file is empty"
                raise InputError(_broken(self._error) if self._error else empty)
            if re.search(rb"\r[^\r]", self.prefix) and not re.search(rb"[\n\0]", self.prefix):
                raise InputError(r"its lines end in CR alone; convert them with: tr '\r' '\n'")
        except (OSError, ValueError, InputError) as error:
            self.close()
            prefix = "" if isinstance(error, InputError) else "cannot be read: "
            raise InputError(f"{self.name}: {prefix}{os_reason(error)}") from None

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
        # One whole line of a slow stream is enough.
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
            return not select.select([self._descriptor], [], [], 0.5)[0]
        except (OSError, ValueError):  # a platform that can wait for sockets alone
            return False

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
        """Return the bytes as a seekable file, a temporary one if need be; or a FieldError."""
        if not self._is_packed and self._file.seekable() and self._file is not sys.stdin.buffer:
            self._file.seek(0)
            return self._file
        spool = self._closing.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        for block in self.blocks():
            spool.write(block)
        spool.seek(0)
        return cast("BinaryIO", spool)


def _broken(error: Exception) -> str:
    reason = "the gzip file is truncated" if isinstance(error, EOFError) else os_reason(error)
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        reason = f"the gzip file is damaged ({reason})"
    return f"reading failed here: {reason}; everything before was read"


class Reading(Iterator[Found], AbstractContextManager["Reading"]):
    """Conversations of one input in order, with a RecordError in place of each broken record.

    To leave it early, call ``close()`` or use a ``with`` block.

    Attributes:
        format: Name of the format; ``directory`` if every file of a directory has its own.
        source, columns: The input and the names of columns as they were given.
        name: The input without the secrets of its URL.
        size: Bytes of the input as they lie on disk; None if it is not known, as of a pipe.
    """

    def __init__(
        self, source: str, form: Format | None = None, columns: Mapping[str, str] | None = None
    ) -> None:
        self._input: Input | None = None
        self._read = 0  # bytes of files that were read to the end
        self.source, self.name = source, redacted(source)
        self.columns = dict(columns or {})
        self.size = None if source == "-" else _size(source)
        if source != "-" and (is_folder(source) if is_url(source) else os.path.isdir(source)):  # noqa: PTH112
            self.format = form.name if form else "directory"
            records = self._directory(files_of(source), form)
        else:
            self.format, records = self._file(source, form)
        self._records = _with_unique_ids(records)

    def _file(self, file: str, form: Format | None) -> tuple[str, Iterator[Found]]:
        self._input = opened = Input(file, PREFIX if form is None else 1)
        try:
            form = form or recognise(opened.prefix[:PREFIX], opened.name, self.columns)
            options = {"columns": self.columns} if self.columns else {}
            return form.name, form.read(opened, opened.name, **options)
        except InputError:
            self._end_file()
            raise

    def _directory(self, files: list[str], form: Format | None) -> Iterator[Found]:
        for file in files:
            try:
                _, records = self._file(file, form)
            except InputError as error:
                yield RecordError(str(error).removeprefix(f"{redacted(file)}: "), file=file)
                continue
            yield from records
            self._end_file()

    def _end_file(self) -> None:
        if self._input is not None:
            self._input.close()
            self._read += self._input.position
            self._input = None

    def when_silent(self, callback: Callable[[], None]) -> None:
        """Set a callback for standard input that gives nothing for half a second."""
        if self._input is not None:
            self._input.on_silence = callback

    def __next__(self) -> Found:
        try:
            return next(self._records)
        except StopIteration:
            self._end_file()
            raise

    @property
    def position(self) -> int:
        """Bytes of ``size`` that were read so far; 0 if ``size`` is None."""
        return self._read + (self._input.position if self._input is not None else 0)

    def close(self) -> None:
        """End reading."""
        self._records = iter(())
        self._end_file()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._end_file()


class _Ids:
    """Unique names: the second record of the name ``x`` gets the name ``x#2``, the third ``x#3``.

    Only 64-bit hashes are kept, in an open table of 16 to 32 bytes an id; a set takes more.
    """

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * 1024))
        self._count = 0
        self._repeats: dict[int, int] = {}

    def unique(self, name: str) -> str:
        """Return the name, with a number behind it if it was given before."""
        if self._add(hash(name)):
            return name
        number = self._repeats.get(hash(name), 1) + 1
        while not self._add(hash(f"{name}#{number}")):
            number += 1
        self._repeats[hash(name)] = number
        return f"{name}#{number}"

    def _add(self, key: int) -> bool:
        key = key % (1 << 64) or 1  # 0 marks a free slot
        mask = len(self._table) - 1
        slot = key & mask
        while taken := self._table[slot]:
            if taken == key:
                return False
            slot = (slot + 1) & mask
        self._table[slot] = key
        self._count += 1
        if 2 * self._count > mask:
            old, self._table, self._count = self._table, array("Q", bytes(16 * mask + 16)), 0
            for each in filter(None, old):
                self._add(each)
        return True


def _with_unique_ids(records: Iterator[Found]) -> Iterator[Found]:
    ids = _Ids()
    for record in records:
        if isinstance(record, Conversation) and (name := ids.unique(record.id)) != record.id:
            yield replace(record, id=name)
        else:
            yield record


def read(
    source: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
) -> Reading:
    r"""Return the conversations of a file, of standard input or of a directory.

    Memory does not grow with the number of records, but for 16 to 32 bytes per id.

    Args:
        source: A path, a URL that fsspec opens, or ``-`` for standard input. Gzip is unpacked. The
            files of a directory are read in the order of their paths, hidden ones left out.
        format: Name of a format; None recognises it by the first 64 KiB.
        columns: Names of columns of a table by their meaning: ``conversation``, ``speaker``,
            ``role``, ``text``, ``time``, ``context``, ``response``, ``question`` or ``answer``, as
            in ``{"conversation": "ticket no"}``. An empty name of the conversation means that a
            table is one conversation.

    Raises:
        InputError: The format is unknown or not recognised, there is nothing to read, or a table
            lacks a column. In a directory, a file that cannot be used is yielded as a RecordError
            instead.

    >>> from pathlib import Path
    >>> _ = Path("chat.txt").write_text("Ann: Is it far?\nBob: Ten minutes.\n")
    >>> [conversation] = read("chat.txt")
    >>> conversation.turns[1]
    Turn(speaker='Bob', text='Ten minutes.', role=None, time=None, references=(), meta={})
    """
    if columns:
        check_parts(columns)
    return Reading(str(source), None if format is None else named(format, columns), columns)


def part_read(readings: Sequence[Reading]) -> float:
    """Return the part of inputs that was read, 0 to 1; 0 if it is not known."""
    total = sum(reading.size or 0 for reading in readings)
    known = total and all(reading.size is not None for reading in readings)
    return min(1.0, sum(reading.position for reading in readings) / total) if known else 0.0


def records_of(readings: Sequence[Reading]) -> Iterator[Found]:
    """Yield the records of inputs in turn; of several, each names its own in ``meta``."""
    for reading in readings:
        yield from reading if len(readings) == 1 else from_file(reading)


def from_file(reading: Reading) -> Iterator[Found]:
    """Yield the records of an input; each conversation names it in ``meta`` under ``file``."""
    for record in reading:
        if isinstance(record, Conversation):
            yield replace(record, meta={"file": reading.name, **record.meta})
        else:
            yield record


def from_logs(records: Sequence[Mapping[str, Any]], form: str | None, name: str) -> list[Found]:
    """Return the conversations of objects in the layout of a format of JSON lines.

    Without ``form`` it is recognised; InputError if it is not, or a value is none of JSON.
    """
    try:
        lines = [msgspec.json.encode(dict(record)) for record in records]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: a value cannot be written as JSON: {error}") from None
    sure, best = best_format(b"\n".join(lines[:LOOK_AT]))
    if form is None and sure < SURE_ENOUGH:
        raise InputError(
            f"{name}: expected an object with messages or turns, or with a response and its "
            f"context or question; found {field_names(dict(next(iter(records))))}"
        )
    chosen = named(form) if form else best
    return list(_with_unique_ids(chosen.read(starmap(Line, enumerate(lines, 1)), name)))


def find_conversation(
    source: str | Path,
    *,
    id: str | None = None,  # noqa: A002 - the field's name
    turn: int | None = None,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
) -> Conversation:
    """Return the conversation of an id, else the first, with one turn (the last) as its target.

    InputError if the file cannot be used, or there is no such conversation or turn.
    """
    broken: list[RecordError] = []
    with read(source, format=format, columns=columns) as reading:
        for record in reading:
            if isinstance(record, RecordError):
                broken.append(record)
            elif id in (None, record.id):
                last = len(record.turns) - 1
                chosen = last if turn is None else turn
                if not 0 <= chosen <= last:
                    raise InputError(f"{source}: {record.id} has turns 0 to {last}, not {chosen}")
                return replace(record, targets=(chosen,))
    name = "" if id is None else f" with the id {id!r}"
    unread = f"; {len(broken)} could not be read, the first: {broken[0]}" if broken else ""
    raise InputError(f"{source}: no conversation{name}{unread}")


def files_of(place: str) -> list[str]:
    """Return the files under a folder, sorted, or the file itself; InputError if there is none."""
    missing = f"{place}: cannot be read: there is no such file"
    empty = f"{place}: this directory contains no files to read"
    if is_url(place):
        if not (urls := files_under(place)):
            raise InputError(empty if is_folder(place) else missing)
        return urls
    if not os.path.isdir(place):  # noqa: PTH112 - pathlib raises for a name that is too long
        if not os.path.exists(place):  # noqa: PTH110
            raise InputError(missing)
        return [place]
    files: list[Path] = []
    problems: list[OSError] = []
    for folder, folders, names in os.walk(place, onerror=problems.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        passed = (".", "cache-", *DESCRIPTIONS) if DESCRIPTIONS.intersection(names) else (".",)
        files += [Path(folder, name) for name in names if not name.startswith(passed)]
    if not (found := [str(path) for path in sorted(files) if path.is_file()]):
        raise InputError(empty + "".join(f": {os_reason(problem)}" for problem in problems[:1]))
    return found


def _size(source: str) -> int | None:
    path = Path(source)
    try:
        if path.is_dir():
            return sum(_size(file) or 0 for file in files_of(source))
        return path.stat().st_size if path.is_file() else None
    except (OSError, InputError):
        return None
