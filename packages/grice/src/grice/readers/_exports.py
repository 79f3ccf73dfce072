"""Exports of tracers as JSON: an object a line, or one object that holds them all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.readers._calls import conversations
from grice.readers._chat import history_of, replies_of, turns_in
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, kind, object_of, parsed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grice.errors import RecordError
    from grice.readers._calls import Call
    from grice.readers._format import Found, Line


def export_format(
    name: str,
    *,
    summary: str,
    description: str,
    example: str,
    is_item: Callable[[object], bool],
    calls_of: Callable[[dict[str, Any], str], Iterable[Call]],
    wrappers: tuple[str, ...] = (),
) -> Format:
    """Return the format of a tracer that exports an object a call, a line each or in a list.

    Args:
        is_item: Whether an object is one of this tracer's.
        calls_of: Gets an object and what to call a trace without a name; raises Bad for an object
            that cannot be used.
        wrappers: Fields that may hold a list of such objects, as an answer of an API does.
    """

    def fits(record: dict[str, Any]) -> bool:
        return any(map(is_item, _unwrapped(record, wrappers)[:1]))

    def read(lines: Iterable[Line | RecordError], file: str) -> Iterator[Found]:
        def calls(line: Line) -> Iterator[Call | RecordError]:
            for place, item in enumerate(_unwrapped(object_of(line), wrappers)):
                try:
                    if not isinstance(item, dict):
                        raise Bad(None, f"expected an object, {{…}}, found {kind(item)}")
                    yield from calls_of(item, f"{file}:{line.number}:{place}")
                except Bad as bad:
                    yield bad.at(file, line.number)

        return conversations(parsed_lines(lines, file, calls))

    return Format(
        name=name,
        summary=summary,
        description=description,
        example=example,
        sniff=partial(confidence, fits=fits),
        read=read,
    )


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
    history = turns_in(history_of, sent, fields[0])
    replies = turns_in(replies_of, returned, fields[1])
    if len(replies) > len(history) and replies[: len(history)] == history:
        replies = replies[len(history) :]  # a graph returns all messages
    return [call._replace(history=history, replies=replies)] if replies else []


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
