"""Faults of events as they are read from talk: people mixed up, clauses cut off or run together.

Nothing is parsed, so that a stretch without a subject of its own may have been read as what it is
not. What can be told from the words is mended. Of the rest, an event that is cut off stands in no
triple, and one that is unsound in none that people would write.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from grice.text.contractions import written_out
from grice.text.events import Event
from grice.text.people import Mention
from grice.text.verbs import base_form, is_adjective, is_noun, is_verb
from grice.text.wordlists import (
    ADVERBS,
    AUXILIARIES,
    BE,
    DEGREES,
    DETERMINERS,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
)

if TYPE_CHECKING:
    from grice.text.people import Party, Speaker

_LIGHT = AUXILIARIES | ADVERBS | DEGREES | DETERMINERS | PREPOSITIONS | THINGS | {"not", "feels"}
_OTHER: dict[Party, Party] = {"responder": "previous", "previous": "responder"}
_REFLEXIVE = re.compile(r"sel(?:f|ves)\b", re.IGNORECASE)
_TRANSITIVE = (
    "becomes brings does feels gets gives has is keeps lets likes makes means needs puts says "
    "seems takes thinks tries wants"
)
_INCOMPLETE = frozenset(_TRANSITIVE.split())
"""Verbs that say nothing without what they ask for."""
_OPEN = "blames enjoys goes guesses hates hopes looks loves maintains sounds supposes used wishes"
_VAGUE = frozenset(_OPEN.split())
"""Verbs that say little without it."""
_LEADS_ON = frozenset({"to", "than", "as", "of", "about", "for", "with", "the", "a", "and"})
"""Last words after which something is missing: "PersonX hears about"."""
_RUN_TOGETHER = re.compile(
    r", (?:(?:the|this|that|Person[XY]'s) \w+|it|Person[XY]) (?:is|are|was|were|has|had|does)\b"
    r"|\b(?:it|that|them) (?:the|this|my|your) "
)
"""Two clauses without a word between: "PersonX gets it the chicken was underdone"."""
_UNSURE = frozenset({"is", "not", "makes"})
"""Before a last "sure": of what is missing."""


def with_people_apart(event: Event, text: str, *, said_by: Speaker) -> Event:
    """Return an event in which nobody does to themselves what is done to another: "he asks her"."""
    if event.subject != "other" or not _acts_on_itself(event, text):
        return event
    # PersonX is the subject; everybody else is PersonY, whichever party they are of.
    another = Mention(_OTHER[said_by])
    words = [*event.words, ""]
    apart = [
        another if word == Mention("other") and not _is_finite(following) else word
        for word, following in pairwise(words[1:])
    ]
    return msgspec.structs.replace(event, words=(words[0], *apart))


def _is_finite(word: str | Mention) -> bool:
    """Say whether a verb stands behind a person: "the attention she wants"."""
    return isinstance(word, str) and (word in AUXILIARIES or is_verb(word))


def _acts_on_itself(event: Event, text: str) -> bool:
    first, *rest = event.words or ("",)
    named = isinstance(first, Mention) and not first.possessive
    return named and Mention(event.subject) in rest and not _REFLEXIVE.search(text)


def carrying_words(event: Event) -> frozenset[str]:
    """Return the base forms of the words that carry an event; none of "PersonX does that"."""
    words = (word.lower() for word in event.words if isinstance(word, str))
    return frozenset(base_form(word) for word in words if word not in _LIGHT)


def is_cut_off(event: Event) -> bool:
    """Say whether an event lacks what its verb asks for: "all I need", "what did you get".

    One of which no word was read ("!") lacks everything.
    """
    if not event.words:
        return True
    subject, *rest = event.words
    return isinstance(subject, Mention) and len(rest) == 1 and rest[0] in _INCOMPLETE


def is_unsound(event: Event, text: str) -> bool:
    """Say whether a person would not write an event down as it was read.

    It says nothing by itself, breaks off, or is no clause of one person or thing.
    """
    if not carrying_words(event):
        return True
    subject, *rest = event.words
    if rest[:1] == ["not"]:
        return True
    if _RUN_TOGETHER.search(event.text(event.subject)):
        return True
    if not isinstance(subject, Mention):
        return "sounds" in rest  # "that sounds like fun" says nothing about what it is said of
    words = [word for word in rest if isinstance(word, str) and word not in ADVERBS | DEGREES]
    if len(rest) == len(words) <= 1 and (not words or words[0] in _VAGUE):
        return True
    if rest[-1] in _LEADS_ON or words[:2] == ["does", "to"]:
        return True
    if words[-1:] == ["sure"] and _UNSURE & set(words[-2:-1]):
        return True
    if event.explicit or subject.possessive:
        return False
    # "Nice to meet you" is no order: the one who says it meets.
    return _acts_on_itself(event, text) or _is_no_predicate(text)


def _is_no_predicate(text: str) -> bool:
    """Say whether a stretch without a subject is a noun phrase, or has a subject after all."""
    words = [word.lower() for word in written_out(text)]
    words = [word for word in words if word not in ADVERBS | DEGREES | {"not", "to", "please"}]
    if len(words) < 2 or words[0] in QUESTIONS:
        return False
    first, second = words[:2]
    if first in AUXILIARIES | BE | {"let"}:
        return False
    if not is_verb(first) and not is_adjective(first):
        return True  # "the only thing"
    finite = is_verb(second) and base_form(second) != second and not second.endswith("ing")
    own = second in AUXILIARIES or (finite and not is_adjective(second))
    return is_noun(first) and own  # "dogs watched", "Venus is"
