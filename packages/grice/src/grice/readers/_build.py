"""Turns and conversations from decoded objects; other fields become meta."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from grice.readers._format import Bad, Format
from grice.readers._json import confidence, field_names, kind, records
from grice.readers.transcript import prefixed
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.records import Json

TEXT = ("text", "utterance", "message", "content")
SPEAKER = ("speaker", "agent", "name", "from")
ID = ("id", "conversation_id", "dialogue_id", "dialog_id", "conv_id", "GUID")

_MISSING: Any = object()


def take(record: dict[str, Any], names: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    """Remove and return the first of the named fields that is there and not null."""
    for name in names:
        value = record.get(name)
        if value is not None:
            del record[name]
            return value
    return None


def list_of(value: object, field: str, what: str) -> list[Any]:
    """Return a value that has to be a list of what is named."""
    if isinstance(value, list):
        return value
    raise Bad(field, f"expected a list of {what}, found {kind(value)}")


def built_turns(
    items: Sequence[object], field: str, build: Callable[[object, str], Turn], *, before: int = 0
) -> list[Turn]:
    """Return the turn of each item; a complaint names its place, ``before`` shifts the speakers."""
    built = []
    for index, item in enumerate(items):
        try:
            built.append(build(item, alternate(before + index)))
        except Bad as bad:
            raise bad.inside(f"{field}[{index}]") from None
    return built


def alternate(index: int) -> str:
    """Return the speaker of a turn whose speaker is not said: A and B by turns."""
    return "AB"[index % 2]


def references(value: object, field: str) -> tuple[str, ...]:
    """Return texts that stand as one text, a list of texts, or not at all."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise Bad(field, f"expected text or a list of texts, found {kind(value)}")
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise Bad(f"{field}[{index}]", f"expected text, found {kind(item)}")
    return tuple(value)


def _name(value: object, otherwise: str, field: str, what: str) -> str:
    """Return a text or a number as a text; ``otherwise`` in place of null and nothing."""
    if value is None or value == "":
        return otherwise
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise Bad(field, f"expected {what}, found {kind(value)}")


def _speaker(record: dict[str, Any], names: Sequence[str], otherwise: str) -> str:
    value = take(record, names)
    if value is None or value == "":
        for name in names:  # a null is said by the letter, not kept
            if name in record and record[name] is None:
                del record[name]
    what = "the name of the speaker"
    if isinstance(value, float):
        raise Bad(names[0], f"expected {what}, found {kind(value)}")
    return _name(value, otherwise, names[0], what)


def _label(record: dict[str, Any], name: str) -> str | None:
    """Take a field that is a text or a number; leave anything else where it is, for meta."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(record.pop(name))


def _meta(rest: dict[str, Any]) -> dict[str, Json]:
    """Return the left-over fields; a field ``meta`` is poured into them where nothing is lost."""
    inner = rest.get("meta")
    if not isinstance(inner, dict):
        return rest
    outer = {name: value for name, value in rest.items() if name != "meta"}
    if not outer:
        return inner
    if outer.keys() & inner.keys():
        return rest
    return inner | outer


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
        raise Bad(None, f"expected an object or text, found {kind(item)}")
    for name in text:
        words = item.pop(name, _MISSING)
        if words is not _MISSING:
            break
    else:
        raise Bad(text[0], f"missing; found {field_names(item)}")
    if type(words) is not str:
        raise Bad(name, f"expected text, found {kind(words)}")
    if not item:
        return Turn(otherwise, words)
    # Who has no name is known by a role: user, user, assistant are two speakers, not A, B, A.
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
        raise Bad(field, "no turn")
    name = _name(take(rest, ID), default_id, "id", "text or a number")
    return Conversation(name, tuple(turns), targets, _meta(rest))


def _any_list(_: list[Any]) -> bool:
    return True


class JsonLayout(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of one JSON layout: the list of turns, and a turn's text and speaker.

    Attributes:
        keys: Fields of a record that may hold the list of turns.
        holds: Whether a list under one of the keys is of this layout.
        sure: Keys under which any list is of this layout.
        text: Fields of a turn that may hold its text.
        speaker: Fields of a turn that may hold its speaker.
        turn: Builds a turn where the fields alone do not say how.
        items: Noun for the items of the list, for complaints.
        is_nested: Whether an item is a list of turns itself.
        has_targets: Whether a record may name the turns to judge.
    """

    keys: tuple[str, ...]
    holds: Callable[[list[Any]], bool] = _any_list
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
        """Return the turns of a list, which a complaint names as ``field``."""
        if not items:
            raise Bad(field, "no turn")
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
        fitting = [key for key in lists if self._has(record, key)]
        key = next(iter((*fitting, *lists)), None)
        if key is None:
            wrong = next((key for key in self.keys if key in record), None)
            found = f"missing; found {field_names(record)}; expected a list of {self.items}"
            if wrong is not None:
                found = f"expected a list of {self.items}, found {kind(record[wrong])}"
            raise Bad(wrong or self.keys[0], found)
        built = self.turns(record.pop(key), key)
        targets = _targets(record.pop("targets", None), len(built)) if self.has_targets else None
        return conversation(record, built, default_id, field=key, targets=targets)

    def format(self, name: str, *, summary: str, description: str, example: str) -> Format:
        """Return the format of JSON lines with this layout."""
        return Format(
            name=name,
            summary=summary,
            description=description,
            example=example,
            sniff=partial(confidence, fits=self.fits),
            read=partial(records, build=self.build),
        )


def _targets(value: object, count: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    for place, index in enumerate(list_of(value, "targets", "turn indices")):
        if type(index) is not int or not 0 <= index < count:
            expected = f"expected a turn index from 0 to {count - 1}"
            raise Bad(f"targets[{place}]", f"{expected}, found {index!r}")
    return tuple(list_of(value, "targets", "turn indices"))
