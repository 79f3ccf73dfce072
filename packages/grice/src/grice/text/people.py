"""Words that stand for the speaker, the listener and everyone else."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from grice.text.verbs import is_verb, present
from grice.text.wordlists import AFTER_OBJECT, AUXILIARIES, MODALS

Speaker: TypeAlias = Literal["responder", "previous"]
"""The speaker of a text: the speaker of the judged response, or the speaker of the turn before."""

Party: TypeAlias = Literal["responder", "previous", "other", "thing"]
"""The subject of an event; ``thing`` if it is not a known person."""


class Mention(msgspec.Struct, frozen=True):
    """A place where a person is named, such as ``PersonX`` or ``PersonX's``."""

    party: Party
    possessive: bool = False

    def name(self, person_x: Party) -> str:
        """Return the name of the person."""
        name = "PersonX" if self.party == person_x else "PersonY"
        return f"{name}'s" if self.possessive else name


def _by_person(**words: str) -> dict[str, str]:
    return {word: person for person, listed in words.items() for word in listed.split()}


SUBJECTS = _by_person(i="i we", you="you u ya", he="he she they who")
OWNERS = _by_person(i="my our", you="your ur", he="his her")
OBJECTS = _by_person(
    i="me us myself ourselves i we", you="you u ya yourself", he="him himself herself he she"
)
POSSESSIVES = OWNERS | _by_person(i="mine ours", you="yours", he="hers")


def parties_of(said_by: Speaker) -> dict[str, Party]:
    """Return who is meant by ``i``, ``you`` and ``he``, the values of the tables above."""
    return {
        "i": said_by,
        "you": "previous" if said_by == "responder" else "responder",
        "he": "other",
    }


def mark_people(words: list[str], parties: dict[str, Party]) -> list[str | Mention]:
    """Replace the words for people by mentions."""
    out: list[str | Mention] = []
    for i, word in enumerate(words):
        lower = word.lower()
        following = words[i + 1].lower() if i + 1 < len(words) else ""
        before = out[-1] if out else None
        if lower == "her" and (not following or following in AFTER_OBJECT):
            out.append(Mention(parties["he"]))
        elif lower in POSSESSIVES:
            out.append(Mention(parties[POSSESSIVES[lower]], possessive=True))
        elif lower in OBJECTS and (lower != "us" or before != "the"):
            out.append(Mention(parties[OBJECTS[lower]]))
        elif isinstance(before, Mention) and words[i - 1].lower() in {"i", "he", "she", "we"}:
            agrees = (is_verb(lower) or lower in AUXILIARIES) and lower not in MODALS
            out.append(present(lower) if agrees else word)
        else:
            out.append(word)
    return out
