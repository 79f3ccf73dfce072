"""Fluency: are the words of a reply in their place?"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain
from grice.records import FeatureEvidence, Judgement, Span
from grice.text.language import other_language
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Response

NEUTRAL = 0.5
WEIGHT, SHIFT = -2.09, 0.71
"""Log odds of no slip, per nat, by the recipe ``dialogue.fluency`` of grice-research.

The shift is such that one in twenty replies of people without a slip is below one half.
"""
FEWEST_WORDS = 3
"""Less says too little of how somebody writes."""
WORDS = 3
"""Words shown as evidence."""
LONGEST = 40
"""Characters of a word that are shown."""
_WORD = re.compile(r"\S+")


class PieceSurprise(NamedTuple):
    """A piece, ``text[start:end]``, and by how many nats it is less likely here than at large."""

    start: int
    end: int
    nats: float


@runtime_checkable
class FluencyReader(Protocol):
    """Says which pieces of a text are out of place."""

    identity: str

    def surprises(self, texts: Sequence[str]) -> list[list[PieceSurprise]]:
        """Return the pieces of each text in order; 0 nats for one that is not out of place."""
        ...


@metric(
    "fluency",
    version="2",
    summary="Are the words of this reply in their place?",
    judges="response",
    models={"model": "bundle:fluency"},
    protocols={"model": FluencyReader},
    source=(
        "A one-sided form of SLOR (Pauls and Klein, 2012; Lau, Clark and Lappin, 2017) by a small "
        "language model of dialogue."
    ),
    neutral=NEUTRAL,
    example=Example(["How was it?", "It was a lovely day and we had a lot of fun."], 0.5, 1.0),
)
def fluency(responses: Sequence[Response], *, model: FluencyReader) -> Iterator[Judgement]:
    """Return how fluent a reply is, 0 to 1, whatever was said before it.

    A word costs where it is less likely in its place than it is at large: rare words cost nothing,
    words that are misplaced, dropped, doubled or bent do. Each sentence is read by itself. The mean
    over all pieces of words counts. The evidence is the words that are most out of place.

    When to use it:
        To find replies that are broken: scrambled, cut, or written word by word.

    When not to:
        To compare people's styles, or where jargon, names or code stand in replies, which a small
        model takes for slips; or to judge what fluent replies say. How fluent people find whole
        replies it follows no better than shortness does. One slip in four is told.
    """

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        read = model.surprises([response.text for response in judged])
        return map(_judgement, judged, read)

    return judge_or_abstain(responses, _unreadable, judge, NEUTRAL)


def _unreadable(response: Response) -> str | None:
    if not response.text.strip():
        return "the reply is empty"
    if reason := unreadable(response.text):
        return f"the reply {reason}"
    if language := other_language(response.text):
        return f"the reply is in {language}, not in English"
    if len(response.text.split()) < FEWEST_WORDS:
        return f"fewer than {FEWEST_WORDS} words say too little"
    return None


def _judgement(response: Response, pieces: Sequence[PieceSurprise]) -> Judgement:
    mean = mean_nats(pieces)
    words = _words(response.text, pieces)
    odds = WEIGHT * mean + SHIFT
    shown = sorted(words, key=lambda word: -word[1])[:WORDS]
    evidence = (
        FeatureEvidence("nats out of place, mean of a piece", mean, WEIGHT * mean),
        *(
            FeatureEvidence(
                f"out of place: {match[0][:LONGEST]!r}",
                nats,
                span=Span(response.turn, match.start(), match.end()),
            )
            for match, nats in shown
        ),
    )
    value = 1 / (1 + math.exp(-odds))
    low = value < NEUTRAL and shown
    reason = f"{evidence[1].name} ({shown[0][1]:.1f} nats)" if low else "its words are in place"
    return Judgement(value, "ok", reason, (), evidence)


def mean_nats(pieces: Sequence[PieceSurprise]) -> float:
    """Return by how many nats a piece is out of place on average; 0 where there is none."""
    return sum(piece.nats for piece in pieces) / max(1, len(pieces))


def _words(text: str, pieces: Sequence[PieceSurprise]) -> list[tuple[re.Match[str], float]]:
    """Return the words that are out of place, each with its worst piece."""
    words = list(_WORD.finditer(text))
    starts = [word.start() for word in words]
    worst = [0.0] * len(words)
    for piece in pieces:
        place = bisect_right(starts, piece.start) - 1
        worst[place] = max(worst[place], piece.nats)
    return [(word, nats) for word, nats in zip(words, worst, strict=True) if nats > 0]
