"""One wording of events for the encoder, however a source words them.

Knowledge bases write ``to go home``, ``proud`` or ``PersonY thanks PersonX``; annotators and
parsers write ``PersonX wants to go home`` or ``PersonX be proud``. The encoder has read
ordinary sentences, so all of these become clauses with pronouns: ``he go home``,
``he is proud``, ``she thanks he``. Grammar counts for less than a familiar subject: on the
development part of CSKB Population this wording alone lifts the cosine of head and tail over
the raw strings (the recipe ``plausibility`` prints both).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grice.knowledge.schema import Relation

PRONOUNS = {"x": ("he", "his"), "y": ("she", "her"), "z": ("they", "their")}
PERSON = re.compile(r"\bpe(?:r|)son ?([xyz])\b('s?)?", re.IGNORECASE)
PEOPLE = re.compile(r"\bpeople ?[xyz]\b('s?)?", re.IGNORECASE)
BLANK = re.compile(r"_+")
SUBJECT = re.compile(
    r"(?:he|she|they|i|we|you|it|this|that|there|people|others|everyone|everybody|someone"
    r"|somebody|no ?one|nobody|his|her|their)\b",
    re.IGNORECASE,
)
DETERMINER = re.compile(r"(?:the|an?|my|your|our|its|these|those|some|any)\s", re.IGNORECASE)
WISH = re.compile(
    r"(?:(?:will|would|had|has|have|was|were|is|are|be|also|just|really|only)\s+)*"
    r"(?:want|wants|wanted|need|needs|needed|like|likes|hope|hopes|decide|decides|plan|plans"
    r"|intend|intends)\s+to\s+",
    re.IGNORECASE,
)
COPULA = re.compile(
    r"^(?:is|feel|feels|felt|be|are|was|were|am|become|becomes|became|seem|seems|look|looks)\s+",
    re.IGNORECASE,
)


def event_text(event: str, subject: str = "X") -> str:
    """Return an event as a clause with pronouns.

    >>> event_text("PersonX takes PersonY's ___")
    'he takes her something'
    >>> event_text("play guitar")
    'he play guitar'
    """
    text = _pronouns(event)
    if not text or SUBJECT.match(text) or DETERMINER.match(text):
        return text
    return f"{PRONOUNS[subject.lower()][0]} {text}"


def head_text(head: str) -> str:
    """Return the head of a triple as the encoder reads it."""
    return event_text(head) if " " in head.strip() else _pronouns(head)


def tail_text(tail: str, relation: Relation) -> str:
    """Return the tail of a triple as the encoder reads it.

    What the relation says already (``wants to``, ``feels``) is taken out, so that a fragment
    and a full clause of the same event read alike.

    >>> from grice.knowledge.schema import load_schema
    >>> schema = load_schema("atomic2020")
    >>> tail_text("PersonX wants to sleep", schema["xWant"]), tail_text("to sleep", schema["xWant"])
    ('he sleep', 'he sleep')
    >>> tail_text("PersonY feels proud", schema["oReact"]), tail_text("proud", schema["oReact"])
    ('she is proud', 'she is proud')
    """
    text = _pronouns(tail)
    if not text or relation.subject is None or relation.tail in ("clause", "concept"):
        return text
    return _clause(text, PRONOUNS[relation.subject.lower()][0], relation)


def _clause(text: str, pronoun: str, relation: Relation) -> str:
    named = SUBJECT.match(text) is not None
    if not named and relation.tail != "state" and DETERMINER.match(text):
        return text
    subject, rest = (text + " ").split(" ", 1) if named else (pronoun, text)
    if relation.tail == "infinitive":
        rest = WISH.sub("", rest, count=1) if named else rest
        rest = re.sub(r"^to\s+", "", rest)
    elif relation.tail == "state":
        rest, copulas = COPULA.subn("", rest, count=1)
        if copulas or not named:
            rest = f"is {rest}"
    return f"{subject} {rest}".strip()


def _pronouns(text: str) -> str:
    text = PERSON.sub(lambda m: PRONOUNS[m[1].lower()][1 if m[2] else 0], text)
    text = PEOPLE.sub(lambda m: "people's" if m[1] else "people", text)
    return " ".join(BLANK.sub("something", text).split())
