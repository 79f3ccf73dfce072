"""Formats: their declaration, lines and JSON records of an input, and recognition of a format.

A package offers a format through the entry point group ``grice.readers``, under the name of the
format; the entry point names a :class:`Format`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from grice import distributions
from grice.data import Conversation
from grice.errors import InputError, RecordError, did_you_mean, excerpt, os_reason

Item = TypeVar("Item")
MODULES = ("json", "layouts", "table", "text", "traces")
"""Modules with built-in formats, in their ``FORMATS``."""
LONGEST_LINE = 64 << 20  # a longer line is reported and skipped, without being held
SURE_ENOUGH = 0.3
TABLE_SURE = 0.92
"""Confidence in a table with known columns, and in any with columns that the user names."""
NESTED = "JSON nested too deeply"
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},]', re.DOTALL)
_KINDS = {type(None): "null", bool: "true or false", str: "text", list: "a list"}
_decoder = msgspec.json.Decoder()

Found: TypeAlias = Conversation | RecordError
"""An item of a reading: a conversation, or the error of a record."""
Build: TypeAlias = Callable[[dict[str, Any], str], Conversation | Sequence[Conversation]]
"""Builds the conversations of an object, with an id for one that has none."""


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
    """One line (from 1) without its end, or one JSON value; or the reason it cannot be read."""

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
        if b"\0" in self.data:
            place = self.data.index(0)
            raise FieldError(None, f"NUL byte at byte {place} of the line; text is expected")
        return _text(self.data)

    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the decoded JSON; raises FieldError if it is not JSON."""
        if self.problem:
            raise FieldError(None, self.problem)
        return decode(self.data)

    def record(self) -> dict[str, Any]:
        """Return the decoded JSON object; raises FieldError if it is anything else."""
        return expect(self.json(), dict, "an object, {…}")


class Format(msgspec.Struct, frozen=True):
    """A format of conversations.

    Attributes:
        name: Name that ``--format`` takes.
        summary: One line on the origin of such files.
        sniff: Gets the first bytes of an input (at most 64 KiB, the last line may be cut) and
            returns the confidence that it can read it: 0 not at all, 1 certain.
        read: Gets the lines (``problem`` says why one cannot be had) and the name of the file, and
            yields conversations and errors of records, in order. Raises nothing, but an InputError
            at once if the input as a whole cannot be read.
        has_columns: Whether it is a table: ``read`` then also takes ``columns``, the names of
            columns that the user gives.
    """

    name: str
    summary: str
    sniff: Callable[..., float]
    read: Callable[..., Iterator[Found]]
    has_columns: bool = False


def json_format(
    name: str, summary: str, fits: Callable[[dict[str, Any]], bool], build: Build
) -> Format:
    """Return the format of JSON lines whose records fit."""
    return Format(name, summary, partial(confidence, fits=fits), partial(_records, build=build))


class Formats(NamedTuple):
    """The formats, and a line for each of other distributions that cannot be used."""

    formats: Mapping[str, Format]
    problems: tuple[str, ...]


@cache  # scanning all installed packages takes longer than reading a conversation
def find_formats() -> Formats:
    """Return all formats: built-in and installed."""
    # The modules are named, not imported above: they import this one.
    modules = (import_module(f"grice.readers.{name}") for name in MODULES)
    built_in = (form for module in modules for form in module.FORMATS)
    formats = {form.name: form for form in sorted(built_in, key=lambda form: form.name)}
    problems = []
    for entry in distributions.entry_points("grice.readers"):
        title = f"format {entry.name!r} of {distributions.owner(entry)}"
        try:
            form = distributions.load(entry)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises, the others work
            problems.append(f"{title}: {type(error).__name__}: {error}")
            continue
        if not isinstance(form, Format) or form.name != entry.name or form.name in formats:
            problems.append(f"{title}: {entry.value} declares no new format of that name")
        else:
            formats[form.name] = form
    return Formats(formats, tuple(problems))


def named(name: str, columns: Mapping[str, str] | None = None) -> Format:
    """Return the format of a name; raises InputError if columns are given and it has none."""
    formats = find_formats().formats
    if name not in formats:
        raise InputError(f"unknown format {name!r}{did_you_mean(name, formats)}")
    if columns and not formats[name].has_columns:
        tables = ", ".join(each for each, form in formats.items() if form.has_columns)
        raise InputError(
            f"the format {name} has no columns: leave out --column (columns=…), which is for "
            f"tables ({tables})"
        )
    return formats[name]


def best_format(prefix: bytes, *besides: str, tables: bool = False) -> tuple[float, Format]:
    """Return the most confident format for these first bytes, and its confidence."""
    forms = [
        form
        for name, form in find_formats().formats.items()
        if name not in besides and (form.has_columns or not tables)
    ]
    return max(((form.sniff(prefix), form) for form in forms), key=lambda sure: sure[0])


def recognise(prefix: bytes, name: str, columns: Mapping[str, str] | None = None) -> Format:
    """Return the format of an input by its first bytes; InputError if none is confident enough."""
    sure, best = best_format(prefix)
    if columns and sure <= TABLE_SURE and (table := best_format(prefix, tables=True))[0]:
        return table[1]
    try:
        if sure < SURE_ENOUGH:
            raise InputError(_unknown(prefix))
        return named(best.name, columns)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _unknown(prefix: bytes) -> str:
    if not prefix.strip():
        return "it contains only white space"
    if b"\0" in prefix:
        return (
            "this is a binary file or text in UTF-16; conversations are text in UTF-8: unpack, "
            "export or convert it (iconv -f UTF-16 -t UTF-8)"
        )
    first: Any = samples(prefix) or closed(prefix)
    while isinstance(first, list) and first:
        first = first[0]
    if isinstance(first, dict):
        for name, fields in (("scores", {"metric", "signature"}), ("ratings", {"turn", "rating"})):
            if first.keys() >= fields:
                return f"holds {name}, where conversations are expected"
        seen = f"JSON objects with the fields {', '.join(sorted(first)[:12]) or 'none'}"
    else:
        line = prefix.strip().split(b"\n", 1)[0].decode("utf-8", "replace")
        seen = f"text that begins {excerpt(line, 60)!r}"
    return (
        f"no format recognised; found {seen}; name its format (--format NAME, in grice check "
        f"--input-format NAME, in Python format=NAME), one of {', '.join(find_formats().formats)}; "
        'the plainest is a line {"turns": [{"text": "Hi"}, {"text": "Hello"}]}, with "candidates" '
        "for grice rerank"
    )


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FieldError(None, os_reason(error)) from None


def kind(value: object) -> str:
    """Return the JSON name of a value's type."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"the number {str(value)[:20]}"
    return _KINDS.get(type(value), "an object")


def expect(value: object, type_: type[Item], expected: str, field: str | None = None) -> Item:
    """Return a value after a check of its type, ``expected`` in the message."""
    if isinstance(value, type_):
        return value
    raise FieldError(field, f"expected {expected}, found {kind(value)}")


def field_names(record: Mapping[str, object]) -> str:
    return ", ".join(sorted(map(str, record))[:8]) or "no field"


def decode(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Decode JSON; FieldError says where it is not JSON."""
    try:
        return _decoder.decode(data)
    except RecursionError:
        raise FieldError(None, NESTED) from None
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        _text(data)
        reason = str(error).removeprefix("JSON is malformed: ")
    if re.search(rb"\\u[dD][89a-fA-F]", data):
        reason += " (or half a character: a lone surrogate such as \\ud83d)"
    place = re.search(r"byte (\d+)", reason)
    found = excerpt(data[int(place[1]) if place else 0 :][:100].decode("utf-8", "replace"), 30)
    raise FieldError(None, f"not JSON: {reason}: {found!r}; expected an object, {{…}}")


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
        except RecursionError:
            yield FieldError(None, NESTED).at(name, line.number)


def _records(lines: Iterable[Line], name: str, build: Build) -> Iterator[Found]:
    base = stem(name)

    def parse(line: Line) -> Sequence[Conversation]:
        built = build(line.record(), f"{base}:{line.number}")
        return (built,) if isinstance(built, Conversation) else built

    return parsed_lines(lines, name, parse)


@lru_cache(maxsize=1)  # every format of JSON lines looks at them
def samples(prefix: bytes) -> Sequence[dict[str, Any]]:
    """Return the JSON objects among the first lines (one may be cut), none of an array."""
    objects: list[Any] = []
    lines = [line for line in prefix.split(b"\n", 32) if line.strip()]
    for line in lines[:8] if not prefix.lstrip().startswith(b"[") else ():
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
    closers = ends = b""  # of the brackets that are open here, and at the cut
    cut = 0
    for token in _TOKEN.finditer(data):
        match token[0]:
            case b"{" | b"[":
                closers = (b"}" if token[0] == b"{" else b"]") + closers
            case b"}" | b"]":
                closers = closers[1:]
            case b",":
                cut, ends = token.start(), closers
            case b'"':
                break
        if not closers:
            cut, ends = token.end(), b""
            break
    with suppress(FieldError):
        return decode(data[:cut] + ends)
    return None
