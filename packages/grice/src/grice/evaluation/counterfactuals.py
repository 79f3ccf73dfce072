"""Single changes of knowledge and of text that raise a low score.

Each change is made and the reply scored again: one of its triples is added to the knowledge, or
the words of one event are removed from the reply.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from grice.data import Conversation, FeatureEvidence, Score, Span, Triple, TripleEvidence
from grice.evaluation.compare import worded
from grice.knowledge.store import StoredKnowledge
from grice.perturb import with_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.scoring.loaded import LoadedMetric

TRIED = 12
"""Most changes of each kind, those of the least plausible triples first."""


class Counterfactual(msgspec.Struct, frozen=True):
    """A change, and the score with it: a triple is added, or words are removed from the reply."""

    kind: Literal["knowledge", "text"]
    change: str
    value: float
    lift: float
    span: Span | None = None


def counterfactuals(
    loaded: LoadedMetric, conversation: Conversation, score: Score
) -> list[Counterfactual]:
    """Return the single changes that raise the score of a reply, the largest gain first."""
    if score.status != "ok" or score.value is None or score.turn is None:
        return []
    talk = msgspec.structs.replace(conversation, targets=(score.turn,))
    tried: list[Counterfactual] = []

    def add(
        kind: Literal["knowledge", "text"],
        words: str,
        scores: Sequence[Score],
        span: Span | None = None,
    ) -> None:
        for after in scores:
            if after.turn == score.turn and after.status == "ok" and after.value is not None:
                lift = after.value - (score.value or 0.0)
                tried.append(Counterfactual(kind, words, after.value, lift, span))

    pieces = [piece for piece in score.evidence if isinstance(piece, TripleEvidence)]
    pieces.sort(key=lambda piece: piece.plausibility)
    for piece in pieces[:TRIED]:
        head, relation, tail = piece.triple.head, piece.triple.relation, piece.triple.tail
        for parameter, knowledge in loaded.models.items():
            if isinstance(knowledge, StoredKnowledge):
                what_if = Triple(head, relation, tail, source="what if")
                more = knowledge.with_triples([what_if], "more")
                (scores,) = loaded.with_models(**{parameter: more}).score([talk])
                add("knowledge", worded(piece.triple), scores)
    text = talk.turns[score.turn].text
    spans: list[Span | None] = []
    for evidence in score.evidence:
        if isinstance(evidence, TripleEvidence):
            spans += [evidence.triple.tail_span, evidence.triple.head_span]
        elif isinstance(evidence, FeatureEvidence):
            spans.append(evidence.span)
    own = list(dict.fromkeys(span for span in spans if span and span.turn == score.turn))[:TRIED]
    changed = [with_texts(talk, {score.turn: without(text, span)}) for span in own]
    for span, scores in zip(own, loaded.score(changed), strict=True):
        add("text", text[span.start : span.end], scores, span)
    return sorted(
        (change for change in tried if change.lift > 1e-9),
        key=lambda change: (-change.lift, change.change),
    )


def best_of_each_kind(changes: Iterable[Counterfactual]) -> list[Counterfactual]:
    """Return the first change of each kind."""
    best: dict[str, Counterfactual] = {}
    for change in changes:
        best.setdefault(change.kind, change)
    return list(best.values())


def without(text: str, span: Span) -> str:
    """Return a text without a span, the blanks closed up.

    >>> without("I won, so I smiled.", Span(0, 10, 18))
    'I won, so.'
    """
    joined = f"{text[: span.start].rstrip()} {text[span.end :].lstrip()}"
    return re.sub(r"\s+([.,!?;:])", r"\1", joined).strip()
