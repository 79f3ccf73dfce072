"""Repetition: does a reply repeat earlier turns of its speaker?"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from grice.data import Evidence, FeatureEvidence, Judgement, Response, Turn, TurnEvidence
from grice.metrics.common import feature_at, own_turns, probability, unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Encoder, encode_distinct
from grice.numeric import Array, np
from grice.text import cached
from grice.text.content import Stretch, content_words, sentences, without_blanks
from grice.text.tokens import WORDS_NUMBERS_AND_MARKS
from grice.text.wordlists import OF_NO_CONTENT, pattern_of, words_of

HALF = 0.5  # below this value a reply is reported as repeating
NEUTRAL = 1.0  # value of a reply without earlier turns of its speaker
WEIGHT_TURN, WEIGHT_SENTENCE, WEIGHT_WORDS, SHIFT = 6.5, 3.4, 2.7, -4.35
"""Log odds of a repetition, by logistic regression on crossed pairs of replies.

The shift is such that one in twenty of their good replies is below one half.
"""
FEWEST_WORDS = 3  # less ("Yes.", "Thank you.") may be repeated
WORDS = 5  # words shown as evidence
WEIGHTS, BIAS = (-0.59, 3.34, 2.53, 1.82, 3.11, 3.66, 10.0), -2.13
"""Log odds of a repair after a complaint, by ``_signs`` (fitted as in commit a7921dde).

The last weight is set, not fitted: after "Could you repeat that?" a reply may say it again.
"""
READ = 1000  # characters of a complaint and of a reply that are looked at for signs of a repair
STEM = 5  # letters by which two words are the same: "deliver", "delivery"
_COMPLAINS = "objects to a turn"
_UNCLEAR = "did not understand"
_REQUESTS = "asks to hear it again"
_ADMITS = "admits an error"
"""Patterns of ``data/said.txt``."""
_OF_SELF = re.compile(r"\b(?:i|my|we)\b", re.IGNORECASE)
_NEGATIONS = words_of("no not never none neither cannot")
_NUMBERS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "thirty": "30",
    "forty": "40", "fifty": "50", "hundred": "100", "third": "3", "fourth": "4", "fifth": "5",
    "sixth": "6", "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10",
}  # fmt: skip
_SAYS_NOTHING = OF_NO_CONTENT | words_of(
    "sorry apologies apologise apologize apology mistake error wrong right understand see course "
    "sure thank thanks concern confusion inconvenience correct hear asking asked ask said say told "
    "repeating answer oops bad question listening patience mean meant great absolutely please"
)
"""Closed classes, and words of an acknowledgement."""


def _reason_against(response: Response) -> str | None:
    if reason := unscorable_reply(response):
        return reason
    if len(response.text.split()) < FEWEST_WORDS:
        return f"fewer than {FEWEST_WORDS} words, too few to compare"
    return None if any(own_turns(response)) else "no earlier turn by the same speaker"


@metric(
    "repetition",
    version="2",
    summary="Is this reply free of repetitions of its speaker's earlier turns?",
    judges="response",
    models={"encoder": "builtin:encoder"},
    protocols={"encoder": Encoder},
    source="Our own.",
    neutral=NEUTRAL,
    default=True,
    abstain=_reason_against,
    reader="encoder",
    example=Example(
        ["I grew up near the sea.", "How nice!", "My childhood home was by the sea."], 0.0, 0.5
    ),
)
def repetition(responses: Sequence[Response], *, encoder: Encoder) -> Iterator[Judgement]:
    """Return the novelty of a reply relative to its speaker's earlier turns, 0 to 1.

    Whole turns and single sentences are compared by the cosine of their vectors, and by the share
    of the reply's content words that occur there. The evidence is the earlier turn, the two
    sentences, and the words that they share. Turns of others are not compared: repeating a
    partner's words is not a flaw.

    A reply after a complaint, a correction or a question about the speaker's last turn ("No, four
    people", "What do you mean?") may repeat its words as a repair: if it admits the error, replaces
    a number, a name or the word that was corrected, or is mostly new, its value is the probability
    of a repair, and the evidence names the complaint. A reply that only repeats keeps its low
    value, with or without an apology.

    When to use it:
        To find replies that repeat a statement or question, verbatim or paraphrased.

    When not to:
        To compare conversations of different length: longer histories contain more similar turns.
        Staying on a topic lowers the value, too.
    """
    spoken = [[(i, turn.text) for i, turn in own_turns(response)] for response in responses]
    texts = dict.fromkeys(text for own in spoken for _, text in own)
    texts |= dict.fromkeys(response.text for response in responses)
    parts = (sentence.text for text in texts for sentence in _compared(text))
    vectors = encode_distinct(encoder, [*texts, *parts])
    turns = {text: _Turn.of(text, vectors) for text in texts}
    for response, own in zip(responses, spoken, strict=True):
        reply = turns[response.text]
        yield _judgement(response, [_likeness(reply, turns[text], i, text) for i, text in own])


class _Turn(NamedTuple):
    """The parts of a turn that are compared: vectors, sentences and content words."""

    vector: Array
    sentences: Sequence[Stretch]
    matrix: Array
    words: frozenset[str]

    @classmethod
    def of(cls, text: str, vectors: Mapping[str, Array]) -> _Turn:
        compared = _compared(text)
        matrix = np.stack([vectors[sentence.text] for sentence in compared])
        words = frozenset(word.text for word in content_words(text))
        return cls(vectors[text], compared, matrix, words)


class _Likeness(NamedTuple):
    """Cosines of a reply and an earlier turn, and of their nearest sentences."""

    position: int  # index of the earlier turn
    turn: float
    sentence: float
    in_reply: Stretch
    before: Stretch
    words: frozenset[str]  # its content words
    text: str


def _likeness(reply: _Turn, turn: _Turn, position: int, text: str) -> _Likeness:
    cosines = reply.matrix @ turn.matrix.T
    i, j = divmod(int(cosines.argmax()), len(turn.sentences))
    pair = reply.sentences[i], turn.sentences[j]
    whole, best = float(reply.vector @ turn.vector), float(cosines[i, j])
    return _Likeness(position, whole, best, *pair, turn.words, text)


def _compared(text: str) -> Sequence[Stretch]:
    """Return the sentences long enough to count as repetition, or all if none is."""
    every = sentences(text)
    return [s for s in every if len(s.text.split()) >= FEWEST_WORDS] or every


def _judgement(response: Response, alike: Sequence[_Likeness]) -> Judgement:
    nearest = max(alike, key=lambda two: WEIGHT_TURN * two.turn + WEIGHT_SENTENCE * two.sentence)
    words = content_words(response.text)
    value = _value(alike, words)
    without = _value([likeness for likeness in alike if likeness is not nearest], words)
    repair = _repair(response, nearest, value)
    if value < HALF and repair and repair.span:
        complaint = f"after the complaint in turn {repair.span.turn}"
        reason = f"repairs turn {nearest.position} {complaint} (probability {repair.value:.2f})"
    else:
        what = "repeats" if value < HALF else "most similar to"
        reason = f"{what} turn {nearest.position} (cosine {nearest.turn:.2f})"
    value = max(value, repair.value) if repair else value
    shared = [word for word in words if word.text in nearest.words]
    evidence: tuple[Evidence, ...] = (
        TurnEvidence(nearest.position, min(0.0, value - without)),
        feature_at("repeated span", nearest.sentence, response.turn, nearest.in_reply),
        feature_at("earlier span", nearest.sentence, nearest.position, nearest.before),
        *(feature_at(f"shared word: {w.text!r}", 1.0, response.turn, w) for w in shared[:WORDS]),
        *([repair] if repair else []),
    )
    return Judgement(value, "ok", reason, (), evidence)


def _value(alike: Sequence[_Likeness], words: Sequence[Stretch]) -> float:
    """Return one less the probability of a repetition of any of the earlier turns."""
    if not alike:
        return NEUTRAL
    before = frozenset().union(*(likeness.words for likeness in alike))
    known = sum(word.text in before for word in words) / max(1, len(words))
    odds = SHIFT + WEIGHT_WORDS * known
    odds += WEIGHT_TURN * max(likeness.turn for likeness in alike)
    odds += WEIGHT_SENTENCE * max(likeness.sentence for likeness in alike)
    return probability(-odds)


def _repair(response: Response, nearest: _Likeness, value: float) -> FeatureEvidence | None:
    """Return the probability of a repair and the words of the complaint, if it is above the value.

    A repair gives what a complaint about an earlier turn asked for.
    """
    complaint = _complaint(response)
    if complaint is None:
        return None
    position, text, where = complaint
    signs = _signs(response, nearest, value, text)
    chance = probability(math.fsum([BIAS, *map(operator.mul, WEIGHTS, signs)]))
    if chance < max(value, HALF):
        return None
    return feature_at(f"repair after turn {position}", chance, position, where)


def _complaint(response: Response) -> tuple[int, str, Stretch] | None:
    """Return the complaint about the speaker's last turn: its index, its text and its words."""
    later: list[tuple[int, Turn]] = []
    for position, turn in zip(
        reversed(response.positions), reversed(response.history), strict=True
    ):
        if turn.speaker == response.speaker:
            found = ((i, t.text, _objection(t.text, turn.text)) for i, t in later)
            return next(((i, text, where) for i, text, where in found if where), None)
        later.append((position, turn))
    return None


def _objection(text: str, before: str) -> Stretch | None:
    """Return the words that object to the text before, correct it or ask what it means."""
    head = text[:READ]
    for pattern in (_COMPLAINS, _UNCLEAR, _REQUESTS):
        if match := pattern_of(pattern).search(head):
            return without_blanks(match.start(), match[0])
    said = _terms(head).keys()
    # "Flying?" and "Beef is not vegan"
    doubts = "?" in head and len(head.split()) <= FEWEST_WORDS
    denies = "not" in said and "?" not in before and not _OF_SELF.search(head)
    found = (doubts or denies) and _terms(before).keys() & said - {"not"}
    return without_blanks(0, head) if found else None


def _signs(
    response: Response, nearest: _Likeness, value: float, complaint: str
) -> tuple[float, ...]:
    """Return the signs of a repair, in the order of their weights.

    Log odds of a repetition (0 if a number or name is replaced), share of new words, whether a
    number or name is replaced, whether a word of the complaint replaces another, whether the reply
    admits an error, share of new words where an explanation was asked for, and whether the
    complaint asked for the last turn again.
    """
    reply, asked, before = map(_terms, (response.text, complaint, nearest.text))
    own = {term for _, turn in own_turns(response) for term in _terms(turn.text)}
    new = sum(term not in own for term in reply) / max(1, len(reply))
    gone = before.keys() - reply
    figure = any(reply[term] for term in reply.keys() - before) and any(map(before.get, gone))
    word = (
        not figure
        and not asked.keys().isdisjoint(_terms(nearest.in_reply.text).keys() - before)
        and not gone.isdisjoint(_terms(nearest.before.text))
    )
    head = complaint[:READ]
    last = max(position for position, _ in own_turns(response))
    return (
        0.0 if figure else math.log(1 / value - 1),
        new,
        float(figure),
        float(word),
        float(pattern_of(_ADMITS).search(response.text[:READ]) is not None),
        new if pattern_of(_UNCLEAR).search(head) else 0.0,
        float(pattern_of(_REQUESTS).search(head) is not None and last == nearest.position),
    )


@cached
def _terms(text: str) -> Mapping[str, bool]:
    """Return the stems of the words that say something, and whether each is a number or a name."""
    terms: dict[str, bool] = {}
    opens = True
    for match in WORDS_NUMBERS_AND_MARKS.finditer(text):
        word = match[0].lower().replace("’", "'")
        stem, _, ending = word.partition("'")
        if word[0].isdigit():
            terms[word.rstrip(ascii_lowercase)] = True
        elif word in _NUMBERS:
            terms[_NUMBERS[word]] = True
        elif word in _NEGATIONS or ending == "t":
            terms.setdefault("not", False)
        elif len(word) > 1 and _SAYS_NOTHING.isdisjoint((word, stem)):
            key = stem[:STEM]
            terms[key] = terms.get(key, False) or (match[0][0].isupper() and not opens)
        opens = match[0] in ".!?…"
    return terms
