"""JSON values out of a stream of any layout: arrays, values one after the other, big objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import RecordError, excerpt
from grice.readers._bytes import LONGEST_LINE
from grice.readers._format import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'["\\]')
_GAP = 1 << 10


class Value(NamedTuple):
    """One value as it stands in the file.

    Attributes:
        before: What stands between it and the value before: commas, white space, a key.
        line: Its bytes, and the line it starts on.
    """

    before: bytes
    line: Line


def values(
    blocks: Iterable[bytes | RecordError], name: str, *, container: bytes
) -> Iterator[Value | RecordError]:
    """Yield objects (and lists) that stand alone or one level down in a container.

    Args:
        container: ``b"["`` to yield the elements of arrays, and objects outside of any array;
            ``b"{"`` to yield the members of objects.

    Memory is bounded by the largest value, and that by the longest line allowed. A value is cut
    out by counting brackets outside of strings; whether it is JSON is for the caller to see.
    """
    state = _Cutter(name, container)
    for block in blocks:
        if isinstance(block, RecordError):
            yield block
            break
        yield from state.feed(block)
    yield from state.end()


class _Cutter:
    """Where the cutting stands between two blocks."""

    def __init__(self, name: str, container: bytes) -> None:
        self._name = name
        self._container = container
        self._line = 1
        self._depth = 0
        self._base = 0
        self._in_string = False
        self._escaped = False
        self._start: int | None = None  # line of the value that is open
        self._parts: list[bytes] = []
        self._size = 0
        self._gap = b""

    def feed(self, block: bytes) -> Iterator[Value | RecordError]:
        place = counted = 0
        begin = 0  # of what is not yet stored: of the open value, or of the gap
        while True:
            if self._escaped:
                if place >= len(block):
                    break
                self._escaped = False
                place += 1
            token = (_INSIDE if self._in_string else _OUTSIDE).search(block, place)
            if token is None:
                break
            place = token.end()
            match token[0]:
                case b'"':
                    self._in_string = not self._in_string
                case b"\\":
                    self._escaped = True
                case b"{" | b"[":
                    if self._start is None:
                        self._line += block.count(b"\n", counted, token.start())
                        counted = token.start()
                        self._keep_gap(block[begin : token.start()])
                        if self._depth == 0 and token[0] == self._container:
                            self._base = 1
                            yield from self._stray()
                            begin = place
                        else:
                            self._start = self._line
                            begin = token.start()
                    self._depth += 1
                case _:
                    self._depth = max(0, self._depth - 1)
                    if self._start is not None and self._depth == self._base:
                        yield self._cut(block[begin:place])
                        begin = place
                    elif self._start is None:
                        self._keep_gap(block[begin : token.start()])
                        self._base = 0
                        yield from self._stray()
                        begin = place
        self._line += block.count(b"\n", counted)
        self._store(block[begin:])

    def end(self) -> Iterator[RecordError]:
        """Say what is wrong with the end of the file."""
        if self._start is not None:
            yield self._error("the file ends inside the value that begins here", self._start)
            return
        yield from self._stray()
        if self._depth:
            yield self._error("the file ends before its outermost bracket is closed", self._line)

    def _store(self, rest: bytes) -> None:
        if self._start is None:
            self._keep_gap(rest)
            return
        self._size += len(rest)
        if self._size > LONGEST_LINE:
            self._parts.clear()
        else:
            self._parts.append(rest)

    def _cut(self, rest: bytes) -> Value | RecordError:
        self._store(rest)
        line, size, before = self._start or 1, self._size, self._gap
        data = b"".join(self._parts)
        self._parts.clear()
        self._start, self._size, self._gap = None, 0, b""
        if size > LONGEST_LINE:
            return self._error(
                f"the value is longer than {LONGEST_LINE >> 20} MiB and was skipped", line
            )
        return Value(before, Line(line, data))

    def _keep_gap(self, data: bytes) -> None:
        self._gap = (self._gap + data.strip())[:_GAP]

    def _stray(self) -> Iterator[RecordError]:
        """Complain about anything but commas outside of values."""
        stray = self._gap.strip(b", \t\r\n")
        self._gap = b""
        if stray:
            shown = excerpt(stray.decode("utf-8", "replace"), 40)
            yield self._error(f"expected an object, found {shown!r}", self._line)

    def _error(self, problem: str, line: int) -> RecordError:
        return RecordError(problem, file=self._name, line=line)
