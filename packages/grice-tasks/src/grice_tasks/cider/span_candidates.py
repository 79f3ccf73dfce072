"""Span candidates: stretches of a conversation that a link may join, events and things."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from grice.data import Span
from grice.models.embedded import HiddenStates
from grice.text import wordlists as en
from grice.text.lexicon import look_up
from grice_tasks.tokens import SPAN_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from grice.data import Conversation
    from grice.models.protocols import TaggedSpan
    from grice_tasks.cider.files import Place
    from grice_tasks.cider.reading import TextReading


BETWEEN = 25  # Most characters between two stretches that a connective links
AHEAD = 4
"""Stretches behind the first that are looked at: those within one another stand side by side."""


class ExplicitLink(NamedTuple):
    """A link by its connective: numbers of head and tail among the stretches."""

    head: int
    relation: str
    tail: int


class Nouns(NamedTuple):
    """Kinds of nouns, by those that knowledge has most often; each in lower case."""

    places: frozenset[str] = frozenset()  # where something can be
    located: frozenset[str] = frozenset()  # what can be somewhere
    tools: frozenset[str] = frozenset()  # what is used for something


_ARTICLE = r"(?:the |my |a |an |our |their |his |her )?"
_SUBJECT = r"(?:(?:i|you|we|they|he|she|it|that|this|there|maybe|i think|i guess) ?){0,3}"
_CONNECTIVES = (
    (rf"(?:just |mainly |only )?(?:because|cause|'cause|cuz|due to the fact that) {_SUBJECT}",
     "ee", "-Causes"),
    (r"so that (?:i|we|you|they|he|she|it) (?:can |could )?", "ee", "MotivatedByGoal"),
    (rf"(?:and )?(?:so|that's why|that is why|which is why|therefore) {_SUBJECT}", "ee", "Causes"),
    (r"to|in order to", "ee", "MotivatedByGoal"),
    (r"(?:used |made )?to|used for", "ue", "UsedFor"),
    (rf"(?:only )?if {_SUBJECT}|unless {_SUBJECT}|as long as {_SUBJECT}", "ee", "HasPrerequisite"),
    (rf"(?:and then|before|and after that) {_SUBJECT}", "ee", "Before"),
    (rf"(?:right |just )?after {_SUBJECT}", "ee", "-Before"),
    (rf"while {_SUBJECT}|at the same time as", "ee", "Simutaneous"),
    (rf"(?:when|whenever) {_SUBJECT}", "ee", "HappensIn"),
    (rf"(?:in|on|during|at|last|next|this) {_ARTICLE}", "em", "HappensIn"),
    (rf"(?:at|in|inside|on) {_ARTICLE}", "lp", "AtLocation"),
    (r"(?:is|was|are|were) (?:an?|one of the) (?:kind of )?", "tt", "IsA"),
    (rf"but {_SUBJECT}", "wn", "ObstructedBy"),
)  # fmt: skip
"""Words between two spans; the kinds of both in the order of the text: event, thing, moment, wish,
denial, place, what is located, what is used; their relation, with "-" from the second to the first.
"""


_RULES = [
    (
        re.compile(rf"^\W*(?:{words})\W*$", re.IGNORECASE),
        kinds,
        relation.lstrip("-"),
        relation[0] == "-",
    )
    for words, kinds, relation in _CONNECTIVES
]
GOALS = frozenset({"MotivatedByGoal", "UsedFor"})

RELATIONS = frozenset(relation for _, _, relation, _ in _RULES) | {"CausesDesire"}
"""Relations that connectives express."""

_MOMENT = re.compile(
    r"\b(?:\d{4}s?|\d+ ?(?:am|pm)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weeks?|weekend|"
    r"months?|morning|evening|afternoon|night|noon|winter|summer|spring|autumn|century|era|seasons?|"
    r"christmas|january|february|march|april|june|july|august|september|october|november|december|"
    r"days?|years?|past|future|holidays?|war|games?|match|party|trip|class|interview|election|"
    r"quarter|half|childhood|career|time)$",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:want|need|like|love|hope|wish|tried|try|trying|plan|planned|going to|would|wanted)\b",
    re.IGNORECASE,
)
_GOAL = re.compile(
    r"\b(?:want|need|hope|wish|let's|should|plan|going to|would like|have to)\b", re.IGNORECASE
)
_DENIAL = re.compile(r"n't\b|n’t\b|\b(?:not|no|never|cannot|cant|dont|didnt|too)\b", re.IGNORECASE)


def explicit_links(
    joined: Joined, candidates: Sequence[SpanCandidate], nouns: Nouns
) -> Iterator[ExplicitLink]:
    """Yield the links that connectives say, in the order of the text."""
    for i, first in enumerate(candidates):
        for j in range(i + 1, min(i + 1 + 2 * AHEAD, len(candidates))):
            second = candidates[j]
            gap = second.place[0] - first.place[1]
            if gap < 1:
                continue
            if gap > BETWEEN or joined.turn(first.place) != joined.turn(second.place):
                break
            reading = _read(joined.text, first, second, nouns)
            if reading is not None:
                relation, swapped = reading
                yield ExplicitLink(j, relation, i) if swapped else ExplicitLink(i, relation, j)


def _read(
    text: str, first: SpanCandidate, second: SpanCandidate, nouns: Nouns
) -> tuple[str, bool] | None:
    between = text[first.place[1] : second.place[0]] + " "
    if re.search(r"[.?!]", between):
        return None
    head, tail = text[slice(*first.place)], text[slice(*second.place)]
    for words, kinds, relation, swapped in _RULES:
        if not words.match(between):
            continue
        if not (_is(kinds[0], first, head, nouns) and _is(kinds[1], second, tail, nouns)):
            continue
        if relation in GOALS and not _says_purpose(text[: first.place[1]], head, tail):
            continue
        if relation == "IsA" and not _says_kind(text, first, second):
            continue
        if relation in ("IsA", "UsedFor") and _BEHIND.search(text[: first.place[0]]):
            continue  # "the emperor of Japan is a scientist" says nothing of Japan
        if relation == "Causes" and not swapped and _GOAL.search(tail):
            return "CausesDesire", False
        return relation, swapped
    return None


def _says_purpose(before: str, head: str, tail: str) -> bool:
    """Return whether "to" says what for: not what is possible, easy, or whose name follows."""
    if tail[:1].isupper() or _NO_DEED.search(head):
        return False  # "I gave it to Save the Children", "it is cheaper to hire them"
    sentence = re.split(r"[.?!]\s", before)[-1]
    return not (
        _TAKES_INFINITIVE.search(sentence) or _ONLY.search(sentence) or _STRANDED.match(tail)
    )


_TAKES_INFINITIVE = re.compile(
    r"\b(?:able|best|chances?|easy|enough|first|glad|good|happy|hard|last|nice|only|opportunity|"
    r"place|ready|reason|right|sorry|times?|ways?|for (?:(?:a|an|the|my|your|our|their) )?\w+)$",
    re.IGNORECASE,
)
"""Words that an infinitive completes ("time to go"), or the actor ("for writers to join")."""
_NO_DEED = re.compile(
    r"\b(?:be|is|was|were|are|it'?s|(?:allow|ask|expect|tell|want)(?:s|ed)? \w+|told \w+)\b",
    re.IGNORECASE,
)
"""Verbs that state no purposeful act, or an act that somebody else shall do."""
_ONLY = re.compile(r"\b(?:the|his|her|their|its) (?:only|first|last|\w+est)\b", re.IGNORECASE)
"""Of whom "to" says what they did: "the only team in the league to win"."""
_STRANDED = re.compile(
    r"\w+ (?:\w+ )?(?:about|at|for|from|of|on|to|with)(?:$| (?:and|but|or|though)\b)", re.IGNORECASE
)
"""Verbs of an act on the thing before it: "a family to provide for"."""


def _says_kind(text: str, first: SpanCandidate, second: SpanCandidate) -> bool:
    """Return whether a statement calls a whole name or noun a whole noun."""
    head, after = text[slice(*first.place)], text[second.place[1] :]
    part_of_name = head[:1].isupper() and _NAME_BEFORE.search(text[: first.place[0]])
    asked = re.match(r"[^.?!]*\?", after)
    return not part_of_name and not asked and not _GOES_ON.match(after)


_BEHIND = re.compile(
    r"\b(?:at|by|for|from|in|of|on|to|with)\s+(?:(?:a|an|the|my|your|his|her|our|their) )?$",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(r"[A-Z]\w*\s+(?:the|of|and|for)\s+$")
_GOES_ON = re.compile(
    r" (?!(?:about|and|as|at|because|but|by|for|from|if|in|like|near|of|on|or|since|so|that|to|too|"
    r"when|where|which|while|who|with)\b)[a-z]"
)
"""A word behind a noun that may go on with it: "a jazz film fan"."""


def _is(kind: str, candidates: SpanCandidate, span: str, nouns: Nouns) -> bool:
    if kind == "e":
        return candidates.event
    if kind == "w":
        return candidates.event and _WISH.search(span) is not None
    if kind == "n":
        return candidates.event and _DENIAL.search(span) is not None
    if candidates.event:
        return False
    if kind == "m":
        return _MOMENT.search(span) is not None
    if _MOMENT.search(span) or span.lower().split()[-1] in ("little", "bit", "lot"):
        return False
    if kind == "p":
        return _named(span, nouns.places) or span[:1].isupper()
    return kind == "t" or _named(span, nouns.located if kind == "l" else nouns.tools)


def _named(phrase: str, nouns: frozenset[str]) -> bool:
    """Return whether the last word of a noun phrase is one of some nouns, in either number."""
    word = phrase.lower().split()[-1]
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return not forms.isdisjoint(nouns)


LEAST = 0.35  # How sure the tagger is at least of an event

LONGEST_EVENT = 14  # Words of an event that is linked; a longer one holds several

LONG_WORD = 6  # Letters of an event of one word

MOST = 5  # Words of a thing; a longer run is a list or no English

_MARKS = " .,!?;:"
_JOINS = re.compile(
    r"\s+(?:after|and|as|because|before|but|cause|cuz|if|or|since|so|that|then|unless|until|when|"
    r"whenever|while)$",
    re.IGNORECASE,
)
"""Words of the next event that a tagger includes: "brushed my teeth before"."""
_SAY_NOTHING = """
thing things something anything nothing everything one ones way lot lots kind sort bit time times
today tonight yesterday tomorrow hi hello hey ok okay yes yeah no oh well thanks bye sir please
right sure stuff guy guys people day days year years wow mr mrs lol haha ha ouch plus hmm omg btw
happens happened something
"""
_NAMES_NOTHING = """
i you he she we they me him her us them not to and or but if so that's thats its it's i'm don't dont
didn't didnt can't theyve youve weve ive although though think know see say guess
get got go like just do one two first all
"""
_EMPTY = frozenset(_SAY_NOTHING.split())
_LIGHT = _EMPTY.union(
    *(en.MODIFIERS, en.AUXILIARIES, en.BE, en.DETERMINERS, en.INDEFINITE),
    *(en.PREPOSITIONS, en.QUESTIONS, en.THINGS, _NAMES_NOTHING.split()),
)
"""Words that name neither what happens nor who or what it happens to."""
_NO_PART = en.DETERMINERS | en.PREPOSITIONS | en.ADVERBS | en.NOT_VERBS
"""Words that are no part of a noun phrase."""
_ASKS = re.compile(
    r"(?:do|does|did|are|is|was|were|have|has|can|could|would|will)\s+(?:i|you|we|"
    r"they|he|she|it|that|this|there|the)\b|(?:what|how|why|who|where)\b",
    re.IGNORECASE,
)


class Joined(NamedTuple):
    """A conversation as one text."""

    text: str  # turns in order with one blank between them, without speakers
    starts: tuple[int, ...]  # where each turn begins in it

    def turn(self, place: Place) -> int:
        """Return the turn that a stretch begins in."""
        return bisect_right(self.starts, place[0]) - 1

    def span(self, place: Place) -> Span:
        """Return a stretch as offsets into the turn that it begins in."""
        turn = self.turn(place)
        return Span(turn, place[0] - self.starts[turn], place[1] - self.starts[turn])


class SpanCandidate(NamedTuple):
    """A stretch of a conversation, and whether it is an event; else it is a thing."""

    place: Place
    event: bool


def join_turns(conversation: Conversation) -> Joined:
    """Return a conversation as one text with the places of its turns."""
    starts, at = [], 0
    for turn in conversation.turns:
        starts.append(at)
        at += len(turn.text) + 1
    return Joined(" ".join(turn.text for turn in conversation.turns), tuple(starts))


def slices(reading: TextReading, joined: Joined) -> list[tuple[str, HiddenStates]]:
    """Return text and token states of each turn, out of those of the conversation."""
    bounds = [*joined.starts, len(joined.text) + 1]
    turns = []
    for start, end in pairwise(bounds):
        first, last = reading.tokens((start, end - 1))
        places = zip(reading.starts[first:last], reading.ends[first:last], strict=True)
        offsets = [(int(a) - start, int(b) - start) for a, b in places]
        turns.append(
            (joined.text[start : end - 1], HiddenStates(reading.states[first:last], offsets))
        )
    return turns


def find_candidates(
    joined: Joined, tag: Callable[[Sequence[str]], Sequence[tuple[TaggedSpan, ...]]]
) -> list[SpanCandidate]:
    """Return the span candidates of a conversation, in order, events before the things in them."""
    bounds = [*joined.starts, len(joined.text) + 1]
    turns = [joined.text[start : end - 1] for start, end in pairwise(bounds)]
    is_event: dict[Place, bool] = {}
    for start, text, events in zip(joined.starts, turns, tag(turns), strict=True):
        for span in events:
            place = _trimmed(text, span.start, span.end)
            # A short word, such as "like", says too little to be linked; "overslept" does not.
            words = text[slice(*place)]
            if span.confidence >= LEAST and (" " in words or len(words) >= LONG_WORD):
                is_event[start + place[0], start + place[1]] = True
        for a, b in things(text):
            is_event.setdefault((start + a, start + b), False)
    order = sorted(is_event, key=lambda place: (place[0], -place[1]))
    return [SpanCandidate(place, is_event[place]) for place in order]


def informative(text: str, candidate: SpanCandidate) -> bool:
    """Return whether a stretch says enough to be linked: an event that is no question, a thing."""
    span = text[slice(*candidate.place)]
    words = [word for word in re.findall(r"[\w'’-]+", span.lower()) if word not in _LIGHT]
    if not candidate.event:
        return bool(words)
    return bool(words) and len(span.split()) <= LONGEST_EVENT and not _ASKS.match(span)


def _trimmed(text: str, start: int, end: int) -> Place:
    """Drop what is no part of an event: "I missed the bus because" is "missed the bus"."""
    span = text[start:end]
    subject = re.match(r"(?:(?:I|we|you|he|she|it|they|that|there)\s+)?", span, re.IGNORECASE)
    skipped = subject.end() if subject else 0
    trimmed = _JOINS.sub("", span[skipped:].rstrip(_MARKS)).rstrip(_MARKS)
    return start + skipped, start + skipped + len(trimmed)


def things(text: str) -> list[Place]:
    """Return the noun phrases of a text without their articles.

    >>> text = "The big red car is in my garage"
    >>> [text[a:b] for a, b in things(text)]
    ['big red car', 'garage']
    """
    phrases: list[Place] = []
    run: list[re.Match[str]] = []
    after = ""
    for match in [*SPAN_TOKENS.finditer(text), None]:
        if match is not None and _belongs(match[0], after, opened=bool(run)):
            run.append(match)
            after = match[0].lower()
            continue
        after = "" if match is None else match[0].lower()
        while run and not _ends(run[-1][0]):
            run.pop()
        if run and len(run) <= MOST and not (len(run) == 1 and run[0][0].lower() in _EMPTY):
            phrases.append((run[0].start(), run[-1].end()))
        run = []
    return phrases


def _belongs(word: str, after: str, *, opened: bool) -> bool:
    """Return whether a word is part of a noun phrase, by itself or by the word before it."""
    lower = word.lower()
    if lower in _NO_PART:
        return False
    if not word[0].isalpha() or "'" in word or len(word) < 3:
        return False
    readings = look_up(lower).readings
    if "v" in readings:
        # "party" and "go" are both nouns and verbs: the word before decides. Behind a noun, what
        # ends like a verb is one: "my dog barks".
        inflected = lower.endswith(("s", "ed", "ing")) and "a" not in look_up(after).readings
        open_noun = after in en.DETERMINERS or (opened and not inflected)
        return ("n" in readings or "a" in readings) and open_noun
    return "n" in readings or "a" in readings or (not readings and word[0].isupper())


def _ends(word: str) -> bool:
    readings = look_up(word.lower()).readings
    return "n" in readings or not readings
