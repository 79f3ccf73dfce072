"""Contradiction: does a reply contradict earlier turns of its speaker?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from grice.data import Evidence, Judgement, Response, TurnEvidence
from grice.metrics.common import feature_at, own_turns, unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import (
    Encoder,
    EntailmentClassifier,
    Pair,
    PairClassifier,
    encode_distinct,
)
from grice.numeric import np
from grice.text import cached
from grice.text.content import Stretch, content_words, sentences
from grice.text.lexicon import antonym_table, look_up
from grice.text.tokens import PLAIN_WORDS_AND_NUMBERS
from grice.text.wordlists import words_of

HALF = 0.5  # below this value a reply is reported as contradicting
NEUTRAL = 1.0  # value of a reply without earlier statements of its speaker
SHIFT = -0.5
"""Of the log odds of the pair that most likely contradicts, since many pairs are compared.

Set so that one in twenty replies of people is below one half (recipe of the model).
"""
FEWEST_WORDS = 3  # less ("Yes.", "Thank you.") states nothing
NEAREST = 4  # earlier sentences that a sentence is compared with, those of the largest cosine
WORDS = 3  # words shown as evidence
NEGATIONS = words_of("not no never none nobody nothing nowhere neither nor without cannot hardly")
NUMBERS = words_of(
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred "
    "thousand once twice half"
)


def _reason_against(response: Response) -> str | None:
    if reason := unscorable_reply(response):
        return reason
    if not _statements(response.text):
        return "the reply contains no statement"
    return None if _earlier(response) else "no earlier statement by the same speaker"


@metric(
    "contradiction",
    version="3",
    summary="Is this reply consistent with its speaker's earlier turns?",
    judges="response",
    models={"encoder": "builtin:encoder", "model": "builtin:contradiction"},
    accepts={"model": ("contradiction", "entailment")},
    protocols={"encoder": Encoder, "model": PairClassifier},
    source=(
        "Decomposable attention (Parikh et al., EMNLP 2016) over pairs of sentences, as DECODE "
        "(Nie et al., ACL 2021) compares a reply with each earlier turn."
    ),
    neutral=NEUTRAL,
    abstain=_reason_against,
    reader="encoder",
    example=Example(
        ["I have two dogs.", "How nice! Tell me more.", "I do not have any dogs."], 0.0, 0.5
    ),
)
def contradiction(
    responses: Sequence[Response], *, encoder: Encoder, model: PairClassifier
) -> Iterator[Judgement]:
    """Return the consistency of a reply with earlier turns of its speaker, 0 to 1.

    Every sentence of the reply that states something is compared with those of the speaker's
    earlier sentences that are nearest to it by the cosine of their vectors, and the pair that most
    likely contradicts decides. The probability of the shipped classifier counts half unless the
    two share half of their content words and differ in a negation, in numbers or in words of
    opposite meaning. A model of entailment gives the probability of its label ``contradiction``.
    The evidence is the earlier turn, the two sentences, and, for a reported contradiction, the
    words that contribute most to it.

    When to use it:
        To find replies that say the opposite of an earlier turn: negations, antonyms, other
        numbers, colours or places.

    When not to:
        To find contradictions that need inference ("I am vegan" before "I had a steak"),
        or that contradict the partner, whose turns are not compared.
    """

    def chances(texts: Iterable[tuple[str, str]]) -> Iterator[float]:
        pairs = [Pair((left,), right) for left, right in texts]
        if isinstance(model, EntailmentClassifier):
            return iter(model.label_chances("contradiction", pairs))
        return (
            _shifted(chance) if in_conflict(pair.left[0], pair.right) else _shifted(chance) / 2
            for pair, chance in zip(pairs, model.classify(pairs), strict=True)
        )

    compared = _compared(responses, encoder)
    values = chances((two.before.text, two.now.text) for every in compared for two in every)
    worst = [_worst([(next(values), two) for two in every]) for every in compared]
    # Of each flagged pair the sentence without each of its words, too.
    words = [_without_words(w.two.now) if w.chance > HALF else [] for w in worst]
    without = chances(
        (w.two.before.text, rest) for w, own in zip(worst, words, strict=True) for _, rest in own
    )
    for response, each, own in zip(responses, worst, words, strict=True):
        effects = [(each.chance - next(without), word) for word, _ in own]
        effects.sort(key=lambda pair: -pair[0])
        shown = [(effect, word) for effect, word in effects[:WORDS] if effect > 0]
        yield _judgement(response.turn, each, shown)


class _Two(NamedTuple):
    """A sentence of a reply paired with an earlier one of its speaker, in the turn ``position``."""

    position: int
    before: Stretch
    now: Stretch


def _statements(text: str) -> list[Stretch]:
    """Return the sentences that state something: no questions, and no single words."""
    return [
        sentence
        for sentence in sentences(text)
        if len(sentence.text.split()) >= FEWEST_WORDS and not sentence.text.endswith("?")
    ]


def _earlier(response: Response) -> list[tuple[int, Stretch]]:
    """Return the statements of the speaker's earlier turns, each with the index of its turn."""
    return [(i, said) for i, turn in own_turns(response) for said in _statements(turn.text)]


def _compared(responses: Sequence[Response], encoder: Encoder) -> list[list[_Two]]:
    """Pair each sentence of a reply with the earlier ones that are nearest to it."""
    stated = [(_statements(response.text), _earlier(response)) for response in responses]
    every = (s for now, before in stated for s in (*now, *(earlier for _, earlier in before)))
    vectors = encode_distinct(encoder, [sentence.text for sentence in every])
    compared = []
    for statements, before in stated:
        matrix = np.stack([vectors[sentence.text] for _, sentence in before])
        compared.append(
            [
                _Two(before[i][0], before[i][1], now)
                for now in statements
                for i in np.argsort(-(matrix @ vectors[now.text]), kind="stable")[:NEAREST]
            ]
        )
    return compared


class _Terms(NamedTuple):
    """Lemmas of a sentence's content words, its numbers and names, and whether it is negated."""

    words: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    negated: bool


@cached
def _terms(text: str) -> _Terms:
    first, *others = [word[0] for word in PLAIN_WORDS_AND_NUMBERS.finditer(text)] or [""]
    every = {word.lower() for word in (first, *others)} - {""}
    numbers = {word for word in every if word[0].isdigit() or word in NUMBERS}
    words = {word.text for word in content_words(text)} - numbers - NEGATIONS
    negated = not every.isdisjoint(NEGATIONS) or any(w.endswith(("n't", "n’t")) for w in every)
    names = {word.lower() for word in others if word[0].isupper()} & words
    return _Terms(
        frozenset(map(_lemma, words)), frozenset(numbers), frozenset(map(_lemma, names)), negated
    )


def _lemma(word: str) -> str:
    known = look_up(word)
    if known.lemmas:
        return known.lemmas[0]
    return word[:-1] if word.endswith("s") and look_up(word[:-1]).readings else word


def in_conflict(before: str, now: str) -> bool:
    """Return whether two sentences on one subject differ in a negation, number or opposite.

    >>> in_conflict("I have two dogs.", "I do not have any dogs.")
    True
    >>> in_conflict("It does. Only bleach would end it.", "Yes, the juice of two lemons.")
    False
    """
    first, second = _terms(before), _terms(now)
    shared = first.words & second.words
    if first.names - second.words and second.names - first.words:  # of other subjects
        return False
    if not shared or 2 * len(shared) < min(len(first.words), len(second.words)):
        return False
    others = first.numbers - second.numbers and second.numbers - first.numbers
    alike = len(shared) > 1 or first.words == second.words
    return (
        first.negated != second.negated
        or bool(alike and others)
        or any(_opposites(word) & second.words for word in first.words - shared)
    )


@cached
def _opposites(word: str) -> frozenset[str]:
    return frozenset(" ".join(antonym_table().get((word, kind), "") for kind in "nvar").split())


def _shifted(chance: float) -> float:
    if chance in (0.0, 1.0):
        return chance
    return 1 / (1 + (1 - chance) / chance * math.exp(-SHIFT))


class _Worst(NamedTuple):
    """The two sentences that most likely contradict, and the probability for another turn."""

    chance: float
    two: _Two
    elsewhere: float


def _worst(chances: Sequence[tuple[float, _Two]]) -> _Worst:
    chance, two = max(chances, key=lambda pair: pair[0])
    others = [other for other, pair in chances if pair.position != two.position]
    return _Worst(chance, two, max(others, default=0.0))


def _without_words(sentence: Stretch) -> list[tuple[Stretch, str]]:
    """Return each word of a sentence, at its place in the turn, and the sentence without it."""
    start, _, text = sentence
    return [
        (Stretch(start + word.start(), start + word.end(), word[0]),
         text[: word.start()] + text[word.end() :])
        for word in PLAIN_WORDS_AND_NUMBERS.finditer(text)
    ]  # fmt: skip


def _judgement(turn: int, worst: _Worst, words: Sequence[tuple[float, Stretch]]) -> Judgement:
    chance, two, elsewhere = worst
    evidence: tuple[Evidence, ...] = (
        TurnEvidence(two.position, elsewhere - chance),
        feature_at("contradicting span", chance, turn, two.now),
        feature_at("earlier span", chance, two.position, two.before),
        *(feature_at(f"word: {word.text!r}", effect, turn, word) for effect, word in words),
    )
    if chance > HALF:
        reason = f"contradicts turn {two.position} (probability {chance:.2f})"
    else:
        limit = f"probability {chance:.2f}, threshold {HALF:.2f}"
        reason = f"no clear contradiction of turn {two.position} ({limit})"
    return Judgement(1 - chance, "ok", reason, (), evidence)
