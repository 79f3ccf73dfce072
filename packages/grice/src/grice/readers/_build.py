"""Turns and conversations from decoded objects; other fields become meta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from grice.data import Conversation, Turn
from grice.readers._formats import Format
from grice.readers._json import FieldError, confidence, field_names, kind, records
from grice.readers.text import prefixed

if TYPE_CHECKING:
    from grice.data import Json

TEXT = ("text", "utterance", "message", "content")
SPEAKER = ("speaker", "agent", "name", "from")
ID = ("id", "conversation_id", "dialogue_id", "dialog_id", "conv_id", "GUID")

_MISSING: Any = object()


def take(record: dict[str, Any], names: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    """Remove and return the first of the named fields that is there and not null."""
    for name in names:
        if record.get(name) is not None:
            return record.pop(name)
    return None


def list_of(value: object, field: str, items: str) -> list[Any]:
    """Return a value that has to be a list; ``items`` names its items in the message."""
    if isinstance(value, list):
        return value
    raise FieldError(field, f"expected a list of {items}, found {kind(value)}")


def alternate(index: int) -> str:
    """Return the speaker of a turn without one: A and B by turns."""
    return "AB"[index % 2]


def built_turns(
    items: Sequence[object],
    field: str,
    build: Callable[[object, str], Turn],
    *,
    before: int = 0,
) -> list[Turn]:
    """Return the turn of each item; A and B alternate as if so many turns were before them."""
    built = []
    for index, item in enumerate(items):
        try:
            built.append(build(item, alternate(before + index)))
        except FieldError as bad:
            raise bad.inside(f"{field}[{index}]") from None
    return built


def references(value: object, field: str) -> tuple[str, ...]:
    """Return texts that are given as one text, a list of texts, or not at all."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise FieldError(field, f"expected text or a list of texts, found {kind(value)}")
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise FieldError(f"{field}[{index}]", f"expected text, found {kind(item)}")
    return tuple(value)


def _label(record: dict[str, Any], name: str) -> str | None:
    """Take a field that is a text or a number; leave anything else where it is, for meta."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(record.pop(name))


def _speaker(record: dict[str, Any], names: Sequence[str], otherwise: str) -> str:
    value = take(record, names)
    if value is None or value == "":
        for name in names:  # the letter stands for a null, which is not kept
            if name in record and record[name] is None:
                del record[name]
        return otherwise
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise FieldError(names[0], f"expected the name of the speaker, found {kind(value)}")


def _meta(rest: dict[str, Any]) -> dict[str, Json]:
    """Return the other fields; those of a field ``meta`` join them unless a name is in both."""
    inner = rest.get("meta")
    if not isinstance(inner, dict):
        return rest
    if len(rest) == 1:
        return inner
    outer = {name: value for name, value in rest.items() if name != "meta"}
    return rest if outer.keys() & inner.keys() else inner | outer


def turn(
    item: object,
    otherwise: str,
    *,
    text: Sequence[str] = TEXT,
    speaker: Sequence[str] = SPEAKER,
) -> Turn:
    """Return the turn of one list item: an object, which is used up, or just the text."""
    if type(item) is str:
        return Turn(otherwise, item)
    if type(item) is not dict:
        raise FieldError(None, f"expected an object or text, found {kind(item)}")
    for name in text:
        words = item.pop(name, _MISSING)
        if words is not _MISSING:
            break
    else:
        raise FieldError(text[0], f"missing; found {field_names(item)}")
    if type(words) is not str:
        raise FieldError(name, f"expected text, found {kind(words)}")
    if not item:
        return Turn(otherwise, words)
    # The role names a speaker without a name: user, user, assistant are two speakers, not A, B, A.
    role = _label(item, "role")
    who = _speaker(item, speaker, role or otherwise)
    if role is None and not item:
        return Turn(who, words)
    time = _label(item, "time")
    others = references(item.pop("references", None), "references")
    return Turn(who, words, role, time, others, _meta(item))


def conversation(
    rest: dict[str, Any],
    turns: Sequence[Turn],
    default_id: str,
    *,
    field: str = "turns",
    targets: tuple[int, ...] | None = None,
) -> Conversation:
    """Return the conversation of a record whose turns have been taken out.

    The id is the first of :data:`ID`; all other fields become meta.
    """
    if not turns:
        raise FieldError(field, "no turn")
    name = take(rest, ID)
    if name is None or name == "":
        name = default_id
    elif isinstance(name, bool) or not isinstance(name, (str, int, float)):
        raise FieldError("id", f"expected text or a number, found {kind(name)}")
    return Conversation(str(name), tuple(turns), targets, _meta(rest))


class JsonLayout(msgspec.Struct, frozen=True, kw_only=True):
    """One JSON layout: the field with the list of turns, and a turn's text and speaker.

    Attributes:
        name: Name of the format; empty if the layout is part of another.
        summary: Where files of this layout come from.
        keys: Fields of a record that may hold the list of turns.
        holds: Whether a list under one of the keys is of this layout.
        sure: Keys under which any list is of this layout.
        text: Fields of a turn that may hold its text.
        speaker: Fields of a turn that may hold its speaker.
        turn: Builds a turn where the fields alone do not say how.
        items: Noun for the items of the list, for messages.
        is_nested: Whether an item is a list of turns itself.
        has_targets: Whether a record may name the turns to judge.
    """

    name: str = ""
    summary: str = ""
    keys: tuple[str, ...] = ()
    holds: Callable[[list[Any]], bool] = bool
    sure: tuple[str, ...] = ()
    text: tuple[str, ...] = TEXT
    speaker: tuple[str, ...] = SPEAKER
    turn: Callable[[object, str], Turn] | None = None
    items: str = "turns"
    is_nested: bool = False
    has_targets: bool = False

    def fits(self, record: dict[str, Any]) -> bool:
        """Return whether a record has this layout."""
        return any(self._has(record, key) for key in self.keys)

    def _has(self, record: dict[str, Any], key: str) -> bool:
        items = record.get(key)
        return isinstance(items, list) and (key in self.sure or self.holds(items))

    def turns(self, items: list[Any], field: str) -> list[Turn]:
        """Return the turns of a list, which a message names as ``field``."""
        if not items:
            raise FieldError(field, "no turn")
        if self.turn is None and all(type(item) is str for item in items):
            return prefixed(items) or [Turn(alternate(i), words) for i, words in enumerate(items)]
        build = self.turn or partial(turn, text=self.text, speaker=self.speaker)
        if not self.is_nested:
            return built_turns(items, field, build)
        built: list[Turn] = []
        for index, inner in enumerate(items):
            place = f"{field}[{index}]"
            built += built_turns(list_of(inner, place, "turns"), place, build, before=len(built))
        return built

    def build(self, record: dict[str, Any], default_id: str) -> Conversation:
        """Return the conversation of a record, which is used up."""
        lists = [key for key in self.keys if isinstance(record.get(key), list)]
        key = next((key for key in lists if self._has(record, key)), lists[0] if lists else None)
        if key is None:
            expected = f"expected a list of {self.items}"
            for key in self.keys:
                if key in record:
                    raise FieldError(key, f"{expected}, found {kind(record[key])}")
            raise FieldError(self.keys[0], f"missing; found {field_names(record)}; {expected}")
        built = self.turns(record.pop(key), key)
        targets = _targets(record.pop("targets", None), len(built)) if self.has_targets else None
        return conversation(record, built, default_id, field=key, targets=targets)

    def format(self) -> Format:
        """Return the format of JSON lines with this layout."""
        return json_format(self.name, self.summary, self.fits, self.build)


def json_format(
    name: str,
    summary: str,
    fits: Callable[[dict[str, Any]], bool],
    build: Callable[[dict[str, Any], str], Conversation | Sequence[Conversation]],
) -> Format:
    """Return the format of JSON lines whose records fit, and are built one by one."""
    return Format(
        name=name,
        summary=summary,
        sniff=partial(confidence, fits=fits),
        read=partial(records, build=build),
    )


def _targets(value: object, count: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    targets = list_of(value, "targets", "turn indices")
    for place, index in enumerate(targets):
        if type(index) is not int or not 0 <= index < count:
            expected = f"expected a turn index from 0 to {count - 1}"
            raise FieldError(f"targets[{place}]", f"{expected}, found {index!r}")
    return tuple(targets)
