"""Pairs of events that may stand in a relation, how they are worded, and what is known of them.

ACCENT's tails are clauses: ``PersonY feels sad``, ``PersonX wants to go home``. Which features
count how much is learned elsewhere; here they are only read.
"""

from __future__ import annotations

import re
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.knowledge.extraction.clauses import carrying_words
from grice.knowledge.extraction.protocol import RELATIONS
from grice.text.events import triple_texts
from grice.text.people import Mention
from grice.text.verbs import base_form, is_verb, present
from grice.text.wordlists import (
    ADVERBS,
    DEGREES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from grice.knowledge.extraction.clauses import EventMention
    from grice.knowledge.extraction.protocol import Kind, Place
    from grice.text.events import Event, PersonName

ABOUT_ANYONE = frozenset(("isAfter", "HasSubEvent", "HinderedBy"))
"""Relations whose tail may be about anyone or anything."""

CUES = (
    "question",
    "negated",
    "modal",
    "wish",
    "past",
    "state",
    "feeling",
    "liking",
    "judged",
    "exclaimed",
    "purpose",
    "derived",
    "new",
)
LEADS = {
    "because": ("because", "cause", "cuz", "since", "as"),
    "so": ("so", "so that", "therefore"),
    "but": ("but", "although", "though", "unless"),
    "if": ("if",),
    "when": ("when", "while", "after", "before", "until"),
    "and": ("and", "then", "or"),
    "that": ("that", "which", "who"),
}
_LEAD = {word: name for name, words in LEADS.items() for word in words}


class Candidate(NamedTuple):
    """Two different events in the roles of head and tail."""

    head: EventMention
    tail: EventMention

    @property
    def kind(self) -> Kind:
        """Whether the reply says both."""
        return "single" if self.head.own and self.tail.own else "pair"


def candidates(mentions: Sequence[EventMention], kinds: Sequence[Kind]) -> list[Candidate]:
    """Return the ordered pairs of different events of which the reply says at least one.

    A head is something that happens, not a mood, neither event is cut off, and neither says only
    what the other does.
    """
    whole = [(item, _content(item.event)) for item in mentions if "cut off" not in item.cues]
    pairs = [
        Candidate(head, tail)
        for (head, first), (tail, second) in permutations(whole, 2)
        if (head.own or tail.own)
        and not {"judged", "exclaimed"} & head.cues
        and not (first <= second or second <= first)
    ]
    return [candidate for candidate in pairs if candidate.kind in kinds]


def _content(event: Event) -> frozenset[str]:
    """Return the base forms of the words that carry an event; all words if none does."""
    words = frozenset(word.lower() for word in event.words if isinstance(word, str))
    return carrying_words(event) or words


def allowed(pairs: Sequence[Candidate]) -> NDArray[np.bool_]:
    """Say which pairs of events can stand in which relation at all; shape ``(pairs, relations)``.

    A reaction is a mood; the tail is about the person the head is about, under a relation of
    others about another one.
    """
    rows = []
    for pair in pairs:
        moods = {mood: _mood_fits(pair, mood) for mood in ("React", "Want", "")}
        people = {who: _people_fit(pair, who) for who in ("x", "o", "")}
        rows.append([moods[mood] and people[who] for mood, who in _ASKED])
    return np.array(rows, np.bool_).reshape(len(pairs), len(RELATIONS))


def _people_fit(candidate: Candidate, who: str) -> bool:
    """Say whether the tail is about those a relation asks for: ``x``, ``o`` for others, or any."""
    head, tail = candidate
    if not who:
        return True
    if _is_of_property(tail.event):
        return False
    if "thing" in {head.event.subject, tail.event.subject}:
        return head.event.subject == "thing"
    same = head.event.subject == tail.event.subject
    # In the turn before, "you" and "we" often mean the other one, so that a pair may be of others.
    return not (same and candidate.kind == "single") if who == "o" else same


_ASKED = [
    (
        next((mood for mood in ("React", "Want") if relation.endswith(mood)), ""),
        "" if relation in ABOUT_ANYONE else relation[0],
    )
    for relation in RELATIONS
]
"""Which mood and whom each relation asks for."""


def are_whole(pairs: Sequence[Candidate]) -> NDArray[np.bool_]:
    """Say which pairs are such as people write; shape ``(pairs, relations)``.

    In DECO's training part people write triples of persons (305 of 307 heads), in whole clauses,
    and under isAfter both of one person (22 of 26). A thing may be what somebody reacts to; an
    exclamation is no reaction to what is said after it.
    """
    reacts = np.array([name.endswith("React") or name == "oWant" for name in RELATIONS])
    of_one = np.array([name == "isAfter" for name in RELATIONS])
    rows = []
    for head, tail in pairs:
        sound = "unsound" not in head.cues | tail.cues and tail.event.subject != "thing"
        early = "exclaimed" in tail.cues and head.own == tail.own and tail.order < head.order
        fits = np.full(len(RELATIONS), sound and not early)
        if head.event.subject == "thing":
            fits &= reacts
        if head.event.subject != tail.event.subject:
            fits &= ~of_one
        rows.append(fits)
    return np.array(rows, np.bool_).reshape(len(pairs), len(RELATIONS))


def _is_of_property(event: Event) -> bool:
    """Say whether an event is about what somebody has: "my dog barks"."""
    first = event.words[0] if event.words else ""
    return isinstance(first, Mention) and first.possessive


def _mood_fits(candidate: Candidate, mood: str) -> bool:
    """Say whether the tail tells a mood where a relation asks for one (``React``), and only there.

    A liking is no wish, so that it is no tail of a relation of wishes (``Want``) either.
    """
    head, tail = candidate
    if mood != "React":
        likes = "liking" in tail.cues and mood == "Want"
        return not likes and not {"judged", "exclaimed"} & tail.cues
    if not {"feeling", "liking"} & tail.cues or (head.own and not tail.own):
        return False  # nobody reacts before the other has spoken
    # "That is cool. I ...": a judgement is of what went before it, but for "it is sad that ...".
    backward = head.own == tail.own and tail.order < head.order
    return not backward or "judged" not in tail.cues or head.lead in {"that", "if", "when"}


def worded(candidate: Candidate, relation: str) -> tuple[str, str]:
    """Return head and tail as people write them under a relation."""
    subject: PersonName | None = None
    if relation not in ABOUT_ANYONE:
        subject = "PersonY" if relation.startswith("o") else "PersonX"
    head, tail = triple_texts(candidate.head.event, candidate.tail.event, tail_subject=subject)
    head, tail = _plain(head), _plain(tail)
    if relation == "oWant":
        return head, _wish(tail)
    if relation in {"xWant", "xIntent"}:
        return head, _wished(tail)
    if relation.endswith("React"):
        return head, re.sub(r"^(Person[XY]) (?:is|gets) (?!not\b)", r"\1 feels ", tail)
    if relation == "xAttr":
        return head, re.sub(r"^(Person[XY]) feels ", r"\1 is ", tail)
    return head, tail


_PERSON = re.compile(r"(Person[XY]) (.+)")
_WISHING = re.compile(
    r"(?:(?:would|really|just|also) )*"
    r"(?:wants|needs|hopes|likes|loves|plans|tries|has|wishes|intends) to (\w+)(.*)"
)


def _plain(text: str) -> str:
    """Drop the words that only colour a clause."""
    words = text.split()
    plain = [w for i, w in enumerate(words) if i == 0 or w not in _COLOURS]
    return " ".join(plain) if len(plain) > 1 else text


_COLOURS = (DEGREES | ADVERBS) - {"not", "never", "only", "more", "better", "all", "both", "too"}


def _wish(tail: str) -> str:
    """Write a clause about a person as a wish: "PersonY helps" is "PersonY wants to help"."""
    match = _PERSON.fullmatch(tail)
    if not match:
        return tail
    person, rest = match.groups()
    first, _, others = rest.partition(" ")
    wished = _WISHING.fullmatch(rest)
    if wished:
        return f"{person} wants to {wished[1]}{wished[2]}"
    if first in {"wants", "hopes", "wishes", "doesn't", "not"}:
        return tail
    verb = {"is": "be", "has": "have", "does": "do"}.get(first) or (
        base_form(first) if is_verb(first) else ""
    )
    return f"{person} wants to {verb} {others}".rstrip() if verb else tail


def _wished(tail: str) -> str:
    """Write what somebody wants as if it happened: "PersonX wants to help" is "PersonX helps"."""
    match = _PERSON.fullmatch(tail)
    wished = _WISHING.fullmatch(match[2]) if match else None
    if not match or not wished or not is_verb(wished[1]):
        return tail
    return f"{match[1]} {present(wished[1])}{wished[2]}"


_NAMES = [
    "one",
    "pair",
    "head before",
    "tail before",
    "adjacent",
    "distance",
    *(f"forward {name}" for name in (*LEADS, "same sentence", "new sentence")),
    *(f"backward {name}" for name in (*LEADS, "same sentence", "new sentence")),
    *(f"head {cue}" for cue in CUES),
    *(f"tail {cue}" for cue in CUES),
    "same subject",
    "other subject",
    "head thing",
    "tail thing",
    "head third",
    "tail third",
    "head confidence",
    "tail confidence",
    "head words",
    "tail words",
    "head vague",
    "tail vague",
    "question before",
    "last and first",
    "head names other",
    "tail names other",
    *(f"head after {name}" for name in LEADS),
    *(f"tail after {name}" for name in LEADS),
]
FEATURES = tuple(_NAMES)
"""Names of the columns of :func:`features`."""
_COLUMN = {name: i for i, name in enumerate(FEATURES)}
_VAGUE = frozenset(["it", "that", "this", "them", "there", "something", "one"])


def features(pairs: Sequence[Candidate], counts: tuple[int, int]) -> NDArray[np.float32]:
    """Return what the words say of pairs of events; a column for each name of :data:`FEATURES`."""
    rows = np.zeros((len(pairs), len(FEATURES)), np.float32)
    # An event stands in many pairs: what it says by itself is read once a role.
    alone: dict[tuple[str, Place], dict[int, float]] = {}
    for row, pair in zip(rows, pairs, strict=True):
        values = dict(_together(pair, counts))
        for role, item in (("head", pair.head), ("tail", pair.tail)):
            if (role, item.place) not in alone:
                alone[role, item.place] = dict(_alone(role, item))
            values |= alone[role, item.place]
        row[list(values)] = list(values.values())
    return rows


def _together(candidate: Candidate, counts: tuple[int, int]) -> Iterator[tuple[int, float]]:
    """Yield columns and values of what two events say together."""
    head, tail = candidate
    yield _COLUMN["one"], 1.0
    forward = (head.own, head.order) < (tail.own, tail.order)
    direction = "forward" if forward else "backward"
    if candidate.kind == "pair":
        yield _COLUMN["pair"], 1.0
        yield _COLUMN["head before" if tail.own else "tail before"], 1.0
        before, own = (head, tail) if tail.own else (tail, head)
        yield _COLUMN["distance"], min(4.0, counts[0] - 1 - before.order + own.order) / 4
        if before.order == counts[0] - 1 and own.order == 0:
            yield _COLUMN["last and first"], 1.0
        if "question" in before.cues:
            yield _COLUMN["question before"], 1.0
    else:
        steps = abs(head.order - tail.order)
        yield _COLUMN["distance"], min(4.0, steps - 1) / 4
        if steps == 1:
            yield _COLUMN["adjacent"], 1.0
            later = tail if forward else head
            lead = _LEAD.get(later.lead)
            sentence = "new sentence" if "new" in later.cues else "same sentence"
            yield _COLUMN[f"{direction} {lead or sentence}"], 1.0
    if head.event.subject == tail.event.subject:
        yield _COLUMN["same subject"], 1.0
    elif "thing" not in {head.event.subject, tail.event.subject}:
        yield _COLUMN["other subject"], 1.0


def _alone(role: str, mention: EventMention) -> Iterator[tuple[int, float]]:
    """Yield columns and values of what an event says as ``head`` or ``tail``."""
    yield from ((_COLUMN[f"{role} {cue}"], 1.0) for cue in CUES if cue in mention.cues)
    yield _COLUMN[f"{role} confidence"], mention.confidence
    words = [word for word in mention.event.words if isinstance(word, str)]
    yield _COLUMN[f"{role} words"], min(12, len(words)) / 6
    if _VAGUE & set(words):
        yield _COLUMN[f"{role} vague"], 1.0
    if mention.lead in _LEAD:
        yield _COLUMN[f"{role} after {_LEAD[mention.lead]}"], 1.0
    if mention.event.subject == "thing":
        yield _COLUMN[f"{role} thing"], 1.0
    if any(
        isinstance(word, Mention) and word.party != mention.event.subject
        for word in mention.event.words
    ):
        yield _COLUMN[f"{role} names other"], 1.0
    if mention.event.subject == "other":
        yield _COLUMN[f"{role} third"], 1.0
