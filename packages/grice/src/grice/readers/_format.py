"""What a format declares, and what passes between the reader and the formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from grice.errors import RecordError
from grice.records import Conversation


class Bad(Exception):  # noqa: N818 - caught in this room only, and turned into a RecordError
    """A record that cannot be used; whoever knows the place turns it into a RecordError."""

    def __init__(self, field: str | None, problem: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem

    def inside(self, outer: str) -> Bad:
        """Return the same problem with the field named from further out."""
        return Bad(outer if self.field is None else f"{outer}.{self.field}", self.problem)

    def at(self, file: str, line: int) -> RecordError:
        """Return the error that the user sees."""
        return RecordError(self.problem, file=file, line=line, field=self.field)


class Line(NamedTuple):
    """One line without its end, or one JSON value, with the line it starts on (from 1)."""

    number: int
    data: bytes

    def text(self) -> str:
        """Return the line as text; raises Bad if it is not UTF-8, or holds a NUL byte."""
        try:
            text = self.data.decode()
        except UnicodeDecodeError as error:
            raise not_utf8(self.data, error) from None
        if "\0" in text:
            offset = self.data.index(0)
            raise Bad(None, f"NUL byte at byte {offset} of the line; text is expected")
        return text


def not_utf8(data: bytes, error: UnicodeDecodeError) -> Bad:
    """Return the complaint about bytes that are not UTF-8."""
    return Bad(
        None,
        f"not UTF-8: byte 0x{data[error.start]:02x} at byte {error.start} of the line; "
        "convert the file, such as with: iconv -f LATIN1 -t UTF-8",
    )


Found: TypeAlias = Conversation | RecordError
"""What reading yields: a conversation, or what is wrong with a record."""


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One way a conversation can come in.

    Attributes:
        name: What ``--format`` takes.
        summary: One line that says where files of this kind come from.
        description: How fields become conversations, turns and targets, in Markdown.
        example: The content of a small file of this format; empty where such a file is no text.
        sniff: Gets the first bytes of an input (at most 64 KiB, the last line may be cut) and
            returns how sure it is that it can read it: 0 not at all, 1 certain.
        read: Gets the lines (a RecordError where one cannot be had) and the name of the file,
            and yields conversations and what is wrong with records, in order. Raises nothing, but
            an InputError at once if the input as a whole cannot be read.
        with_columns: Returns this format for a table whose columns the user names; None if it has
            no columns.
    """

    name: str
    summary: str
    description: str
    example: str
    sniff: Callable[[bytes], float]
    read: Callable[[Iterable[Line | RecordError], str], Iterator[Found]]
    with_columns: Callable[[Mapping[str, str]], Format] | None = None


def stem(name: str) -> str:
    """Return the name of a file without folders and suffixes, for ids of unnamed records.

    >>> stem("logs/monday.jsonl.gz")
    'monday'
    """
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2].strip("<>")
    base = base.removesuffix(".gz")
    return base.rpartition(".")[0] or base
