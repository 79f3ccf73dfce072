"""Parser of the record that a chat model was asked for.

A model may reason first, put its JSON in a fence, write a sentence before or after it, add fields,
or write ``4.0`` and ``"4"`` for 4. A text is refused if it is not clear which record is the answer:
two different ones, a truncated one, one in the reasoning only, or a quotation of the judged text.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, NoReturn, TypeVar

import msgspec

from grice.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.data import Json

Record = TypeVar("Record")

_PART = re.compile(r'<(/?)(?:think|thinking|reasoning)\s*>|\{\s*"', re.IGNORECASE)
"""A tag of reasoning, or the beginning of an object; no backtracking is possible."""
_FENCE = re.compile(r"(?:[`~]{3,}[ \t]*\w*)?")
_NUMBER = re.compile(r"([0-9]{1,9})(?:\.0{1,9})?(?:\s*/\s*([0-9]{1,9}))?")
MAX_PROBLEM = 120
"""Characters of a problem that are quoted."""
MAX_BROKEN = 32
"""Broken objects, after which a text is refused: each costs time proportional to its length."""


class UnreadableError(Exception):
    """A text that is not clearly the record that was asked for."""


class _Part(NamedTuple):
    kind: Literal["opening", "closing", "object", "broken"]
    start: int
    end: int
    fields: Sequence[tuple[str, object]] = ()


class RecordReader(Generic[Record]):
    """Reads records of one form, whose fields are strings, integers and choices."""

    def __init__(self, form: type[Record], schema: dict[str, Json]) -> None:
        self._form = form
        self.schema = schema
        properties = schema["properties"]
        assert isinstance(properties, dict)
        self._fields = properties
        self._names = {name.casefold(): name for name in properties}

    def read(self, text: str, judged: Iterable[str] = (), *, is_cut: bool = False) -> Record:
        """Return the record in a text."""
        begin, parts = _after_reasoning(text, [*_parts(text)])
        if any(part.kind == "broken" for part in parts):
            raise UnreadableError("JSON that is broken or cut off")
        found = [(part, self._record(part.fields)) for part in parts if part.kind == "object"]
        answers = [(part, record) for part, record in found if record is not None]
        if not answers:
            raise UnreadableError("no JSON object with " + ", ".join(self._fields))
        last, answer = answers[-1]
        if any(record != answer for _, record in answers):
            raise UnreadableError("two different answers")
        ends = _is_frame(text[last.end :])
        if is_cut and not ends:
            raise UnreadableError("an answer that was cut at its longest")
        is_alone = len(found) == 1 and ends and _is_frame(text[begin : last.start])
        if not is_alone and _key(answer) in map(_key, self._quotable(judged)):
            raise UnreadableError("words around an object that stands in the judged text")
        return answer

    def _quotable(self, texts: Iterable[str]) -> Iterator[Record]:
        """Yield the records in texts that were judged."""
        for text in texts:
            for part in _parts(text):
                try:
                    record = self._record(part.fields)
                except UnreadableError:
                    continue
                if record is not None:
                    yield record

    def _record(self, fields: Sequence[tuple[str, object]]) -> Record | None:
        """Return an object as a record; None if it has none of its fields."""
        values: dict[str, object] = {}
        for key, value in fields:
            name = self._names.get(key.strip().casefold())
            if name is None:
                continue
            meant = _meant(value, self._fields[name])
            if values.setdefault(name, meant) != meant:
                raise UnreadableError(f"two different values of {name}")
        if not values:
            return None
        try:
            return msgspec.convert(values, self._form)
        except msgspec.ValidationError as error:
            raise UnreadableError(shortened(str(error), MAX_PROBLEM)) from None


def _parts(text: str) -> Iterator[_Part]:
    """Yield tags of reasoning, and objects: of nested ones the outermost."""
    decoder = JSONDecoder(object_pairs_hook=list, parse_constant=_refuse)
    place = broken = 0
    while found := _PART.search(text, place):
        start, place = found.span()
        if found[1] is not None:
            yield _Part("closing" if found[1] else "opening", start, place)
            continue
        try:
            fields, place = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            broken += 1
            if broken > MAX_BROKEN:
                raise UnreadableError("many objects that are broken") from None
            place = start + 1
            yield _Part("broken", start, place)
        else:
            yield _Part("object", start, place, fields)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _after_reasoning(text: str, parts: list[_Part]) -> tuple[int, list[_Part]]:
    """Return where the reasoning that begins a text ends, and the parts that may be the answer.

    Reasoning ends at its first closing tag. A closing tag without an opening one ends reasoning
    too, since some servers leave the opening tag out; but not where the text begins with an
    object, or goes on after the one behind the tag: there, the tag may be a quotation.
    """
    begin = first = 0
    while first < len(parts) and parts[first].kind == "opening":
        if text[begin : parts[first].start].strip():
            break
        last = first
        while last < len(parts) and parts[last].kind != "closing":
            last += 1
        if last == len(parts):  # an opening tag and the answer behind it, without a word between
            last = first
            if not _is_one_object(text, parts[first].end, parts[first + 1 :]):
                raise UnreadableError("reasoning without an end")
        begin, first = parts[last].end, last + 1
    parts = parts[first:]
    if parts and parts[0].kind == "object" and _is_frame(text[begin : parts[0].start]):
        return begin, parts
    tags = [n for n, part in enumerate(parts) if part.kind in ("opening", "closing")]
    if tags:
        tag, behind = parts[tags[-1]], parts[tags[-1] + 1 :]
        if tag.kind == "opening" and behind:
            raise UnreadableError("reasoning without an end")
        if tag.kind == "closing" and _is_one_object(text, tag.end, behind):
            return begin, behind
    return begin, parts


def _is_one_object(text: str, begin: int, parts: Sequence[_Part]) -> bool:
    """Return whether nothing but one object, in a fence or not, stands behind a place."""
    return (
        len(parts) == 1
        and parts[0].kind == "object"
        and _is_frame(text[begin : parts[0].start])
        and _is_frame(text[parts[0].end :])
    )


def _is_frame(text: str) -> bool:
    """Return whether a text is blank or a line that begins or ends a block of code."""
    return _FENCE.fullmatch(text.strip()) is not None


def _meant(value: object, schema: Json) -> object:
    """Return what a value stands for beyond doubt: ``4.0``, ``"4"`` and ``"4/5"`` for 4."""
    assert isinstance(schema, dict)
    if isinstance(value, float) and value.is_integer() and schema.get("type") == "integer":
        return int(value)
    if not isinstance(value, str):
        return value
    value = value.encode("utf-8", "replace").decode()  # a lone surrogate cannot be kept
    if schema.get("type") == "integer" and (number := _NUMBER.fullmatch(value.strip())):
        if number[2] is None or int(number[2]) == schema.get("maximum"):
            return int(number[1])
    elif isinstance(choices := schema.get("enum"), list):
        chosen = value.strip().casefold()
        return next((choice for choice in choices if choice == chosen), value)
    return value


def _key(record: object) -> tuple[str, ...]:
    """Return what stays of a record where it is quoted with other blanks or capitals."""
    values: dict[str, Json] = msgspec.to_builtins(record)
    return tuple(" ".join(str(value).split()).casefold() for value in values.values())
