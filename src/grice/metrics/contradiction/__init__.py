"""Contradiction: does a reply say the opposite of what its speaker said before?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain, nothing_to_judge
from grice.records import FeatureEvidence, Judgement, Span, TurnEvidence
from grice.runtime.protocols import Encoder, Pair, PairClassifier
from grice.text.content import sentences
from grice.text.script import unreadable
from grice.text.tokens import PLAIN_CONTRACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.numeric import Array
    from grice.records import Response
    from grice.text.content import Stretch

__all__ = ["SHIFT", "contradiction"]

HALF = 0.5
"""Below it a reply is said to contradict."""
NEUTRAL = 1.0
"""What nobody said before cannot be contradicted."""
SHIFT = 0.83
"""Of the log odds of the pair that most likely contradicts, since many pairs are compared.

By ``grice_research.recipes.contradiction.threshold``: one in twenty replies that contradict nothing
is below one half.
"""
FEWEST_WORDS = 3
"""Less ("Yes.", "Thank you.") states nothing."""
NEAREST = 4
"""Earlier sentences that a sentence is compared with, those of the largest cosine."""
WORDS = 3
"""Words shown as evidence."""


@metric(
    "contradiction",
    version="1",
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
        texts = list(dict.fromkeys(text for response in judged for text in _texts(response)))
        vectors = dict(zip(texts, encoder.encode(texts), strict=True))
        compared = [list(_nearest(response, vectors)) for response in judged]
        pairs = [_pair(two) for every in compared for two in every]
        chances = map(_shifted, model.classify(pairs))
        cut = encoder.truncated([response.text for response in judged])
        for response, every, long in zip(judged, compared, cut, strict=True):
            worst = _worst([(next(chances), two) for two in every])
            yield _judgement(response, worst, model, ("truncated",) if long else ())

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


def _texts(response: Response) -> Iterator[str]:
    for sentence in _statements(response.text):
        yield sentence.text
    for _, sentence in _earlier(response):
        yield sentence.text


def _nearest(response: Response, vectors: Mapping[str, Array]) -> Iterator[_Two]:
    """Yield each sentence of a reply beside the earlier ones that are nearest to it."""
    import numpy as np  # metrics are listed without it

    earlier = list(_earlier(response))
    before = np.stack([vectors[sentence.text] for _, sentence in earlier])
    for now in _statements(response.text):
        for i in np.argsort(-(before @ vectors[now.text]), kind="stable")[:NEAREST]:
            position, sentence = earlier[i]
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


def _judgement(
    response: Response, worst: _Worst, model: PairClassifier, flags: tuple[str, ...]
) -> Judgement:
    chance, two, elsewhere = worst
    before = Span(two.position, two.before.start, two.before.end)
    now = Span(response.turn, two.now.start, two.now.end)
    contradicts = chance > HALF
    evidence = (
        TurnEvidence(two.position, elsewhere - chance),
        FeatureEvidence("contradicts", chance, span=now),
        FeatureEvidence("said before", chance, span=before),
        *(_words(response.turn, chance, two, model) if contradicts else ()),
    )
    what = "contradicts" if contradicts else "goes with"
    reason = f"{what} turn {two.position} (probability {chance:.2f})"
    return Judgement(1 - chance, "ok", reason, flags, evidence)


def _words(turn: int, chance: float, two: _Two, model: PairClassifier) -> Iterator[FeatureEvidence]:
    """Yield the words of a sentence without which it would contradict least."""
    text, start = two.now.text, two.now.start
    words = list(PLAIN_CONTRACTIONS.finditer(text))
    without = [Pair((two.before.text,), text[: w.start()] + text[w.end() :]) for w in words]
    effects = [chance - _shifted(other) for other in model.classify(without)]
    for effect, word in sorted(zip(effects, words, strict=True), key=lambda e: -e[0])[:WORDS]:
        if effect > 0:
            span = Span(turn, start + word.start(), start + word.end())
            yield FeatureEvidence(f"word: {word[0]!r}", effect, span=span)
