"""Events as ATOMIC writes them: "I just got fired" becomes "PersonX gets fired".

Who is PersonX depends on the triple an event stands in, not on the event: in ATOMIC
(Sap et al., 2019; Hwang et al., 2021) PersonX is the subject of the head, and everyone else is
PersonY. So an event is read once (:func:`read_events`), with its people distinguished by who said
it, and named when it is put into a triple (:func:`triple_texts`). The person rules go beyond
those of the ASER baseline of ACCENT (Ghazarian et al., 2023), which only exchange I and you.

The clause is brought to the simple present: auxiliaries, modal verbs and tense are dropped,
negation stays ("doesn't like"), questions are read as statements ("do you play" is "PersonX
plays"). Nothing is parsed; the rules know the closed word classes, and
:mod:`grice.text.lexicon` knows the verb forms.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.text.clause import (
    describes,
    is_finite,
    is_order,
    is_plural,
    is_verbal,
    predicate,
    statement,
    subject_end,
    thing_predicate,
    uncapitalised,
)
from grice.text.contractions import written_out
from grice.text.people import OWNERS, SUBJECTS, Mention, Party, mark_people, parties_of
from grice.text.tokens import SENTENCE_END
from grice.text.verbs import is_adjective, is_verb, past_participle, simple_present
from grice.text.wordlists import (
    ADVERBS,
    AUXILIARIES,
    CLAUSE_STARTS,
    DEGREES,
    INDEFINITE,
    NOT_FEELINGS,
    PARTICIPIAL_ADJECTIVES,
    PLURAL_INDEFINITE,
    PREPOSITIONS,
    THINGS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.text.people import Speaker

PersonName: TypeAlias = Literal["PersonX", "PersonY"]


class Event(msgspec.Struct, frozen=True):
    """An event with its people still open.

    Attributes:
        words: The clause in the simple present; a :class:`Mention` stands for a person.
        subject: Who the clause is about. Of "my dog barks" it is the owner of the dog.
        explicit: Whether the subject was said, not inferred.
    """

    words: tuple[str | Mention, ...]
    subject: Party
    explicit: bool

    def text(self, person_x: Party) -> str:
        """Return the clause with one party as PersonX and all other people as PersonY."""
        return _joined(
            word if isinstance(word, str) else word.name(person_x) for word in self.words
        )


def event_text(text: str, *, said_by: Speaker = "responder") -> str:
    """Return an event in ATOMIC's form, with its subject as PersonX.

    >>> event_text("I just got fired for a mistake I made")
    'PersonX gets fired for a mistake PersonX makes'
    >>> event_text("I can send you a message")
    'PersonX sends PersonY a message'
    """
    event = read_event(text, said_by=said_by)
    return event.text(_person_x(event, said_by))


def triple_texts(
    head: Event, tail: Event, *, tail_subject: PersonName | None = None
) -> tuple[str, str]:
    """Return the texts of a head and a tail with the people named alike in both.

    The head's subject is PersonX; if the head is about a thing, the tail's subject is, and if
    both are, the responder.

    >>> head = read_event("i applied for gifted with calden", said_by="previous")
    >>> tail = read_event("I hope you get in", said_by="responder")
    >>> triple_texts(head, tail)
    ('PersonX applies for gifted with calden', 'PersonY hopes PersonX get in')
    """
    person_x = _person_x(head, "responder") if head.subject != "thing" else tail.subject
    person_x = "responder" if person_x == "thing" else person_x
    second = tail.text(person_x)
    named = "PersonX" if tail.subject == person_x else "PersonY"
    if tail_subject not in {None, named} and tail.subject != "thing":
        second = re.sub("Person[XY]", lambda m: _OTHER_NAME[m[0]], second)
    return head.text(person_x), second


def read_events(text: str, spans: Sequence[tuple[int, int]], *, said_by: Speaker) -> list[Event]:
    """Read the events of one turn.

    An event without a subject takes that of the event before it if both stand in one sentence:
    "I go home and eat" has two events of the speaker.
    """
    events: list[Event] = []
    for i, (start, end) in enumerate(spans):
        inherited: Party | None = None
        if i > 0 and not SENTENCE_END.search(text[spans[i - 1][1] : start]):
            inherited = events[-1].subject
        events.append(read_event(text[start:end], said_by=said_by, inherited=inherited))
    return events


def reaction(text: str, *, said_by: Speaker) -> Event | None:
    """Read a judgement as what its speaker feels: "that's so sad" is "PersonX feels sad".

    People who write tuples do this (DECO's tails of xReact and oReact), since ATOMIC's reactions
    are feelings of persons.
    """
    words = [word.lower() for word in statement(written_out(text))]
    if len(words) < 3 or words[0] not in {"it", "that", "this"}:
        return None
    verb, rest = simple_present(words[1:])
    if verb[-1:] not in (["is"], ["sounds"], ["seems"]) or "not" in verb:
        return None
    while rest and rest[0] in DEGREES:
        rest = rest[1:]
    judged = bool(rest) and is_adjective(rest[0]) and rest[0] not in NOT_FEELINGS
    if not judged or (len(rest) > 1 and rest[1] not in CLAUSE_STARTS):
        return None
    feeling = past_participle(rest[0]) if rest[0] in PARTICIPIAL_ADJECTIVES else rest[0]
    return Event((Mention(said_by), "feels", feeling), said_by, explicit=False)


def read_event(text: str, *, said_by: Speaker, inherited: Party | None = None) -> Event:
    """Read one event."""
    words = statement(written_out(text))
    if not words:
        return Event((), inherited or said_by, explicit=False)
    return _with_subject(words, said_by) or _without_subject(words, said_by, inherited)


def _with_subject(words: list[str], said_by: Speaker) -> Event | None:
    """Read a clause that says who it is about, or None."""
    parties = parties_of(said_by)
    first = words[0].lower()

    def rest(verb: int, *, plural: bool = False) -> list[str | Mention]:
        return mark_people(predicate(words[verb:], plural=plural), parties)

    if first in SUBJECTS:
        party = parties[SUBJECTS[first]]
        return Event((Mention(party), *rest(1)), party, explicit=True)
    if first in INDEFINITE and len(words) > 1 and is_verbal(words[1].lower()):
        plural = first in PLURAL_INDEFINITE
        return Event((first, *rest(1, plural=plural)), "thing", explicit=True)
    if first in THINGS:
        about_thing = mark_people(thing_predicate(words[1:], first), parties)
        return Event((first, *about_thing), "thing", explicit=True)
    if first == "let" and len(words) > 2 and words[1].lower() in {"me", "us"}:
        return Event((Mention(said_by), *rest(2)), said_by, explicit=True)
    verb = subject_end(words)
    if not verb:
        return None
    owner = parties[OWNERS[first]] if first in OWNERS else "thing"
    subject = mark_people(uncapitalised(words[:verb]), parties)
    plural = is_plural(words[:verb])
    return Event((*subject, *rest(verb, plural=plural)), owner, explicit=True)


def _without_subject(words: list[str], said_by: Speaker, inherited: Party | None) -> Event:
    """Read a clause that takes its subject from the event before, or is an order."""
    parties = parties_of(said_by)
    first = words[0].lower()
    if len(words) > 1 and describes(first, inherited) and words[1].lower() in PREPOSITIONS:
        words = ["is", *words]  # "tired of it"
    if inherited == "thing" and is_finite(first):
        rest = mark_people(predicate(words, plural=False), parties)
        return Event(("it", *rest), "thing", explicit=False)
    listener = parties["you"] if is_order(words) else said_by
    party = listener if inherited in (None, "thing") else inherited
    if not is_verb(first) and first not in AUXILIARIES | ADVERBS | {"not", "to"}:
        words = ["is", *words]  # "sorry to hear that"
    rest = mark_people(predicate(uncapitalised(words), plural=False), parties)
    return Event((Mention(party), *rest), party, explicit=False)


_OTHER_NAME = {"PersonX": "PersonY", "PersonY": "PersonX"}


def _person_x(event: Event, said_by: Speaker) -> Party:
    return said_by if event.subject == "thing" else event.subject


def _joined(words: Iterable[str]) -> str:
    return re.sub(r" ([,;:])", r"\1", " ".join(words))
