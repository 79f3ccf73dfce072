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

from grice.text.contractions import written_out
from grice.text.people import (
    OBJECTS,
    OWNERS,
    POSSESSIVES,
    SUBJECTS,
    Mention,
    Party,
    mark_people,
    parties_of,
)
from grice.text.tokens import SENTENCE_END
from grice.text.verbs import (
    base_form,
    is_adjective,
    is_noun,
    is_past,
    is_verb,
    past_participle,
    simple_present,
)
from grice.text.wordlists import (
    ADVERBS,
    AUXILIARIES,
    BE,
    CLAUSE_STARTS,
    DEGREES,
    DETERMINERS,
    FEELINGS,
    INDEFINITE,
    MODALS,
    NOT_FEELINGS,
    NOT_VERBS,
    PARTICIPIAL_ADJECTIVES,
    PLURAL_INDEFINITE,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.text.people import Speaker

PersonName: TypeAlias = Literal["PersonX", "PersonY"]
_PLURAL_THINGS = frozenset({"these", "those"})


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


def statement(words: list[str]) -> list[str]:
    """Put the subject of a question before its auxiliary: "do you play" is "you do play"."""
    if len(words) > 2 and words[0].lower() == "which" and words[2].lower() not in SUBJECTS:
        return ["it", *words[1:]]  # "which is cool", said of what went before
    while words and words[0].lower() in QUESTIONS and len(words) > 2:
        words = words[1:]
    if len(words) < 3 or words[0].lower() not in AUXILIARIES:
        return words
    second = words[1].lower()
    if second in SUBJECTS or (second in THINGS and words[0].lower() not in {"do", "have"}):
        return [words[1], words[0], *words[2:]]
    if second == "not" and words[2].lower() in THINGS | SUBJECTS.keys():
        return [words[2], words[0], "not", *words[3:]]
    noun = second in DETERMINERS or words[1][0].isupper()
    if words[0].lower() in {"does", "did"} | MODALS and noun:
        verb = next((i for i in range(2, len(words)) if is_verb(words[i].lower())), 0)
        if verb:
            return [*words[1:verb], words[0], *words[verb:]]
    return words


def predicate(words: list[str], *, plural: bool) -> list[str]:
    """Return a predicate in the simple present."""
    verb, rest = simple_present(words)
    return [*(_plural(verb) if plural else verb), *rest]


def _plural(verb: list[str]) -> list[str]:
    if not verb:
        return []
    *before, last = verb
    agreed = {"is": "are", "doesn't": "don't", "has": "have"}
    return [agreed.get(w, w) for w in before] + [
        agreed.get(last, base_form(last) if is_verb(last) else last)
    ]


def thing_predicate(words: list[str], subject: str) -> list[str]:
    """Return the predicate of a thing, in the plural if the subject or its verb is."""
    plural = subject in _PLURAL_THINGS or (
        subject in {"here", "there"} and bool(words) and words[0].lower() in {"are", "were"}
    )
    return predicate(words, plural=plural)


def subject_end(words: list[str]) -> int:
    """Return the index of the verb behind a subject of several words, 0 if there is none.

    Only sure signs count: an auxiliary, or a past form, behind at least one word that may be a
    noun.
    """
    first = words[0].lower()
    if first in AUXILIARIES | ADVERBS | {"not", "to"}:
        return 0
    determined = first in OWNERS or first in NOT_VERBS
    if len(words) > 1 and words[1].lower() in AUXILIARIES and not determined:
        return 1
    if len(words) > 2 and words[2].lower() in BE - {"be", "being"} and is_noun(words[1].lower()):
        return 2  # "house cats are"
    if is_verb(first) and not determined and not words[0][0].isupper():
        return 0
    for i, word in enumerate(words[1:], start=1):
        lower = word.lower()
        if lower in {"to", "that", "who", "which"} or (lower in OBJECTS and i == 1):
            return 0
        if lower in AUXILIARIES and (lower in BE or not determined or i > 1):
            return i
        if i > int(determined) and is_past(lower):
            return i
        if determined and i > 1 and is_verb(lower) and not _is_noun_like(words, i):
            return i
    return 0


def is_verbal(word: str) -> bool:
    """Say whether a word is a verb, an auxiliary or an adverb."""
    return word in AUXILIARIES | ADVERBS or is_verb(word)


def _is_noun_like(words: list[str], i: int) -> bool:
    """Say whether the word at ``i`` is more likely a noun: it ends the clause or "of" follows."""
    word = words[i].lower()
    if base_form(word) != word and not word.endswith(("s", "ing")):
        return False
    return i + 1 >= len(words) or words[i + 1].lower() in AUXILIARIES | {"of", "and", "or"}


def is_plural(subject: list[str]) -> bool:
    """Say whether a subject of several words takes a plural verb."""
    nouns = [word.lower() for word in subject if word.lower() not in ADVERBS]
    if not nouns or nouns[0] in {"one", "each"}:
        return False
    if "and" in nouns:
        return True
    if subject[-1][0].isupper() and nouns[0] != "the":
        return False  # a name
    lower = nouns[-1]
    return (lower.endswith("s") and not lower.endswith(("ss", "us", "is", "'s"))) or lower in {
        "people",
        "children",
        "men",
        "women",
        "kids",
        "parents",
    }


def describes(word: str, inherited: Party | None) -> bool:
    """Say whether a first word is an adjective; behind another event it is rather a past form."""
    form = base_form(word) != word and not word.endswith("ing") and inherited is None
    return is_adjective(word) and (form or word in {"busy", "free", "perfect", "ready"})


def is_finite(word: str) -> bool:
    """Say whether a first verb has its own tense, so that it shares the subject before it."""
    inflected = is_verb(word) and base_form(word) != word and not word.endswith("ing")
    return word in AUXILIARIES or inflected


def is_order(words: list[str]) -> bool:
    """Say whether a clause without a subject begins with the base form of a verb."""
    first = words[0].lower()
    if first in FEELINGS or first in AUXILIARIES - {"do", "be"} or not is_verb(first):
        return False
    return base_form(first) == first


def uncapitalised(words: list[str]) -> list[str]:
    """Return the words with the first in lower case unless it may be a name."""
    first = words[0].lower()
    common = first in NOT_VERBS or first in POSSESSIVES or is_verb(first)
    return [first, *words[1:]] if common else words
