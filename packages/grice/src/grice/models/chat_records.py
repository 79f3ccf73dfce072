"""Parser of the record that a chat model was asked for: strings, integers and choices.

A model may reason first, put its JSON in a fence, write a sentence before or after it, add fields,
or write ``4.0`` and ``"4"`` for 4. A text is refused if it is not clear which record is the answer:
two different ones, a truncated one, one in the reasoning only, or a quotation of the judged text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from json import JSONDecoder
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from grice.data import Json
from grice.errors import shortened, without_keys

Record = TypeVar("Record")

_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)\s*>", re.IGNORECASE)
_REASONING = re.compile(
    r"(?:\s*<(?:think|thinking|reasoning)\s*>.*?</(?:think|thinking|reasoning)\s*>)*",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = re.compile(r'\{\s*"')
_FENCE = re.compile(r"(?:[`~]{3,}[ \t]*\w*)?")
MAX_PROBLEM = 120  # characters of a problem that are quoted
MAX_BROKEN = 32
"""Malformed objects, after which a text is refused: each costs time proportional to its length."""


class UnreadableError(Exception):
    """A text that is not clearly the requested record."""


class _Object(NamedTuple):
    """A JSON object of a text; broken ones have no fields."""

    start: int
    end: int
    fields: list[tuple[str, object]] | None


class RecordReader(Generic[Record]):
    """Parses records of one form."""

    def __init__(self, form: type[Record]) -> None:
        (schema,), components = msgspec.json.schema_components([form])
        # Servers support no references in a schema.
        schema = components.get(schema.get("$ref", "").rpartition("/")[2], schema)
        self._form = form
        self.schema_json = msgspec.json.encode(schema, order="sorted").decode()
        self.schema: dict[str, Any] = msgspec.json.decode(self.schema_json)
        self._fields = self.schema["properties"]
        self._names = {name.casefold(): name for name in self._fields}

    def read(self, text: str, judged: Iterator[str], *, is_cut: bool) -> Record:
        """Return the record in a text."""
        begin, start = _after_reasoning(text)
        found = [(each, self._record(each)) for each in _objects(text, start)]
        answers = [(each, record) for each, record in found if record is not None]
        if not answers:
            raise UnreadableError("no JSON object with " + ", ".join(self._fields))
        last, answer = answers[-1]
        if any(record != answer for _, record in answers):
            raise UnreadableError("two different answers")
        ends = _is_frame(text[last.end :])
        if not ends and (is_cut or start > begin):
            raise UnreadableError("words behind an answer that was cut or follows a lone </think>")
        is_alone = len(found) == 1 and ends and _is_frame(text[begin : last.start])
        if not is_alone and _key(answer) in map(_key, self._quotable(judged)):
            raise UnreadableError("words around an object that stands in the judged text")
        return answer

    def _quotable(self, texts: Iterator[str]) -> Iterator[Record]:
        for text in texts:
            for each in _objects(text):
                with suppress(UnreadableError):
                    if (record := self._record(each)) is not None:
                        yield record

    def _record(self, found: _Object) -> Record | None:
        """Return an object as a record; None if it has none of its fields."""
        if found.fields is None:
            raise UnreadableError("JSON that is broken or cut off")
        values: dict[str, object] = {}
        for key, value in found.fields:
            name = self._names.get(key.strip().casefold())
            if name is None:
                continue
            schema = self._fields[name]
            if isinstance(value, str):
                value = without_keys(utf8(value))
                if "enum" in schema:
                    value = value.strip().casefold()
                elif schema["type"] == "integer":
                    value = value.strip().removesuffix(f"/{schema.get('maximum')}")
            if str(values.setdefault(name, value)) != str(value):
                raise UnreadableError(f"two different values of {name}")
        if not values:
            return None
        try:
            return msgspec.convert(values, self._form, strict=False)
        except msgspec.ValidationError as error:
            raise UnreadableError(shortened(str(error), MAX_PROBLEM)) from None


def _objects(text: str, begin: int = 0) -> list[_Object]:
    """Return the JSON objects of a text; of nested ones the outermost."""
    decoder = JSONDecoder(object_pairs_hook=list, parse_constant=str)
    objects, place, broken = [], begin, 0
    while found := _OBJECT.search(text, place):
        try:
            fields, place = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            broken += 1
            if broken > MAX_BROKEN:
                raise UnreadableError("many objects that are broken") from None
            fields, place = None, found.start() + 1
        objects.append(_Object(found.start(), place, fields))
    return objects


def _after_reasoning(text: str) -> tuple[int, int]:
    """Return where the reasoning that begins a text ends, and where its answer begins.

    A closing tag without an opening one ends reasoning too, but not where the text begins with an
    object: there, the tag may be a quotation.
    """
    reasoning = _REASONING.match(text)
    begin = reasoning.end() if reasoning else 0
    first, tags = _OBJECT.search(text, begin), list(_TAG.finditer(text, begin))
    if not tags or (first and _is_frame(text[begin : first.start()])):
        return begin, begin
    if not tags[-1][1]:
        raise UnreadableError("reasoning without an end")
    return begin, tags[-1].end()


def _is_frame(text: str) -> bool:
    """Return whether a text is blank or a line that begins or ends a block of code."""
    return _FENCE.fullmatch(text.strip()) is not None


def _key(record: object) -> tuple[str, ...]:
    """Return a record without differences of blanks and capitals, as in a quotation."""
    values: dict[str, Json] = msgspec.to_builtins(record)
    return tuple(" ".join(str(value).split()).casefold() for value in values.values())


def error_message(content: bytes) -> str:
    """Return the message of a server's error, out of its JSON if it has one."""
    text = content.decode("utf-8", "replace")
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = msgspec.json.decode(content)
        while isinstance(found, dict):
            found = next((found[x] for x in ("error", "message", "detail") if x in found), text)
        text = found if isinstance(found, str) else text
    return shortened(without_keys(" ".join(text.split())).rstrip("."), 300)


def utf8(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()
