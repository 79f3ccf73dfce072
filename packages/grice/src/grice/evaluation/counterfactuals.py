"""Single changes of knowledge and of text that raise a low score, tried out.

Each change is really made and the reply judged again: one of its triples is added to the
knowledge, as a file of your own would, or the words of one event are left out of the reply.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from grice.evaluation.compare import worded
from grice.knowledge.lookup import StoredKnowledge
from grice.knowledge.own import with_triple
from grice.perturb.declaration import with_texts
from grice.records import Conversation, FeatureEvidence, Score, Span, Triple, TripleEvidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.records import Evidence
    from grice.scoring.loaded import LoadedMetric

TRIED = 12
"""Most changes tried of each kind: one per triple of a reply, the least plausible first."""


class Counterfactual(msgspec.Struct, frozen=True):
    """A change that was tried, and the score with it.

    Attributes:
        kind: ``knowledge`` if a triple is added, ``text`` if words are left out of the reply.
    """

    kind: Literal["knowledge", "text"]
    change: str
    value: float
    lift: float
    span: Span | None = None


def counterfactuals(
    loaded: LoadedMetric, conversation: Conversation, score: Score
) -> list[Counterfactual]:
    """Return the single changes that lift a score, the largest lift first.

    Args:
        loaded: The metric that gave the score.
        conversation: The conversation it was given in.
        score: A score of one reply, with its evidence.

    Returns:
        Nothing if the reply was not judged, has no evidence with a place, or no single change
        lifts its score.
    """
    if score.status != "ok" or score.value is None or score.turn is None:
        return []
    talk = msgspec.structs.replace(conversation, targets=(score.turn,))
    tried = [*_with_triples(loaded, talk, score), *_without_words(loaded, talk, score)]
    lifting = [change for change in tried if change.lift > 1e-9]
    return sorted(lifting, key=lambda change: (-change.lift, change.change))


def best_of_each_kind(changes: Iterable[Counterfactual]) -> list[Counterfactual]:
    """Return the first change of each kind: the one that lifts most, as they come ordered."""
    best: dict[str, Counterfactual] = {}
    for change in changes:
        best.setdefault(change.kind, change)
    return list(best.values())


def _with_triples(
    loaded: LoadedMetric, talk: Conversation, score: Score
) -> Iterator[Counterfactual]:
    stores = {
        name: model for name, model in loaded.models.items() if isinstance(model, StoredKnowledge)
    }
    pieces = [piece for piece in score.evidence if isinstance(piece, TripleEvidence)]
    pieces.sort(key=lambda piece: piece.plausibility)
    for piece in pieces[:TRIED]:
        head, relation, tail = piece.triple.head, piece.triple.relation, piece.triple.tail
        for parameter, knowledge in stores.items():
            more = with_triple(knowledge, Triple(head, relation, tail, source="what if"))
            (scores,) = loaded.with_models(**{parameter: more}).score([talk])
            yield from _lifts("knowledge", worded(piece.triple), scores, score, None)


def _without_words(
    loaded: LoadedMetric, talk: Conversation, score: Score
) -> Iterator[Counterfactual]:
    assert score.turn is not None
    text = talk.turns[score.turn].text
    places = [span for piece in score.evidence for span in _spans(piece)]
    own = list(dict.fromkeys(span for span in places if span.turn == score.turn))[:TRIED]
    changed = [with_texts(talk, {score.turn: without(text, span)}) for span in own]
    for span, scores in zip(own, loaded.score(changed), strict=True):
        yield from _lifts("text", text[span.start : span.end], scores, score, span)


def _spans(piece: Evidence) -> list[Span]:
    """Return the places in the text that a piece rests on, the tail of a triple before its head."""
    match piece:
        case TripleEvidence(triple=triple):
            return [span for span in (triple.tail_span, triple.head_span) if span is not None]
        case FeatureEvidence(span=Span() as span):
            return [span]
    return []


def without(text: str, span: Span) -> str:
    """Return a text without a stretch of it, the blanks closed up.

    >>> without("I won, so I smiled.", Span(0, 10, 18))
    'I won, so.'
    """
    joined = f"{text[: span.start].rstrip()} {text[span.end :].lstrip()}"
    return re.sub(r"\s+([.,!?;:])", r"\1", joined).strip()


def _lifts(
    kind: Literal["knowledge", "text"],
    words: str,
    scores: Sequence[Score],
    before: Score,
    span: Span | None,
) -> Iterator[Counterfactual]:
    assert before.value is not None
    for after in scores:
        if after.turn == before.turn and after.status == "ok" and after.value is not None:
            yield Counterfactual(kind, words, after.value, after.value - before.value, span)
