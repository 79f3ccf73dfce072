"""JSON and lines: decoding with a reason for what is wrong, and a look at the first records."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from grice.data import Conversation
from grice.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Item = TypeVar("Item")

LOOK_AT = 8
"""Lines that are tried when a format is recognised."""
_LONE_SURROGATE = re.compile(
    rb"(?<!\\)(?:\\\\)*\\u(?:d[89ab][0-9a-f]{2}(?!\\ud[c-f])|d[c-f][0-9a-f]{2})", re.IGNORECASE
)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},]', re.DOTALL)
_KINDS = {type(None): "null", bool: "true or false", str: "text", list: "a list"}
_decoder = msgspec.json.Decoder()


class FieldError(Exception):
    """A record that cannot be used, before its file and line are known."""

    def __init__(self, field: str | None, problem: str) -> None:
        super().__init__(problem)
        self.field, self.problem = field, problem

    def inside(self, outer: str) -> FieldError:
        """Return the same problem with the path of the field begun further out."""
        return FieldError(outer if self.field is None else f"{outer}.{self.field}", self.problem)

    def at(self, file: str, line: int | None = None) -> RecordError:
        """Return the error that users see."""
        return RecordError(self.problem, file=file, line=line, field=self.field)


class Line(NamedTuple):
    """One line without its end, or one JSON value; no bytes, but why it cannot be read.

    ``number`` is the line that it starts on, from 1.
    """

    number: int
    data: bytes
    problem: str | None = None

    def is_blank(self) -> bool:
        """Return whether it is white space alone."""
        return not self.problem and (not self.data or self.data.isspace())

    def text(self) -> str:
        """Return the text; raises FieldError if it cannot be read, or holds a NUL byte."""
        if self.problem:
            raise FieldError(None, self.problem)
        text = _text(self.data)
        if "\0" in text:
            place = self.data.index(0)
            raise FieldError(None, f"NUL byte at byte {place} of the line; text is expected")
        return text

    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the decoded JSON; raises FieldError if it is none."""
        if self.problem:
            raise FieldError(None, self.problem)
        return decode(self.data)


class Row(NamedTuple):
    """The cells of a row of a table, and the line it starts on; or why it cannot be read."""

    number: int
    cells: list[Any]
    problem: str | None = None


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        place = f"byte 0x{data[error.start]:02x} at byte {error.start} of the line"
        convert = "convert the file, such as with: iconv -f LATIN1 -t UTF-8"
        raise FieldError(None, f"not UTF-8: {place}; {convert}") from None


def kind(value: object) -> str:
    """Return the JSON name of a value's type."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"the number {str(value)[:20]}"
    return _KINDS.get(type(value), "an object")


def expect(value: object, type_: type[Item], expected: str, field: str | None = None) -> Item:
    """Return a value that has to be of a type, which the message calls ``expected``."""
    if isinstance(value, type_):
        return value
    raise FieldError(field, f"expected {expected}, found {kind(value)}")


def field_names(record: Mapping[str, object]) -> str:
    """Return the first names of the fields of a record, for messages."""
    return ", ".join(sorted(record)[:8]) or "no field"


def decode(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Decode JSON; FieldError says why it is none and what to do."""
    try:
        return _decoder.decode(data)
    except UnicodeDecodeError:
        reason = ""
    except RecursionError:
        raise FieldError(None, "JSON nested too deeply") from None
    except msgspec.DecodeError as error:
        reason = str(error)
    _text(data)
    raise FieldError(None, _reason(data, reason))


def _reason(data: bytes, reason: str) -> str:
    short = reason.removeprefix("JSON is malformed: ")
    if lone := _LONE_SURROGATE.search(data):
        return (
            f"half a character (a lone surrogate escape) at byte {lone.end()} of the line; "
            "write the whole character, or \\ufffd"
        )
    if place := re.search(r"byte (\d+)", reason):
        rest = data[int(place[1]) :]
        if word := re.match(rb"-?(?:NaN|Infinity)", rest):
            return f"not JSON: {word[0].decode()} at byte {place[1]}; write null"
        if re.match(rb"[NI'TF]", rest):
            return f"not JSON: {short}; this looks like a Python object: write it with json.dumps"
    if data.strip()[:1] not in (b"{", b"["):
        return "not JSON: expected an object, {…}"
    return f"not JSON: {short}"


def stem(name: str) -> str:
    """Return the name of a file without folders and suffixes, for ids of unnamed records.

    >>> stem("logs/monday.jsonl.gz")
    'monday'
    """
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2].strip("<>")
    base = base.removesuffix(".gz")
    return base.rpartition(".")[0] or base


def parsed_lines(
    lines: Iterable[Line], name: str, parse: Callable[[Line], Iterable[Item]]
) -> Iterator[Item | RecordError]:
    """Yield the results of ``parse`` on lines that are not blank; a FieldError is a RecordError."""
    for line in lines:
        if line.is_blank():
            continue
        try:
            yield from parse(line)
        except FieldError as bad:
            yield bad.at(name, line.number)


def records(
    lines: Iterable[Line],
    name: str,
    build: Callable[[dict[str, Any], str], Conversation | Sequence[Conversation]],
) -> Iterator[Conversation | RecordError]:
    """Yield the conversations that ``build`` makes of each object and an id if it has none."""
    base = stem(name)

    def parse(line: Line) -> Sequence[Conversation]:
        built = build(object_of(line), f"{base}:{line.number}")
        return (built,) if isinstance(built, Conversation) else built

    return parsed_lines(lines, name, parse)


def object_of(line: Line) -> dict[str, Any]:
    """Return the JSON object of a line."""
    return expect(line.json(), dict, "an object, {…}")


@lru_cache(maxsize=1)  # every format of JSON lines looks at them
def samples(prefix: bytes) -> Sequence[dict[str, Any]]:
    """Return the JSON objects among the first lines, none of an array.

    A first line longer than the prefix counts with the fields that could be seen.
    """
    objects: list[Any] = []
    lines = [line for line in prefix.split(b"\n", 4 * LOOK_AT) if line.strip()]
    for line in lines[:LOOK_AT] if not prefix.lstrip().startswith(b"[") else ():
        with suppress(FieldError):
            objects.append(decode(line))
    if not any(isinstance(each, dict) for each in objects) and b"\n" not in prefix.strip():
        objects = [closed(prefix)]
    return [each for each in objects if isinstance(each, dict)]


def confidence(prefix: bytes, fits: Callable[[dict[str, Any]], bool]) -> float:
    """Return the confidence that an input holds objects that fit, 0 to 0.95."""
    objects = samples(prefix)
    share = sum(map(fits, objects)) / len(objects) if objects else 0.0
    return 0.55 + 0.4 * share if share else 0.0


def closed(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Decode a JSON value that is cut off at the end of ``data``, as far as it goes; or None."""
    stack: list[bytes] = []
    cut, closers = 0, b""
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
    except FieldError:
        return None
