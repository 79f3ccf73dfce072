"""Reading an input of any kind, one conversation at a time."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from grice.errors import InputError, RecordError
from grice.readers._bytes import PREFIX, open_input
from grice.readers._format import Found
from grice.readers._registry import named, recognise
from grice.records import Conversation
from grice.stores import files_under, is_folder, is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from grice.readers._bytes import Opened, Silence
    from grice.readers._format import Format

_MAGIC = 16


DESCRIBED = frozenset({"dataset_dict.json", "dataset_info.json", "state.json"})
"""Files beside the data that Hugging Face's data sets on disk have, which hold none."""


class Reading(Iterator[Found]):
    """Conversations of one input in order, with a RecordError in place of each broken record.

    Reading ends by itself; leave it early with ``close()`` or a ``with`` block.

    Attributes:
        format: Name of the format recognised or asked for; ``directory`` if every file of a
            directory has its own.
        source: The input as it was given.
        columns: Names of the columns of a table, as they were given.
        size: Bytes of the input as they lie on disk; None if nobody can tell, as of a pipe.
    """

    def __init__(
        self,
        source: str,
        form: str,
        records: Iterator[Found],
        *,
        position: Callable[[], int],
        close: Callable[[], None],
        silence: Silence | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.source = source
        self.columns = dict(columns or {})
        self.format = form
        self.size = None if source == "-" else _size(source)
        self._position = position
        self._records: Iterator[Found] = _unique(records)
        self._close = close
        self._silence = silence

    def when_silent(self, callback: Callable[[], None]) -> None:
        """Set what is called where standard input gives nothing for half a second.

        It is called while the next conversation is waited for. Of a file it never is.
        """
        if self._silence is not None:
            self._silence.call(callback)

    def __next__(self) -> Found:
        try:
            return next(self._records)
        except StopIteration:
            self._close()
            raise

    @property
    def position(self) -> int:
        """How many bytes of ``size`` were taken so far; 0 where ``size`` is None."""
        return self._position()

    def close(self) -> None:
        """Close the file; reading is over."""
        self._records = iter(())
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_close"):
            self._close()


class Ids:
    """Unique names: the second record of the name ``x`` gets the name ``x#2``, the third ``x#3``.

    Only 64-bit hashes are kept, in an open table of 16 to 32 bytes an id. Two of ten million ids
    have one hash with a chance of 1 in 400,000, and then one gets a needless ``#2``.
    """

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * 1024))
        self._count = 0
        self._repeats: dict[int, int] = {}

    def unique(self, name: str) -> str:
        """Return the name, or the name with a number behind it if it was given before."""
        key = _hash(name)
        if self._add(key):
            return name
        number = self._repeats.get(key, 1)
        while True:
            number += 1
            numbered = f"{name}#{number}"
            if self._add(_hash(numbered)):
                self._repeats[key] = number
                return numbered

    def _add(self, key: int) -> bool:
        """Return whether the key is new."""
        if not _insert(self._table, key):
            return False
        self._count += 1
        if 2 * self._count > len(self._table):
            table = array("Q", bytes(8 * 2 * len(self._table)))
            for old in self._table:
                if old:
                    _insert(table, old)
            self._table = table
        return True


def _insert(table: array[int], key: int) -> bool:
    mask = len(table) - 1
    slot = key & mask
    while taken := table[slot]:
        if taken == key:
            return False
        slot = (slot + 1) & mask
    table[slot] = key
    return True


def _hash(name: str) -> int:
    # Never 0, which marks a free slot.
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def _unique(records: Iterator[Found]) -> Iterator[Found]:
    ids = Ids()
    for record in records:
        if isinstance(record, RecordError):
            yield record
            continue
        name = ids.unique(record.id)
        yield record if name == record.id else replace(record, id=name)


def read(
    source: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
) -> Reading:
    r"""Return the conversations of a file, of standard input or of a directory.

    Args:
        source: A path, a URL that fsspec opens, or ``-`` for standard input. Gzip is unpacked. The
            files of a directory are read in the order of their paths, hidden ones left out.
        format: Name of a format; None recognises it by the first 64 KiB.
        columns: Names of columns of a table by what they are: ``conversation``, ``speaker``,
            ``role``, ``text``, ``time``, ``context``, ``response``, ``question`` or ``answer``, as
            in ``{"conversation": "ticket no"}``. An empty name of the conversation means that a
            table is one conversation.

    Memory does not grow with the number of records, but for 16 to 32 bytes per id.

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
    columns = columns or {}
    if columns:
        from grice.readers.table import check_parts

        check_parts(columns)
    form = None if format is None else named(format, columns)
    given = str(source)
    if given != "-" and (is_folder(given) if is_url(given) else Path(given).is_dir()):
        progress = _Progress()
        records = _directory(_files(given), form, columns, progress)
        return Reading(
            given,
            form.name if form else "directory",
            records,
            position=progress.position,
            close=lambda: None,
            columns=columns,
        )
    opened, form, records = _file(given, form, columns)
    return Reading(
        given,
        form.name,
        records,
        position=opened.position,
        close=opened.closing.close,
        silence=opened.silence,
        columns=columns,
    )


def part_read(readings: Sequence[Reading]) -> float:
    """Return which part of inputs was read, 0 to 1; 0 where nobody can tell."""
    sizes = [reading.size for reading in readings]
    total = 0 if None in sizes else sum(size or 0 for size in sizes)
    return min(1.0, sum(reading.position for reading in readings) / total) if total else 0.0


def records_of(readings: Sequence[Reading]) -> Iterator[Found]:
    """Yield the records of inputs, one after the other.

    Ids are unique within one input only: of several, each conversation names its own in ``meta``.
    """
    for reading in readings:
        yield from reading if len(readings) == 1 else from_file(reading)


def from_file(reading: Reading) -> Iterator[Found]:
    """Yield the records of an input; each conversation names it in ``meta`` under ``file``."""
    for record in reading:
        if isinstance(record, RecordError):
            yield record
        else:
            yield replace(record, meta={"file": reading.source, **record.meta})


def files_of(place: str) -> list[str]:
    """Return the files under a directory or a folder of a store, sorted; a file is itself.

    Raises:
        InputError: There is none.
    """
    if is_url(place) or Path(place).is_dir():
        return _files(place)
    if not Path(place).exists():
        raise InputError(f"{place}: cannot be read: there is no such file")
    return [place]


def find_conversation(
    source: str | Path,
    *,
    id: str | None = None,  # noqa: A002 - the field's name
    turn: int | None = None,
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
) -> Conversation:
    """Return the conversation of an id, or the first one, with the reply to be judged.

    It is the turn of this index, from 0, or the last one. Raises InputError if the file cannot be
    used, or there is no such conversation or turn.
    """
    with read(source, format=format, columns=columns) as reading:
        conversation = _find(reading, id)
    last = len(conversation.turns) - 1
    chosen = last if turn is None else turn
    if not 0 <= chosen <= last:
        raise InputError(f"{source}: {conversation.id} has turns 0 to {last}, not {chosen}")
    return Conversation(conversation.id, conversation.turns, (chosen,), conversation.meta)


def _find(reading: Reading, sought: str | None) -> Conversation:
    broken: list[RecordError] = []
    for record in reading:
        if isinstance(record, RecordError):
            broken.append(record)
        elif sought in (None, record.id):
            return record
    name = "" if sought is None else f" with the id {sought!r}"
    unread = f"; {len(broken)} could not be read, the first: {broken[0]}" if broken else ""
    raise InputError(f"{reading.source}: no conversation{name}{unread}")


class _Progress:
    """How far the files of a directory were read."""

    def __init__(self) -> None:
        self._before = 0
        self._current: Callable[[], int] = lambda: 0

    def open(self, position: Callable[[], int]) -> None:
        self._current = position

    def done(self, file: str) -> None:
        self._before += _size(file) or 0
        self._current = lambda: 0

    def position(self) -> int:
        return self._before + self._current()


def _size(source: str) -> int | None:
    path = Path(source)
    try:
        if path.is_dir():
            return sum(_size(file) or 0 for file in _files(source))
        return path.stat().st_size if path.is_file() else None
    except (OSError, InputError):
        return None


def _file(
    source: str, form: Format | None, columns: Mapping[str, str]
) -> tuple[Opened, Format, Iterator[Found]]:
    opened = open_input(source, peek=PREFIX if form is None else _MAGIC)
    try:
        form = form or recognise(opened.prefix, opened.name, columns)
        return opened, form, form.read(opened.lines, opened.name)
    except InputError:
        opened.closing.close()
        raise


def _directory(
    files: list[str], form: Format | None, columns: Mapping[str, str], progress: _Progress
) -> Iterator[Found]:
    for file in files:
        try:
            opened, _, records = _file(file, form, columns)
        except InputError as error:
            yield RecordError(str(error).removeprefix(f"{file}: "), file=file)
            continue
        progress.open(opened.position)
        try:
            yield from records
        finally:
            progress.done(file)
            opened.closing.close()


def _files(directory: str) -> list[str]:
    """Return the regular files under a directory, sorted, hidden ones left out."""
    if is_url(directory):
        if not (urls := files_under(directory)):
            what = "no file to read in this directory"
            what = what if is_folder(directory) else "cannot be read: there is no such file"
            raise InputError(f"{directory}: {what}")
        return urls
    problems: list[OSError] = []
    files = []
    for folder, folders, names in os.walk(directory, onerror=problems.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if DESCRIBED.intersection(names):
            names = [name for name in names if not name.startswith(("cache-", *DESCRIBED))]
        paths = (Path(folder, name) for name in names if not name.startswith("."))
        files += [path for path in paths if path.is_file()]
    if not files:
        reason = f": {problems[0].strerror}" if problems else ""
        raise InputError(f"{directory}: no file to read in this directory{reason}")
    return [str(path) for path in sorted(files)]
