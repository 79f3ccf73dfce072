"""Contradiction: does a reply say the opposite of what its speaker said before?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain, nothing_to_judge
from grice.models.protocols import Encoder, Pair, PairClassifier
from grice.records import FeatureEvidence, Judgement, Span, TurnEvidence
from grice.text.content import Stretch, sentences
from grice.text.script import unreadable
from grice.text.tokens import PLAIN_WORDS_AND_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.numeric import Array
    from grice.records import Evidence, Response

__all__ = ["SHIFT", "contradiction"]

HALF = 0.5
"""Below it a reply is said to contradict."""
NEUTRAL = 1.0
"""What nobody said before cannot be contradicted."""
SHIFT = 0.83
"""Of the log odds of the pair that most likely contradicts, since many pairs are compared.

Set so that one in twenty replies that contradict nothing is below one half.
"""
FEWEST_WORDS = 3
"""Less ("Yes.", "Thank you.") states nothing."""
NEAREST = 4
"""Earlier sentences that a sentence is compared with, those of the largest cosine."""
WORDS = 3
"""Words shown as evidence."""


@metric(
    "contradiction",
    version="2",
    summary="Does this reply go with what its speaker said before?",
    judges="response",
    models={"encoder": "bundle:encoder", "model": "bundle:contradiction"},
    accepts={"model": ("contradiction",)},
    protocols={"encoder": Encoder, "model": PairClassifier},
    source=(
        "Decomposable attention (Parikh et al., EMNLP 2016) over pairs of sentences, as DECODE "
        "(Nie et al., ACL 2021) compares a reply with each earlier turn."
    ),
    neutral=NEUTRAL,
    example=Example(
        ["I have two dogs.", "How nice! Tell me more.", "I do not have any dogs."], 0.0, 0.5
    ),
)
def contradiction(
    responses: Sequence[Response], *, encoder: Encoder, model: PairClassifier
) -> Iterator[Judgement]:
    """Return how well a reply goes with what its speaker said before, 0 to 1.

    Every sentence of the reply that states something is compared with those of the speaker's
    earlier sentences that are nearest to it by the cosine of their vectors, and the pair that most
    likely contradicts counts. The evidence is the earlier turn, the two sentences, and, of a reply
    that is said to contradict, the words without which it would be less so.

    When to use it:
        To find replies that say the opposite of an earlier turn: negations, antonyms, other
        numbers, colours or places.

    When not to:
        To find contradictions that take a step of reasoning ("I am vegan" before "I had a steak"),
        or that contradict the partner: what the partner said of himself is not compared.
    """

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        stated = list(map(_stated, judged))
        texts = list(dict.fromkeys(text for each in stated for text in _texts(each)))
        vectors = dict(zip(texts, encoder.encode(texts), strict=True))
        compared = [list(_nearest(each, vectors)) for each in stated]
        chances = map(_shifted, model.classify([_pair(two) for every in compared for two in every]))
        worst = [_worst([(next(chances), two) for two in every]) for every in compared]
        words = _words([each for each in worst if each.chance > HALF], model)
        cut = encoder.truncated([response.text for response in judged])
        for response, each, long in zip(judged, worst, cut, strict=True):
            shown = next(words) if each.chance > HALF else ()
            yield _judgement(response.turn, each, shown, ("truncated",) if long else ())

    return judge_or_abstain(responses, _nothing_to_compare, judge, NEUTRAL)


class _Two(NamedTuple):
    """A sentence of a reply beside an earlier one of its speaker.

    Attributes:
        position: Index of the earlier turn in the conversation.
        before: The earlier sentence.
        now: The sentence of the reply.
    """

    position: int
    before: Stretch
    now: Stretch


def _nothing_to_compare(response: Response) -> str | None:
    if reason := nothing_to_judge(response):
        return reason
    if not _statements(response.text):
        return "it states nothing that could contradict"
    return None if any(_earlier(response)) else "its speaker stated nothing before it"


def _statements(text: str) -> list[Stretch]:
    """Return the sentences that state something: no questions, and no single words."""
    return [
        sentence
        for sentence in sentences(text)
        if len(sentence.text.split()) >= FEWEST_WORDS and not sentence.text.endswith("?")
    ]


def _earlier(response: Response) -> Iterator[tuple[int, Stretch]]:
    """Yield what the speaker stated before, each with the place of its turn."""
    for position, turn in zip(response.positions, response.history, strict=True):
        if turn.speaker == response.speaker and unreadable(turn.text) is None:
            for sentence in _statements(turn.text):
                yield position, sentence


class _Stated(NamedTuple):
    """What a reply states, and what its speaker stated before, each with the place of its turn."""

    now: list[Stretch]
    before: list[tuple[int, Stretch]]


def _stated(response: Response) -> _Stated:
    return _Stated(_statements(response.text), list(_earlier(response)))


def _texts(stated: _Stated) -> Iterator[str]:
    for sentence in stated.now:
        yield sentence.text
    for _, sentence in stated.before:
        yield sentence.text


def _nearest(stated: _Stated, vectors: Mapping[str, Array]) -> Iterator[_Two]:
    """Yield each sentence of a reply beside the earlier ones that are nearest to it."""
    import numpy as np  # metrics are listed without it

    before = np.stack([vectors[sentence.text] for _, sentence in stated.before])
    for now in stated.now:
        for i in np.argsort(-(before @ vectors[now.text]), kind="stable")[:NEAREST]:
            position, sentence = stated.before[i]
            yield _Two(position, sentence, now)


def _shifted(chance: float) -> float:
    """Return a probability whose log odds are shifted."""
    if chance in (0.0, 1.0):
        return chance
    return 1 / (1 + (1 - chance) / chance * math.exp(-SHIFT))


def _pair(two: _Two) -> Pair:
    return Pair((two.before.text,), two.now.text)


class _Worst(NamedTuple):
    """The two sentences that most likely contradict, with that probability.

    Attributes:
        elsewhere: The probability that the reply contradicts another turn.
    """

    chance: float
    two: _Two
    elsewhere: float


def _worst(chances: Sequence[tuple[float, _Two]]) -> _Worst:
    chance, two = max(chances, key=lambda pair: pair[0])
    others = [other for other, pair in chances if pair.position != two.position]
    return _Worst(chance, two, max(others, default=0.0))


def _words(
    flagged: Sequence[_Worst], model: PairClassifier
) -> Iterator[list[tuple[float, Stretch]]]:
    """Yield of each pair the words without which it would contradict least, with the effect."""
    words = [_words_of(each.two.now) for each in flagged]
    others = map(
        _shifted,
        model.classify(
            [
                Pair((each.two.before.text,), _without(each.two.now, word))
                for each, own in zip(flagged, words, strict=True)
                for word in own
            ]
        ),
    )
    for each, own in zip(flagged, words, strict=True):
        effects = [(each.chance - next(others), word) for word in own]
        effects.sort(key=lambda effect: -effect[0])
        yield [(effect, word) for effect, word in effects[:WORDS] if effect > 0]


def _words_of(sentence: Stretch) -> list[Stretch]:
    """Return the words of a sentence, at their places in the turn."""
    return [
        Stretch(sentence.start + word.start(), sentence.start + word.end(), word[0])
        for word in PLAIN_WORDS_AND_NUMBERS.finditer(sentence.text)
    ]


def _without(sentence: Stretch, word: Stretch) -> str:
    before, after = word.start - sentence.start, word.end - sentence.start
    return sentence.text[:before] + sentence.text[after:]


def _judgement(
    turn: int,
    worst: _Worst,
    words: Iterable[tuple[float, Stretch]],
    flags: tuple[str, ...],
) -> Judgement:
    chance, two, elsewhere = worst
    evidence: list[Evidence] = [
        TurnEvidence(two.position, elsewhere - chance),
        FeatureEvidence("contradicts", chance, span=_span(turn, two.now)),
        FeatureEvidence("said before", chance, span=_span(two.position, two.before)),
    ]
    for effect, word in words:
        evidence.append(FeatureEvidence(f"word: {word.text!r}", effect, span=_span(turn, word)))
    if chance > HALF:
        reason = f"contradicts turn {two.position} (probability {chance:.2f})"
    else:
        limit = f"{chance:.2f}, threshold {HALF:.2f}"
        reason = f"no clear contradiction of turn {two.position} ({limit})"
    return Judgement(1 - chance, "ok", reason, flags, tuple(evidence))


def _span(turn: int, stretch: Stretch) -> Span:
    return Span(turn, stretch.start, stretch.end)
