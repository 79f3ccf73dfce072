"""The canonical form: one conversation per line, with its turns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.readers._build import conversation, turns
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, field_names, kind, records

if TYPE_CHECKING:
    from grice.records import Conversation

_TURNS = ("turns", "dialogue", "utterances", "dialog")


def _key(record: dict[str, Any]) -> str | None:
    for name in _TURNS:
        if isinstance(record.get(name), list):
            return name
    return None


def _fits(record: dict[str, Any]) -> bool:
    key = _key(record)
    return key is not None and not any(isinstance(item, list) for item in record[key])


def _targets(value: object, count: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise Bad("targets", f"expected a list of turn indices, found {kind(value)}")
    for place, index in enumerate(value):
        if type(index) is not int or not 0 <= index < count:
            raise Bad(
                f"targets[{place}]", f"expected a turn index from 0 to {count - 1}, found {index!r}"
            )
    return tuple(value)


def build(record: dict[str, Any], default_id: str) -> Conversation:
    """Return the conversation of a record."""
    key = _key(record)
    if key is None:
        wrong = next((name for name in _TURNS if name in record), None)
        if wrong is not None:
            raise Bad(wrong, f"expected a list of turns, found {kind(record[wrong])}")
        raise Bad("turns", f"missing; found {field_names(record)}")
    built = turns(record.pop(key), key)
    targets = _targets(record.pop("targets", None), len(built))
    return conversation(record, built, default_id, targets=targets)


FORMAT = Format(
    name="turns",
    summary="JSON lines with a list of turns: what grice itself writes",
    description="""\
The list stands in `turns`, or in `dialogue`, `utterances` or `dialog`. A turn is an object with
`text` (or `utterance`, `message`, `content`) and `speaker` (or `agent`, `name`, `from`; a number
is taken as a name), or only the text. A missing speaker is the `role`, else A or B by turns; if
every item is a text that opens with `Name: `, the names are the speakers. A turn may have `role`,
`time` and `references`; the record may have `targets`, the indices of the turns to judge.""",
    example="""\
{"id": "d1", "turns": [{"speaker": "Ann", "text": "Is it far?"}, {"speaker": "Bob", "text": "Ten minutes."}], "split": "test"}
{"dialogue": ["Hello!", "Hi, how are you?"]}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=partial(records, build=build),
)
