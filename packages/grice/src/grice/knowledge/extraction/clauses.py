"""The events of a reply and of the turn before it, with what the words around them say.

A tagger marks where events are said. Around and inside a span stand the cues by which people
relate events: connectives, wishes, judgements, negation. This module reads them; nothing is
learned here.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.knowledge.extraction.protocol import Place
from grice.text.contractions import written_out
from grice.text.events import Event, reaction, read_event
from grice.text.people import Mention
from grice.text.tokens import SENTENCE_END, SHORT_FORMS
from grice.text.verbs import base_form, is_adjective, is_noun, is_past, is_verb, past_participle
from grice.text.wordlists import (
    ADVERBS,
    AUXILIARIES,
    BE,
    CLAUSE_STARTS,
    DEGREES,
    DETERMINERS,
    MODALS,
    NOT_FEELINGS,
    PARTICIPIAL_ADJECTIVES,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

    from grice.models.protocols import TaggedSpan
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


EVENTS = 8
"""Most events read per turn, the surest ones; pairs grow with the square."""

CHARACTERS = 3000
"""Characters read of a turn, from its beginning: more than anybody says at once."""


class EventMention(NamedTuple):
    """An event that was said.

    Attributes:
        event: The event with its people open.
        place: Where it was said.
        order: Which event of its turn it is, from 0.
        lead: The connective before it, such as ``because``; empty if there is none.
        cues: Any of ``question``, ``negated``, ``modal``, ``wish``, ``past``, ``state`` (of "be"),
            ``feeling``, ``liking``, ``judged`` and ``exclaimed`` (kinds of feeling), ``purpose``
            (an infinitive that says what for), ``new`` (first event of a sentence), ``derived``
            (read off an exclamation or a part of a clause), ``cut off`` and ``unsound`` (see
            :mod:`grice.knowledge.extraction.clauses`).
        confidence: How sure the tagger is.
    """

    event: Event
    place: Place
    order: int
    lead: str
    cues: frozenset[str]
    confidence: float

    @property
    def own(self) -> bool:
        """Whether the reply says it."""
        return self.place.turn == "reply"


class _Part(NamedTuple):
    """A stretch of a turn that holds one event."""

    start: int
    end: int
    lead: str
    purpose: bool
    confidence: float
    derived: bool


def event_mentions(
    text: str,
    spans: Sequence[TaggedSpan],
    *,
    turn: Literal["reply", "previous"],
    said_by: Speaker,
) -> list[EventMention]:
    """Return the events of one turn in the order they were said.

    Of the spans, the :data:`EVENTS` surest are read; one may hold several clauses.
    """
    surest = sorted(sorted(spans, key=lambda span: -span.confidence)[:EVENTS])
    mentions: list[EventMention] = []
    inherited: Party | None = None
    end = 0
    for part in (_trimmed(text, part) for span in surest for part in _parts(text, span)):
        new = not mentions or bool(SENTENCE_END.search(text[end : part.start]))
        event = read_event(
            text[part.start : part.end], said_by=said_by, inherited=None if new else inherited
        )
        content = text[part.start : part.end]
        event = with_people_apart(event, content, said_by=said_by)
        lead = part.lead or _lead(text[end : part.start])
        judged = None
        if lead not in _DEPENDENT:  # "because it was hot" gives a cause, no judgement
            judged = _judgement(content, said_by)
        cues = _cues(text, part, event)
        if judged is not None:
            cues |= {"feeling", "judged"}
            event = judged
        elif is_cut_off(event):
            cues |= {"cut off"}
        elif is_unsound(event, content):
            cues |= {"unsound"}
        if new:
            cues |= {"new"}
        if event.words:
            place = Place(turn, part.start, part.end)
            mentions.append(
                EventMention(event, place, len(mentions), lead, frozenset(cues), part.confidence)
            )
            inherited = event.subject
        end = part.end
    taken = [(item.place.start, item.place.end) for item in mentions]
    return _in_order([*mentions, *_exclaimed(text, taken, turn, said_by)])


def _in_order(mentions: list[EventMention]) -> list[EventMention]:
    ordered = sorted(mentions, key=lambda item: (item.place.start, item.place.end))
    return [item._replace(order=i) for i, item in enumerate(ordered)]


def _parts(text: str, span: TaggedSpan) -> Iterator[_Part]:
    """Cut a span where a second clause begins, or a purpose is said."""
    start = span.start
    lead, purpose = "", False
    for cut in _INNER.finditer(text, span.start, span.end):
        before = text[start : cut.start()]
        if len(before.split()) < 2 or not _holds_verb(before):
            continue
        connective = cut["lead"]
        infinitive = connective is None
        if infinitive and not _says_purpose(before, cut["verb"]):
            continue
        yield _Part(start, cut.start(), lead, purpose, span.confidence, bool(lead or purpose))
        lead = "" if connective is None else connective.lower()
        purpose = infinitive
        start = cut.start("verb") if infinitive else cut.start("rest")
    yield _Part(start, span.end, lead, purpose, span.confidence, bool(lead or purpose))


def _trimmed(text: str, part: _Part) -> _Part:
    """Leave out what stands before the first word and after the last, such as an emoji."""
    content = text[part.start : part.end]
    before = len(content) - len(_BEFORE_WORDS.sub("", content))
    after = len(content) - len(_AFTER_WORDS.sub("", content))
    return part._replace(start=min(part.start + before, part.end - after), end=part.end - after)


_BEFORE_WORDS = re.compile(r"^[^\w'’\"($#@]+")
_AFTER_WORDS = re.compile(r"[^\w'’\")%$]+$")
_INNER = re.compile(
    r"\s,?\s*(?:(?P<lead>because|cause|cuz|since|so that|so|but|although|though|if|when|unless|"
    r"while)\s+"
    r"(?P<rest>(?:i|you|u|we|they|he|she|it|that|this|there|my|your|the|his|her)['’\w]*\s)"
    r"|(?:in order )?to\s+(?P<verb>[a-z]+)\b)",
    re.IGNORECASE,
)
_TAKES_INFINITIVE = words_of(
    "want wants wanted need needs needed like likes liked love loves loved hate hates hope hopes "
    "hoping try tries trying tried go goes going have has had having got able about used supposed "
    "plan plans planning planned decide decides decided begin begins began start starts started "
    "continue prefer prefers learn learns learning learned learnt how what where when who way "
    "wish wishes forget forgot remember seem seems tend tends manage managed afford agree agreed "
    "allowed refuse refused expect expected deserve deserves promise dying happen happens happened "
    "ready glad happy sad sorry nice great good bad hard easy difficult excited afraid scared "
    "interested enough time place allow help ask asked tell told let be due close next thing "
    "chance opportunity something anything nothing lot much many best first ability right "
    "willing likely unable eager proud sure free reason excuse order interesting fun important "
    "cool possible impossible lucky better crazy weird wonderful awesome too choose chooses chose "
    "gone went come comes came as from according compared up down suppose taught told made makes "
    "way"
)


_ACTS = re.compile(r"\bfor\s+(?:\w+\s+){0,2}\w+\s*$", re.IGNORECASE)
"""Before an infinitive this names who acts: "easy for the cook to cook"."""


def _says_purpose(before: str, verb: str) -> bool:
    last = SHORT_FORMS.findall(before.lower())[-1]
    bare = is_verb(verb.lower()) and base_form(verb.lower()) == verb.lower()
    return (
        bare
        and not is_adjective(last)
        and last not in _TAKES_INFINITIVE
        and not _ACTS.search(before)
    )


def _holds_verb(text: str) -> bool:
    words = [word.lower() for word in written_out(text)]
    return any(is_verb(word) or word in BE for word in words)


def _lead(between: str) -> str:
    """Return the connective at the end of what stands between two events."""
    tail = re.split(r"[.!?;]", between)[-1] if between else ""
    leads = _LEADS.findall(tail.lower())
    return str(leads[-1]).strip() if leads else ""


_LEADS = re.compile(
    r"\b(because|cause|cuz|since|so that|so|but|although|though|if|when|while|unless|before|"
    r"after|until|then|and|or|that|therefore|which|who|as)\b"
)
_PAST = words_of("was were did had been")
_DEPENDENT = words_of("because cause cuz since if when while unless after before until as")
_WISHES = re.compile(
    r"\b(?:want|wants|wanted|wanna|would like|'d like|would love|'d love|hope|hopes|hoping|"
    r"wish|need|needs|plan|planning|looking forward|can't wait|cannot wait|let me|let's|"
    r"may i|can i|could i|trying|try|going to|gonna|will|'ll|should)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"n't\b|\b(?:not|never|no|nothing|nobody|without|cannot|dont|cant|didnt)\b")


def _cues(text: str, part: _Part, event: Event) -> set[str]:
    content = text[part.start : part.end].lower()
    words = [str(word) for word in event.words if isinstance(word, str)]
    spoken = {word.lower() for word in written_out(content)}
    cues = set()
    after = re.search(r"[.!?]", text[part.end :])
    if after and after[0] == "?":
        cues.add("question")
    if _NEGATED.search(content):
        cues.add("negated")
    if _WISHES.search(content):
        cues.add("wish")
    if spoken & MODALS:
        cues.add("modal")
    if words and any(word in {"is", "are"} for word in words[:3]):
        cues.add("state")
    if spoken & _PAST or any(is_past(word) for word in spoken):
        cues.add("past")
    feels = _feels(event)
    if feels and not (feels == "liking" and "wish" in cues):  # "I would love to come" is a wish
        cues.add(feels)
    if part.purpose:
        cues.add("purpose")
    if part.derived:
        cues.add("derived")
    return cues


def _feels(event: Event) -> str:
    """Return whether a clause tells a ``feeling`` of a person ("PersonX is glad"), or a ``liking``.

    Empty if it tells neither.
    """
    if not event.words or not isinstance(event.words[0], Mention) or event.words[0].possessive:
        return ""
    words = [word for word in event.words[1:] if isinstance(word, str)]
    words = [word for word in words if word not in DEGREES | ADVERBS | {"not"}]
    if not words:
        return ""
    if words[0] in _LIKING:
        return "liking"
    if words[0] in {"is", "are", "gets"}:
        return "feeling" if words[1:] and words[1] in _MOOD_ADJECTIVES else ""
    return "feeling" if words[0] in {"feels", "thanks", "appreciates"} else ""


def _judgement(text: str, said_by: Speaker) -> Event | None:
    """Read "that's such a terrible story" as what its speaker feels: "PersonX feels terrible"."""
    if not _NAMES_SOMETHING.search(text):
        return None
    felt = reaction(text, said_by=said_by)
    if felt is not None:
        return felt
    match = _JUDGED.match(text)
    word = match[1].lower() if match else ""
    if word not in _BARE:
        return None
    feeling = past_participle(word) if word in PARTICIPIAL_ADJECTIVES else word
    return Event((Mention(said_by), "feels", feeling), said_by, explicit=False)


_NAMES_SOMETHING = re.compile(r"\b(?:it|that|this|which)", re.IGNORECASE)
_JUDGED = re.compile(
    r"(?:that|this|it)(?:'s|’s|s| is| was| sounds like| must be)\s+(?:\w+\s+)?an?\s+"
    r"(?:\w+ly\s+|very |so |pretty )?(\w+)\s+\w",
    re.IGNORECASE,
)
_LIKING = words_of("loves likes enjoys hates hopes misses wonders")
_MOOD_ADJECTIVES = words_of(
    "afraid amazed amused angry annoyed anxious ashamed bored cheerful comfortable concerned "
    "confident confused content curious delighted depressed disappointed disgusted eager "
    "embarrassed energetic envious excited exhausted frightened frustrated furious glad grateful "
    "guilty happy hopeful hungry hurt impressed inspired interested jealous lonely lucky mad "
    "nervous optimistic pleased proud relaxed relieved sad satisfied scared shocked sick sleepy "
    "sorry stressed surprised terrified thankful thirsty thrilled tired uncomfortable unhappy "
    "unsure upset worried"
)
_EXCLAIMED = re.compile(
    r"\b(?:how|that(?:'s| is|s)|what an?|so|very|pretty|it(?:'s| is))\s+(?P<a>[a-z]+)\b"
    r"|(?:^|[.!?,]\s*|\b(?:oh|wow|ah|yeah|yes|haha|lol|no)\s*,?\s+)(?P<b>[a-z]+)\s*(?=[.!,]|$)"
    r"|(?P<c>\b(?:thanks|thank (?:you|u|god|goodness)|congratulations|congrats|sorry|wow|yikes|"
    r"ouch|sadly|unfortunately|luckily)\b)",
    re.IGNORECASE,
)
_INTERJECTIONS = {
    "thanks": "thankful",
    "thank you": "thankful",
    "thank u": "thankful",
    "thank god": "thankful",
    "thank goodness": "thankful",
    "congratulations": "happy",
    "congrats": "happy",
    "sorry": "sorry",
    "wow": "surprised",
    "yikes": "shocked",
    "ouch": "hurt",
    "sadly": "sad",
    "unfortunately": "sorry",
    "luckily": "lucky",
}
_BARE = words_of(
    "amazing awesome awful beautiful brilliant cool crazy cute disgusting excellent exciting "
    "fantastic fascinating funny good great hilarious horrible impressive incredible interesting "
    "lovely lucky neat nice perfect ridiculous sad scary strange surprising sweet terrible weird "
    "wonderful"
)
"""Words that judge where they stand alone: "Awesome!"."""


def _exclaimed(
    text: str,
    taken: Sequence[tuple[int, int]],
    turn: Literal["reply", "previous"],
    said_by: Speaker,
) -> Iterator[EventMention]:
    """Read exclamations outside of events as feelings: "Oh, how awful!", "Thanks!"."""
    felt: set[str] = set()
    for match in _EXCLAIMED.finditer(text):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        word = (match["a"] or match["b"] or "").lower()
        if match["c"]:
            # Letters of other alphabets match without regard to case, too: a long s, a dotless i.
            feeling = _INTERJECTIONS.get(" ".join(match["c"].lower().split()), "")
        elif word in _BARE or (match["a"] and _judges(word, text[match.end() :])):
            feeling = past_participle(word) if word in PARTICIPIAL_ADJECTIVES else word
        else:
            continue
        if not feeling or feeling in felt:
            continue
        felt.add(feeling)
        event = Event((Mention(said_by), "feels", feeling), said_by, explicit=False)
        place = Place(
            turn, match.start() + len(match[0]) - len(match[0].lstrip(" .!?,")), match.end()
        )
        yield EventMention(event, place, 0, "", frozenset({"feeling", "exclaimed", "derived"}), 1.0)


def _judges(word: str, following: str) -> bool:
    after = following.split()[:1]
    if not is_adjective(word) or word in NOT_FEELINGS:
        return False
    return not after or not after[0][0].isalpha() or after[0].lower() in CLAUSE_STARTS
