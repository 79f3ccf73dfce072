"""Events of a reply and of the turn before it, with features of the words around them.

A tagger marks the spans of events. Connectives, wishes, judgements and negation around and inside
a span indicate relations of events. Rules extract them here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from grice.models.protocols import TaggedSpan
from grice.text import wordlists as en
from grice.text.events import (
    Event,
    Mention,
    Party,
    Speaker,
    feels,
    reaction,
    read_event,
    written_out,
)
from grice.text.lexicon import base_form, is_adjective, is_inflected, is_noun, is_past, is_verb
from grice.text.tokens import SENTENCE_END, SHORT_FORMS
from grice.text.wordlists import words_of

Turn: TypeAlias = Literal["reply", "previous"]

MAX_EVENTS = 8
"""Most spans read per turn, the most confident ones; pairs grow with the square."""


class Place(msgspec.Struct, frozen=True):
    """Characters ``start`` to ``end`` of the reply or of the turn before it."""

    turn: Turn
    start: int
    end: int


class EventMention(NamedTuple):
    """An event in a turn.

    Features: ``question``, ``negated``, ``modal``, ``wish``, ``past``, ``state`` (of "be"),
    ``feeling``, ``liking``, ``judged`` and ``exclaimed`` (kinds of feeling), ``purpose`` (an
    infinitive of purpose), ``new`` (first event of a sentence), ``derived`` (from an exclamation or
    a part of a clause), ``cut off`` and ``unsound`` (see :func:`clause_problem`).
    """

    event: Event
    place: Place  # of its clause
    order: int  # in its turn, from 0
    lead: str  # the connective before it, such as ``because``, or empty
    features: frozenset[str]
    confidence: float  # of the tagger

    @property
    def own(self) -> bool:
        """Whether it is in the reply."""
        return self.place.turn == "reply"


class _Clause(NamedTuple):
    """A part of a span that holds one event."""

    start: int
    end: int
    lead: str
    purpose: bool


def event_mentions(
    text: str, spans: Sequence[TaggedSpan], *, turn: Turn, said_by: Speaker
) -> list[EventMention]:
    """Return the events of one turn in the order of the text.

    The :data:`MAX_EVENTS` most confident spans are read; one may hold several clauses.
    """
    read = sorted(sorted(spans, key=lambda span: -span.confidence)[:MAX_EVENTS])
    mentions: list[EventMention] = []
    inherited: Party | None = None
    end = 0
    for span, clause in ((each, clause) for each in read for clause in _clauses(text, each)):
        between, content = text[end : clause.start], text[clause.start : clause.end]
        new = not mentions or bool(SENTENCE_END.search(between))
        event = read_event(content, said_by=said_by, inherited=None if new else inherited)
        event = with_people_apart(event, content, said_by=said_by)
        leads = _LEADS.findall(re.split(r"[.!?;]", between)[-1].lower())
        lead = clause.lead or (leads[-1] if leads else "")
        features = _clause_features(text, clause, event)
        # "because it was hot" gives a cause, no judgement
        judged = None if lead in _DEPENDENT else _judgement(content, said_by)
        if judged is not None:
            features |= {"feeling", "judged"}
            event = judged
        elif problem := clause_problem(event, content):
            features.add(problem)
        if new:
            features.add("new")
        if event.words:
            place = Place(turn, clause.start, clause.end)
            mentions.append(
                EventMention(event, place, 0, lead, frozenset(features), span.confidence)
            )
            inherited = event.subject
        end = clause.end
    mentions += _exclamations(text, [item.place for item in mentions], turn, said_by)
    ordered = sorted(mentions, key=lambda item: (item.place.start, item.place.end))
    return [item._replace(order=i) for i, item in enumerate(ordered)]


def with_people_apart(event: Event, text: str, *, said_by: Speaker) -> Event:
    """Make subject and object of "he asks her" two people."""
    if event.subject != "other" or not _acts_on_itself(event, text):
        return event
    # PersonX is the subject; everybody else is PersonY, whichever party they are of.
    another = Mention("previous" if said_by == "responder" else "responder")
    first, *rest = event.words
    apart: list[str | Mention] = []
    for word, following in pairwise([*rest, ""]):
        # "the attention she wants": a person before a verb is a subject
        before_verb = isinstance(following, str) and is_verb(following)
        apart.append(another if word == Mention("other") and not before_verb else word)
    return msgspec.structs.replace(event, words=(first, *apart))


def _acts_on_itself(event: Event, text: str) -> bool:
    first, *rest = event.words or ("",)
    named = isinstance(first, Mention) and not first.possessive
    return named and Mention(event.subject) in rest and not _REFLEXIVE.search(text)


_REFLEXIVE = re.compile(r"sel(?:f|ves)\b", re.IGNORECASE)
_LIGHT = frozenset({"not", "feels"}).union(
    en.AUXILIARIES, en.MODIFIERS, en.DETERMINERS, en.PREPOSITIONS, en.THINGS
)


def carrying_words(event: Event) -> frozenset[str]:
    """Return the base forms of the content words of an event; none of "PersonX does that"."""
    words = (word.lower() for word in event.words if isinstance(word, str))
    return frozenset(base_form(word) for word in words if word not in _LIGHT)


_LEADS_ON = frozenset({"to", "than", "as", "of", "about", "for", "with", "the", "a", "and"})
"""Last words of an incomplete clause: "PersonX hears about"."""
_RUN_TOGETHER = re.compile(
    r", (?:(?:the|this|that|Person[XY]'s) \w+|it|Person[XY]) (?:is|are|was|were|has|had|does)\b"
    r"|\b(?:it|that|them) (?:the|this|my|your) "
)
"""Two clauses without a word between: "PersonX gets it the chicken was underdone"."""
_UNSURE = frozenset({"is", "not", "makes"})
"""Words before a last "sure" whose complement is missing."""


def clause_problem(event: Event, text: str) -> Literal["", "cut off", "unsound"]:
    """Return whether a clause is incomplete, or not one that a person would write down.

    ``cut off``: no word was read, or the verb lacks its object ("what did you get"). ``unsound``:
    it says nothing by itself, breaks off, or is no clause of one person or thing.
    """
    if not event.words:
        return "cut off"
    subject, *rest = event.words
    if isinstance(subject, Mention):
        if len(rest) == 1 and rest[0] in en.INCOMPLETE:
            return "cut off"
        words = [word for word in rest if isinstance(word, str) and word not in en.MODIFIERS]
        unsound = (
            (len(rest) == len(words) <= 1 and (not words or words[0] in en.VAGUE))
            or rest[-1] in _LEADS_ON
            or words[:2] == ["does", "to"]
            or (words[-1:] == ["sure"] and not _UNSURE.isdisjoint(words[-2:-1]))
        )
        if not event.explicit and not subject.possessive:
            # "Nice to meet you" is no order: the speaker meets.
            unsound = unsound or _acts_on_itself(event, text) or _is_no_predicate(text)
    else:
        unsound = "sounds" in rest  # "that sounds like fun" says nothing about its subject
    empty = not carrying_words(event) or rest[:1] == ["not"]
    if unsound or empty or _RUN_TOGETHER.search(event.text(event.subject)):
        return "unsound"
    return ""


def _is_no_predicate(text: str) -> bool:
    """Whether a span without a subject is a noun phrase, or has a subject after all."""
    words = [word.lower() for word in written_out(text)]
    words = [word for word in words if word not in en.MODIFIERS | {"not", "to", "please"}]
    if len(words) < 2 or words[0] in en.QUESTIONS | en.AUXILIARIES | en.BE | {"let"}:
        return False
    first, second = words[:2]
    if not is_verb(first) and not is_adjective(first):
        return True  # "the only thing"
    inflected = is_inflected(second) and not is_adjective(second)
    return is_noun(first) and (second in en.AUXILIARIES or inflected)  # "dogs watched", "Venus is"


def _clauses(text: str, span: TaggedSpan) -> Iterator[_Clause]:
    """Cut a span before a second clause and before an infinitive of purpose."""
    start, lead, purpose = span.start, "", False
    for cut in _INNER.finditer(text, span.start, span.end):
        before = text[start : cut.start()]
        connective, verb = cut["lead"], cut["verb"]
        holds_verb = any(is_verb(word.lower()) for word in written_out(before))
        if len(before.split()) < 2 or not holds_verb:
            continue
        if connective is None and not _is_of_purpose(before, verb.lower()):
            continue
        yield _trimmed(text, _Clause(start, cut.start(), lead, purpose))
        purpose = connective is None
        lead = "" if purpose else connective.lower()
        start = cut.start("verb" if purpose else "rest")
    yield _trimmed(text, _Clause(start, span.end, lead, purpose))


def _trimmed(text: str, clause: _Clause) -> _Clause:
    """Leave out what is before the first word and after the last, such as an emoji."""
    first = _FIRST.search(text, clause.start, clause.end)
    last = _UNTIL_LAST.match(text, clause.start, clause.end)
    end = last.end() if last else clause.start
    return clause._replace(start=min(first.start(), end) if first else end, end=end)


_FIRST = re.compile(r"[\w'’\"($#@]")
_UNTIL_LAST = re.compile(r".*[\w'’\")%$]", re.DOTALL)
_INNER = re.compile(
    r"\s,?\s*(?:(?P<lead>because|cause|cuz|since|so that|so|but|although|though|if|when|unless|"
    r"while)\s+"
    r"(?P<rest>(?:i|you|u|we|they|he|she|it|that|this|there|my|your|the|his|her)['’\w]*\s)"
    r"|(?:in order )?to\s+(?P<verb>[a-z]+)\b)",
    re.IGNORECASE,
)
_ACTS = re.compile(r"\bfor\s+(?:\w+\s+){0,2}\w+\s*$", re.IGNORECASE)
"""Before an infinitive this names the agent: "easy for the cook to cook"."""


def _is_of_purpose(before: str, verb: str) -> bool:
    last = SHORT_FORMS.findall(before.lower())[-1]
    return (
        is_verb(verb)
        and base_form(verb) == verb
        and not is_adjective(last)
        and last not in en.TAKES_INFINITIVE
        and not _ACTS.search(before)
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
LEAD = {word: name for name, words in LEADS.items() for word in words}
"""The kind of each connective."""
_LEADS = re.compile(rf"\b({'|'.join(sorted(LEAD, key=len, reverse=True))})\b")
_DEPENDENT = words_of("because cause cuz since if when while unless after before until as")
_PAST = words_of("was were did had been")
_WISHES = re.compile(
    r"\b(?:want|wants|wanted|wanna|would like|'d like|would love|'d love|hope|hopes|hoping|"
    r"wish|need|needs|plan|planning|looking forward|can't wait|cannot wait|let me|let's|"
    r"may i|can i|could i|trying|try|going to|gonna|will|'ll|should)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"n't\b|\b(?:not|never|no|nothing|nobody|without|cannot|dont|cant|didnt)\b")


def _clause_features(text: str, clause: _Clause, event: Event) -> set[str]:
    content = text[clause.start : clause.end].lower()
    words = [word for word in event.words if isinstance(word, str)]
    spoken = {word.lower() for word in written_out(content)}
    after = re.search(r"[.!?]", text[clause.end :])
    found = {
        "question": after is not None and after[0] == "?",
        "negated": _NEGATED.search(content),
        "wish": _WISHES.search(content),
        "modal": spoken & en.MODALS,
        "state": any(word in {"is", "are"} for word in words[:3]),
        "past": spoken & _PAST or any(is_past(word) for word in spoken),
        "purpose": clause.purpose,
        "derived": clause.lead or clause.purpose,
    }
    features = {name for name, value in found.items() if value}
    feeling = _feeling(event)
    if feeling and not (feeling == "liking" and "wish" in features):  # "I would love to come"
        features.add(feeling)
    return features


def _feeling(event: Event) -> str:
    """Return ``feeling`` for "PersonX is glad", ``liking`` for "PersonX likes …", else nothing."""
    subject, *rest = event.words or ("",)
    if not isinstance(subject, Mention) or subject.possessive:
        return ""
    words = [word for word in rest if isinstance(word, str)]
    words = [word for word in words if word not in en.MODIFIERS | {"not"}]
    verb, mood, *_ = *words, "", ""
    if verb in _LIKING:
        return "liking"
    glad = verb in {"is", "are", "gets"} and mood in en.MOOD_ADJECTIVES
    return "feeling" if glad or verb in {"feels", "thanks", "appreciates"} else ""


def _judgement(text: str, said_by: Speaker) -> Event | None:
    """Read "that's such a terrible story" as a feeling: "PersonX feels terrible"."""
    felt = reaction(text, said_by=said_by)
    match = _JUDGED.match(text)
    if felt is None and match and match[1].lower() in en.JUDGEMENTS:
        return feels(match[1].lower(), said_by)
    return felt


_JUDGED = re.compile(
    r"(?:that|this|it)(?:'s|’s|s| is| was| sounds like| must be)\s+(?:\w+\s+)?an?\s+"
    r"(?:\w+ly\s+|very |so |pretty )?(\w+)\s+\w",
    re.IGNORECASE,
)
_LIKING = words_of("loves likes enjoys hates hopes misses wonders")
_EXCLAIMED = re.compile(
    r"\b(?:how|that(?:'s| is|s)|what an?|so|very|pretty|it(?:'s| is))\s+(?P<a>[a-z]+)\b"
    r"|(?:^|[.!?,]\s*|\b(?:oh|wow|ah|yeah|yes|haha|lol|no)\s*,?\s+)(?P<b>[a-z]+)\s*(?=[.!,]|$)"
    r"|(?P<c>\b(?:thanks|thank (?:you|u|god|goodness)|congratulations|congrats|sorry|wow|yikes|"
    r"ouch|sadly|unfortunately|luckily)\b)",
    re.IGNORECASE,
)
_INTERJECTIONS = {
    **dict.fromkeys(["thanks", "thank you", "thank u", "thank god", "thank goodness"], "thankful"),
    **dict.fromkeys(["congratulations", "congrats"], "happy"),
    **dict.fromkeys(["sorry", "unfortunately"], "sorry"),
    "wow": "surprised", "yikes": "shocked", "ouch": "hurt", "sadly": "sad", "luckily": "lucky",
}  # fmt: skip


def _exclamations(
    text: str, taken: Sequence[Place], turn: Turn, said_by: Speaker
) -> Iterator[EventMention]:
    """Read exclamations outside of events as feelings: "Oh, how awful!", "Thanks!"."""
    seen: set[Event] = set()
    features = frozenset({"feeling", "exclaimed", "derived"})
    for match in _EXCLAIMED.finditer(text):
        if any(place.start < match.end() and match.start() < place.end for place in taken):
            continue
        feeling = (match["a"] or match["b"] or "").lower()
        if match["c"]:
            # Letters of other alphabets match without regard to case, too: a long s, a dotless i.
            feeling = _INTERJECTIONS.get(" ".join(match["c"].lower().split()), "")
        elif feeling not in en.JUDGEMENTS and not (
            match["a"] and _judges(feeling, text[match.end() :])
        ):
            continue
        event = feels(feeling, said_by)
        if feeling and event not in seen:
            seen.add(event)
            place = Place(turn, match.end() - len(match[0].lstrip(" .!?,")), match.end())
            yield EventMention(event, place, 0, "", features, 1.0)


def _judges(word: str, following: str) -> bool:
    after = following.split()[:1]
    if not is_adjective(word) or word in en.NOT_FEELINGS:
        return False
    return not after or not after[0][0].isalpha() or after[0].lower() in en.CLAUSE_STARTS
