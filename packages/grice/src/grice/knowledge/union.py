"""Several sources of knowledge asked as one: what somebody wrote down beside what is generated."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.knowledge.protocols import KnowledgeBase
from grice.models.registry import NoSettings, dependencies_of, model_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.bundle import Bundle
    from grice.models.registry import Opener
    from grice.records import KnownTail, Triple


class KnowledgeUnion:
    """A :class:`~grice.knowledge.protocols.KnowledgeBase` made of others."""

    def __init__(self, parts: Sequence[KnowledgeBase]) -> None:
        if not parts:
            raise InputError("a union of knowledge needs at least one source")
        self._parts = tuple(parts)
        self.identity = "+".join(part.identity for part in parts)

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return at most ``k`` tails, taken from the sources in turn, each once."""
        each = [part.tails(heads, relations, k) for part in self._parts]
        return [_in_turn(lists, k) for lists in zip(*each, strict=True)]

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return the mean of what the sources say, 0 to 1."""
        each = [part.plausibility(triples) for part in self._parts]
        return [sum(values) / len(values) for values in zip(*each, strict=True)]


def _in_turn(lists: Sequence[list[KnownTail]], k: int) -> list[KnownTail]:
    distinct: dict[str, KnownTail] = {}
    for row in zip_longest(*lists):
        for tail in row:
            if tail is not None:
                distinct.setdefault(" ".join(tail.tail.lower().split()), tail)
    return list(distinct.values())[:k]


@model_kind("knowledge-union", answers="knowledge", protocol=KnowledgeBase, settings=NoSettings)
def knowledge_union(bundle: Bundle, _: NoSettings, opener: Opener) -> KnowledgeUnion:
    """Open all parts."""
    parts = dependencies_of(bundle.card)
    return KnowledgeUnion(
        [opener.part(bundle, reference, KnowledgeBase, "knowledge") for reference in parts]
    )
