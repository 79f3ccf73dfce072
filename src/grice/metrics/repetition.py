"""Repetition: does a reply say or ask again what its speaker said before?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain, nothing_to_judge
from grice.records import FeatureEvidence, Judgement, Span, TurnEvidence
from grice.runtime.protocols import Encoder
from grice.text.content import content_words, sentences
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.numeric import Array
    from grice.records import Evidence, Response, Turn
    from grice.text.content import Stretch

HALF = 0.5
"""Below it a reply is said to repeat."""
NEUTRAL = 1.0
"""What nobody said before cannot be said again."""
WEIGHT_TURN, WEIGHT_SENTENCE, WEIGHT_WORDS, SHIFT = 6.5, 3.4, 2.7, -4.35
"""Log odds of a repetition, by logistic regression on crossed pairs of replies.

The shift is such that one in twenty of their good replies is below one half.
"""
FEWEST_WORDS = 3
"""Less ("Yes.", "Thank you.") may be said again."""
WORDS = 5
"""Words shown as evidence."""


@metric(
    "repetition",
    version="1",
    summary="Does this reply say something that its speaker has not said before?",
    judges="response",
    models={"encoder": "bundle:encoder"},
    protocols={"encoder": Encoder},
    source="Our own.",
    neutral=NEUTRAL,
    default=True,
    example=Example(
        ["I grew up near the sea.", "How nice!", "My childhood home was by the sea."], 0.0, 0.5
    ),
)
def repetition(responses: Sequence[Response], *, encoder: Encoder) -> Iterator[Judgement]:
    """Return how new a reply is beside the earlier turns of its speaker, 0 to 1.

    Whole turns and single sentences are compared by the cosine of their vectors, and by the share
    of the reply's content words that stood there before. The evidence is the earlier turn, the two
    sentences, and the words that they share. Turns of others are not compared: to take up what a
    partner said is no flaw.

    When to use it:
        To find replies that tell or ask again, in the same words or in others.

    When not to:
        To compare conversations of different length: the more was said before, the more there is
        to be like. A topic that is only kept lowers the value too.
    """

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        texts = list(dict.fromkeys(text for response in judged for text in _texts(response)))
        vectors = dict(zip(texts, encoder.encode(texts), strict=True))
        return (_judgement(response, vectors, encoder) for response in judged)

    return judge_or_abstain(responses, _nothing_to_compare, judge, NEUTRAL)


class _Likeness(NamedTuple):
    """How alike a reply and an earlier turn are.

    Attributes:
        position: Index of the earlier turn in the conversation.
        turn: Cosine of the two turns.
        sentence: The largest cosine of two of their sentences.
        in_reply: That sentence of the reply.
        before: That sentence of the earlier turn.
        words: The earlier turn's content words.
    """

    position: int
    turn: float
    sentence: float
    in_reply: Stretch
    before: Stretch
    words: frozenset[str]

    @property
    def alike(self) -> float:
        """What the two cosines add to the log odds."""
        return WEIGHT_TURN * self.turn + WEIGHT_SENTENCE * self.sentence


def _nothing_to_compare(response: Response) -> str | None:
    if reason := nothing_to_judge(response):
        return reason
    if len(response.text.split()) < FEWEST_WORDS:
        return f"fewer than {FEWEST_WORDS} words may be said again"
    return None if any(_own(response)) else "its speaker said nothing before it"


def _own(response: Response) -> Iterator[tuple[int, Turn]]:
    """Yield the speaker's earlier turns that can be read, each with its place."""
    for position, turn in zip(response.positions, response.history, strict=True):
        if turn.speaker == response.speaker and unreadable(turn.text) is None:
            yield position, turn


def _texts(response: Response) -> Iterator[str]:
    for text in (response.text, *(turn.text for _, turn in _own(response))):
        yield text
        yield from (sentence.text for sentence in _compared(text))


def _compared(text: str) -> Sequence[Stretch]:
    """Return the sentences that must not be said again, or all if none is long enough."""
    every = sentences(text)
    return [s for s in every if len(s.text.split()) >= FEWEST_WORDS] or every


def _judgement(response: Response, vectors: Mapping[str, Array], encoder: Encoder) -> Judgement:
    alike = _likenesses(response, vectors)
    nearest = max(alike, key=lambda likeness: likeness.alike)
    words = content_words(response.text)
    value = _value(alike, words)
    without = _value([likeness for likeness in alike if likeness is not nearest], words)
    shared = [word for word in words if word.text in nearest.words]
    evidence: tuple[Evidence, ...] = (
        TurnEvidence(nearest.position, value - without),
        _feature("says again", nearest.sentence, response.turn, nearest.in_reply),
        _feature("said before", nearest.sentence, nearest.position, nearest.before),
        *(_feature(f"same word: {w.text!r}", 1.0, response.turn, w) for w in shared[:WORDS]),
    )
    flags = ("truncated",) if any(encoder.truncated([response.text])) else ()
    return Judgement(value, "ok", _reason(value, nearest), flags, evidence)


def _likenesses(response: Response, vectors: Mapping[str, Array]) -> list[_Likeness]:
    import numpy as np  # metrics are listed without it

    stretches = _compared(response.text)
    mine = np.stack([vectors[sentence.text] for sentence in stretches])
    alike = []
    for position, turn in _own(response):
        before = _compared(turn.text)
        cosines = mine @ np.stack([vectors[sentence.text] for sentence in before]).T
        i, j = divmod(int(cosines.argmax()), len(before))
        whole = float(vectors[response.text] @ vectors[turn.text])
        words = frozenset(word.text for word in content_words(turn.text))
        alike.append(
            _Likeness(position, whole, float(cosines[i, j]), stretches[i], before[j], words)
        )
    return alike


def _value(alike: Sequence[_Likeness], words: Sequence[Stretch]) -> float:
    """Return one less the probability of a repetition of any of the earlier turns."""
    if not alike:
        return NEUTRAL
    before = frozenset().union(*(likeness.words for likeness in alike))
    known = sum(word.text in before for word in words) / max(1, len(words))
    odds = SHIFT + WEIGHT_WORDS * known
    odds += WEIGHT_TURN * max(likeness.turn for likeness in alike)
    odds += WEIGHT_SENTENCE * max(likeness.sentence for likeness in alike)
    return 1 / (1 + math.exp(odds))


def _feature(name: str, value: float, turn: int, where: Stretch) -> FeatureEvidence:
    return FeatureEvidence(name, value, span=Span(turn, where.start, where.end))


def _reason(value: float, nearest: _Likeness) -> str:
    what = "repeats" if value < HALF else "nearest to"
    return f"{what} turn {nearest.position} (cosine {nearest.turn:.2f})"
