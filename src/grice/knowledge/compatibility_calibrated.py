"""The networks of the bundle, calibrated: 0.5 is as likely a known triple as a mismatched one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.compatibility import checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.compatibility import Sources
    from grice.records import Triple

__all__ = ["compatibility"]


def compatibility(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return how sensible each triple is, with the most similar known tail where there is one."""
    checked(triples)
    return sources.head.plausibility(triples, sources.nearest)
