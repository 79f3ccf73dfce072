"""What two scores of one item rest on, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.records import Evidence, FeatureEvidence, TripleEvidence, TurnEvidence

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EvidenceChange", "evidence_changes"]

MOST = 5
"""How many changes are kept per item."""


class EvidenceChange(msgspec.Struct, frozen=True):
    """One piece of evidence that differs.

    Attributes:
        what: The piece in words.
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
    first, second = (dict(map(_piece, side)) for side in (baseline, other))
    changes = [
        EvidenceChange(*key, first.get(key), second.get(key))
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]
    return tuple(sorted(changes, key=_size, reverse=True)[:MOST])


def _size(change: EvidenceChange) -> float:
    return abs((change.other or 0.0) - (change.baseline or 0.0))


def _piece(evidence: Evidence) -> tuple[tuple[str, str], float]:
    match evidence:
        case TripleEvidence(triple=triple, plausibility=plausibility):
            said = f"{triple.head} —{triple.relation}→ {triple.tail}"
            return (said, "plausibility"), plausibility
        case TurnEvidence(turn=turn, effect=effect):
            return (f"turn {turn}", "effect"), effect
        case FeatureEvidence(name=name, value=value, effect=effect):
            return ((name, "value"), value) if effect is None else ((name, "effect"), effect)
