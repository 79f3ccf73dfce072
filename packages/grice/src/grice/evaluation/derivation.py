"""Whether a piece of evidence follows from the text, from the metric and from the knowledge.

Nothing of a file is believed: its places must lie in the text, the metric must read the same there
with the same figures, and what it calls known must stand in the knowledge with that source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from grice.evaluation.evidence import identity, spans, worded
from grice.records import FeatureEvidence, TripleEvidence, TurnEvidence

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from grice.records import Evidence, KnownTail


@runtime_checkable
class _Sourced(Protocol):
    """Knowledge that can say where a triple comes from."""

    def origin(self, head: str, relation: str, tail: str) -> str | None: ...


def problems(
    piece: Evidence,
    texts: Sequence[str],
    derived: Mapping[Hashable, Evidence],
    models: Mapping[str, object],
    tolerance: float,
) -> list[str]:
    """Return why a piece does not follow; nothing if it does.

    Args:
        piece: What a file says.
        texts: The turns of the conversation.
        derived: What the metric says now, by identity.
        models: Its models.
        tolerance: Largest difference of two figures that count as the same.
    """
    return [
        *_misplaced(piece, texts),
        *_different(piece, derived, tolerance),
        *_unsourced(piece, models),
    ]


def _misplaced(piece: Evidence, texts: Sequence[str]) -> Iterator[str]:
    for name, span in spans(piece):
        if not 0 <= span.turn < len(texts):
            yield f"{name} in turn {span.turn}, there are {len(texts)}"
        elif not 0 <= span.start < span.end <= len(texts[span.turn]):
            yield (
                f"{name} at characters {span.start} to {span.end} of turn {span.turn}, which has "
                f"{len(texts[span.turn])}"
            )
        elif not texts[span.turn][span.start : span.end].strip():
            yield f"{name} at a blank place"
    if isinstance(piece, TurnEvidence) and not 0 <= piece.turn < len(texts):
        yield f"turn {piece.turn}, there are {len(texts)}"


def _different(
    piece: Evidence, derived: Mapping[Hashable, Evidence], tolerance: float
) -> Iterator[str]:
    """Yield how a piece differs from what the metric says now."""
    fresh = derived.get(identity(piece))
    if fresh is None:
        yield _underived(piece, derived)
        return
    for name, stated, now in _compared(piece, fresh):
        if not same(stated, now, tolerance):
            yield f"{name} {figures(stated, now)}"
    if isinstance(piece, TripleEvidence) and isinstance(fresh, TripleEvidence):
        old, new = _known(piece.known), _known(fresh.known)
        if old != new:
            yield f"nearest known {old}, found {new}"


def _underived(piece: Evidence, derived: Mapping[Hashable, Evidence]) -> str:
    if isinstance(piece, TripleEvidence):
        for other in derived.values():
            if isinstance(other, TripleEvidence) and [*spans(piece)] == [*spans(other)]:
                return f"at these places the text gives: {worded(other.triple)}"
    return "does not follow from the text"


def _unsourced(piece: Evidence, models: Mapping[str, object]) -> Iterator[str]:
    """Yield that what a piece calls known is not in the knowledge, or has another source."""
    if not isinstance(piece, TripleEvidence) or piece.known is None:
        return
    known, relation = piece.known, piece.triple.relation
    stores = [model for model in models.values() if isinstance(model, _Sourced)]
    origins = [store.origin(known.head, relation, known.tail) for store in stores]
    if stores and known.source not in origins:
        source = next((origin for origin in origins if origin is not None), None)
        where = "is not known" if source is None else f"its source is {source}"
        yield f"known {_known(known)}: {where}"


def _compared(piece: Evidence, fresh: Evidence) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the figures of two pieces with one identity, by name."""
    match piece, fresh:
        case TripleEvidence(), TripleEvidence():
            yield "plausibility", piece.plausibility, fresh.plausibility
            if piece.known and fresh.known and piece.known.tail == fresh.known.tail:
                for name in ("head_similarity", "tail_similarity"):
                    yield name, getattr(piece.known, name), getattr(fresh.known, name)
        case TurnEvidence(), TurnEvidence():
            yield "effect", piece.effect, fresh.effect
        case FeatureEvidence(), FeatureEvidence():
            yield "value", piece.value, fresh.value
            yield "effect", piece.effect, fresh.effect


def _known(known: KnownTail | None) -> str:
    return "nothing" if known is None else f"{known.head} → {known.tail} ({known.source})"


def figures(stated: float | None, derived: float | None) -> str:
    """Return two figures that differ, with as many digits as show it."""
    short = [f"{value:.6g}" if value is not None else "none" for value in (stated, derived)]
    if short[0] == short[1]:
        short = [repr(stated), repr(derived)]
    return f"{short[0]}, found {short[1]}"


def same(stated: float | None, derived: float | None, tolerance: float) -> bool:
    """Return whether two figures are the same, or both are missing."""
    if stated is None or derived is None:
        return stated is derived
    return abs(stated - derived) <= tolerance
