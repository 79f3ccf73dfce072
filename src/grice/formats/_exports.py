"""Exports of tracers as JSON: an object a line, or one object that holds them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.errors import RecordError
from grice.formats._calls import Call, conversations
from grice.formats._chat import history_of, replies_of
from grice.formats._format import Bad, Line
from grice.formats._json import decode, kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grice.formats._format import Found

__all__ = ["dialogue_of", "first_of", "object_in", "read_export", "text_in"]


def read_export(
    lines: Iterable[Line | RecordError],
    name: str,
    calls_of: Callable[[dict[str, Any], str], Iterable[Call]],
    wrappers: tuple[str, ...] = (),
) -> Iterator[Found]:
    """Yield the conversations of the calls that each object of a file logs.

    Args:
        lines: Of the file.
        name: Of the file.
        calls_of: Gets an object and what to call a trace without a name; raises Bad for an object
            that cannot be used.
        wrappers: Fields that may hold a list of such objects, as an answer of an API does.
    """
    return conversations(_calls(lines, name, calls_of, wrappers))


def _calls(
    lines: Iterable[Line | RecordError],
    name: str,
    calls_of: Callable[[dict[str, Any], str], Iterable[Call]],
    wrappers: tuple[str, ...],
) -> Iterator[Call | RecordError]:
    for line in lines:
        if isinstance(line, RecordError):
            yield line
        elif line.data.strip():
            try:
                record = decode(line.data)
                if not isinstance(record, dict):
                    raise Bad(None, f"expected an object, {{…}}, found {kind(record)}")
            except Bad as bad:
                yield bad.at(name, line.number)
                continue
            for place, item in enumerate(_unwrapped(record, wrappers)):
                try:
                    if not isinstance(item, dict):
                        raise Bad(None, f"expected an object, {{…}}, found {kind(item)}")
                    yield from calls_of(item, f"{name}:{line.number}:{place}")
                except Bad as bad:
                    yield bad.at(name, line.number)


def _unwrapped(record: dict[str, Any], wrappers: tuple[str, ...]) -> list[Any]:
    for wrapper in wrappers:
        if isinstance(items := record.get(wrapper), list):
            return items
    return [record]


def dialogue_of(call: Call, sent: object, returned: object, fields: tuple[str, str]) -> list[Call]:
    """Return a call with what was sent and returned; none where nothing was said.

    Raises:
        Bad: One of them cannot be read, or nothing came back.
    """
    if returned is None:
        raise Bad(fields[1], "missing: the call failed, or half of it was lost")
    history = _read(history_of, sent, fields[0])
    replies = _read(replies_of, returned, fields[1])
    if len(replies) > len(history) and replies[: len(history)] == history:
        replies = replies[len(history) :]  # a graph returns all messages
    return [call._replace(history=history, replies=replies)] if replies else []


def _read(reader: Callable[[object], list[Any]], value: object, field: str) -> list[Any]:
    try:
        return reader(value)
    except Bad as bad:
        raise bad.inside(field) from None


def first_of(record: dict[str, Any], wrappers: tuple[str, ...]) -> list[Any]:
    """Return an object, or the first of the list that it holds; none of an empty list."""
    return _unwrapped(record, wrappers)[:1]


def object_in(record: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the first of some fields that is an object; else an empty one."""
    return next((record[name] for name in names if isinstance(record.get(name), dict)), {})


def text_in(record: dict[str, Any], *names: str) -> str:
    """Return the first of some fields that is a text or a number, as a text; else nothing."""
    for name in names:
        value = record.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value):
            return str(value)
    return ""
