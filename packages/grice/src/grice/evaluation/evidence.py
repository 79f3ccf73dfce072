"""Pieces of evidence: their identity, their words, and how two scores differ in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.records import Evidence, FeatureEvidence, Span, Triple, TripleEvidence, TurnEvidence

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

MOST = 5
"""How many changes are kept per item."""


class EvidenceChange(msgspec.Struct, frozen=True):
    """One piece of evidence that differs.

    Attributes:
        measure: What its two values are.
        baseline: Its value in the first score; None if it is not there.
        other: Its value in the second; likewise.
    """

    what: str
    measure: str
    baseline: float | None
    other: float | None


def evidence_changes(
    baseline: Sequence[Evidence], other: Sequence[Evidence]
) -> tuple[EvidenceChange, ...]:
    """Return the pieces whose value differs or that one side alone has, largest change first."""
    first, second = (dict(map(_measured, side)) for side in (baseline, other))
    changes = [
        EvidenceChange(*key, first.get(key), second.get(key))
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]
    return tuple(sorted(changes, key=_size, reverse=True)[:MOST])


def _size(change: EvidenceChange) -> float:
    return abs((change.other or 0.0) - (change.baseline or 0.0))


def _measured(piece: Evidence) -> tuple[tuple[str, str], float]:
    match piece:
        case TripleEvidence(plausibility=plausibility):
            return (describe(piece), "plausibility"), plausibility
        case TurnEvidence(effect=effect):
            return (describe(piece), "effect"), effect
        case FeatureEvidence(name=name, value=value, effect=effect):
            return ((name, "value"), value) if effect is None else ((name, "effect"), effect)


def worded(triple: Triple) -> str:
    """Return a triple in words."""
    return f"{triple.head} —{triple.relation}→ {triple.tail}"


def describe(piece: Evidence) -> str:
    """Return a piece in words."""
    match piece:
        case TripleEvidence(triple=triple):
            return worded(triple)
        case TurnEvidence(turn=turn):
            return f"turn {turn}"
        case FeatureEvidence(name=name):
            return name


def kind(piece: Evidence) -> str:
    """Return the kind of a piece as files name it."""
    return str(type(piece).__struct_config__.tag)


def identity(piece: Evidence) -> Hashable:
    """Return what two pieces that measure the same thing have in common."""
    match piece:
        case TripleEvidence(triple=triple):
            return ("triple", triple)
        case TurnEvidence(turn=turn):
            return ("turn", turn)
        case FeatureEvidence(name=name, span=span):
            return ("feature", name, span)


def spans(piece: Evidence) -> Iterator[tuple[str, Span]]:
    """Yield the places in the text that a piece rests on, each with its name."""
    match piece:
        case TripleEvidence(triple=triple):
            for name, span in (("head", triple.head_span), ("tail", triple.tail_span)):
                if span is not None:
                    yield name, span
        case FeatureEvidence(span=Span() as span):
            yield "measured", span
