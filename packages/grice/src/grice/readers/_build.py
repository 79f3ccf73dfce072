"""Turns and conversations from decoded objects; what is left over becomes meta."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.readers._format import Bad
from grice.readers._json import field_names, kind
from grice.readers.transcript import prefixed
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def text_of(value: object, field: str) -> str:
    """Return a value that has to be text."""
    if isinstance(value, str):
        return value
    raise Bad(field, f"expected text, found {kind(value)}")


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
    return tuple(text_of(item, f"{field}[{index}]") for index, item in enumerate(value))


def _speaker(record: dict[str, Any], names: Sequence[str], otherwise: str) -> str:
    value = take(record, names)
    if value is None or value == "":
        for name in names:  # a null is said by the letter, not kept
            if name in record and record[name] is None:
                del record[name]
        return otherwise
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Bad(names[0], f"expected the name of the speaker, found {kind(value)}")


def _label(record: dict[str, Any], name: str) -> str | None:
    """Take a field that is a text or a number; leave anything else where it is, for meta."""
    value = record.get(name)
    if isinstance(value, str):
        del record[name]
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        del record[name]
        return str(value)
    return None


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


def turns(
    value: object, field: str, *, text: Sequence[str] = TEXT, speaker: Sequence[str] = SPEAKER
) -> tuple[Turn, ...]:
    """Return the turns of a list of objects or texts; see :func:`turn` for the names."""
    items = list_of(value, field, "turns")
    if not items:
        raise Bad(field, "no turn")
    if all(type(item) is str for item in items):
        return tuple(
            prefixed(items) or (Turn(alternate(index), words) for index, words in enumerate(items))
        )
    return tuple(built_turns(items, field, partial(turn, text=text, speaker=speaker)))


def _id(record: dict[str, Any], otherwise: str) -> str:
    value = take(record, ID)
    if value is None or value == "":
        return otherwise
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise Bad("id", f"expected text or a number, found {kind(value)}")


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
    name = _id(rest, default_id)
    return Conversation(name, tuple(turns), targets, _meta(rest))
