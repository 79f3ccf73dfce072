"""JSON objects, one per line: decoding with readable complaints, and looking ahead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from grice.errors import RecordError
from grice.readers._format import Bad, Found, Line, not_utf8, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from grice.records import Conversation

Item = TypeVar("Item")

_LOOK_AT = 8
"""How many lines are tried when a format is recognised."""

_LONE_SURROGATE = re.compile(
    rb"(?<!\\)(?:\\\\)*\\u(?:d[89ab][0-9a-f]{2}(?!\\ud[c-f])|d[c-f][0-9a-f]{2})", re.IGNORECASE
)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},]', re.DOTALL)
_decoder = msgspec.json.Decoder()


def kind(value: object) -> str:
    """Return what JSON calls a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return f"the number {str(value)[:20]}"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def decode(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of JSON text; Bad says why it is none and what to do."""
    try:
        return _decoder.decode(data)
    except UnicodeDecodeError:
        pass
    except RecursionError:
        raise Bad(None, "JSON nested too deeply") from None
    except msgspec.DecodeError as error:
        reason = str(error)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(data, error) from None
    raise Bad(None, _why(data, reason))


def _why(data: bytes, reason: str) -> str:
    if lone := _LONE_SURROGATE.search(data):
        return (
            f"half a character (a lone surrogate escape) at byte {lone.end()} of the line; "
            "write the whole character, or \\ufffd"
        )
    if place := re.search(r"byte (\d+)", reason):
        rest = data[int(place[1]) :]
        if word := re.match(rb"-?(?:NaN|Infinity)", rest):
            return f"not JSON: {word[0].decode()} at byte {place[1]}; write null"
        if rest.startswith((b"N", b"I")) or re.match(rb"['TF]", rest):
            return (
                f"not JSON: {reason.removeprefix('JSON is malformed: ')}; this looks like a Python "
                "object: write it with json.dumps"
            )
    if data.strip()[:1] not in (b"{", b"["):
        return "not JSON: expected an object, {…}"
    return f"not JSON: {reason.removeprefix('JSON is malformed: ')}"


def records(
    lines: Iterable[Line | RecordError],
    name: str,
    build: Callable[[dict[str, Any], str], Conversation],
) -> Iterator[Found]:
    """Yield what ``build`` makes of each object; it also gets the id of a record without one."""
    base = stem(name)
    return parsed_lines(
        lines, name, lambda line: (build(object_of(line), f"{base}:{line.number}"),)
    )


def parsed_lines(
    lines: Iterable[Line | RecordError], name: str, parse: Callable[[Line], Iterable[Item]]
) -> Iterator[Item | RecordError]:
    """Yield what ``parse`` makes of each line that is not blank; a Bad becomes a RecordError."""
    for line in lines:
        if isinstance(line, RecordError):
            yield line
            continue
        if not line.data or line.data.isspace():
            continue
        try:
            yield from parse(line)
        except Bad as bad:
            yield bad.at(name, line.number)


def object_of(line: Line) -> dict[str, Any]:
    """Return the JSON object of a line."""
    value = decode(line.data)
    if type(value) is not dict:
        raise Bad(None, f"expected an object, {{…}}, found {kind(value)}")
    return value


def field_names(record: Mapping[str, object]) -> str:
    """Return the first names of the fields of a record, for complaints."""
    return ", ".join(sorted(record)[:8]) or "no field"


def samples(prefix: bytes) -> list[dict[str, Any]]:
    """Return the JSON objects among the first lines of an input.

    A first line longer than the prefix counts with the fields that could be seen.
    """
    objects = []
    lines = [line for line in prefix.split(b"\n", 4 * _LOOK_AT) if line.strip()]
    for line in lines[:_LOOK_AT]:
        try:
            value = decode(line)
        except Bad:
            continue
        if isinstance(value, dict):
            objects.append(value)
    if not objects and b"\n" not in prefix.strip():
        value = closed(prefix)
        if isinstance(value, dict):
            objects.append(value)
    return objects


def confidence(prefix: bytes, fits: Callable[[dict[str, Any]], bool]) -> float:
    """Return how sure it is that an input holds objects of one layout, 0 to 0.95."""
    objects = samples(prefix)
    if not objects:
        return 0.0
    share = sum(map(fits, objects)) / len(objects)
    return 0.55 + 0.4 * share if share else 0.0


def closed(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value that is cut off at the end of ``data``, as far as it goes; or None."""
    stack: list[bytes] = []
    cut = 0
    closers = b""
    for token in _TOKEN.finditer(data):
        match token[0]:
            case b"{":
                stack.append(b"}")
            case b"[":
                stack.append(b"]")
            case b"}" | b"]":
                if not stack:
                    return None
                stack.pop()
            case b",":
                cut, closers = token.start(), b"".join(reversed(stack))
            case b'"':
                break
        if not stack:
            cut, closers = token.end(), b""
            break
    try:
        return decode(data[:cut] + closers) if cut else None
    except Bad:
        return None
