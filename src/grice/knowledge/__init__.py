"""Relation schemas, known triples, and how plausible a triple is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grice.knowledge.plausibility import TripleHead
    from grice.knowledge.store import KnowledgeStore
    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Encoder

__all__ = ["open_plausibility", "open_store"]


def open_plausibility(bundle: Bundle, encoder: Encoder) -> TripleHead:
    """Return the networks of a bundle of kind ``triple-head``."""
    from grice.knowledge.plausibility import TripleHead

    return TripleHead(bundle, encoder)


def open_store(bundle: Bundle) -> KnowledgeStore:
    """Return the known triples of a bundle of kind ``knowledge``."""
    from grice.knowledge.store import KnowledgeStore

    return KnowledgeStore(bundle)
