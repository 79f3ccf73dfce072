"""What a source of commonsense knowledge can be asked, whether it looks tails up or writes them.

Every call takes a whole batch and gives one answer per item in the same order; an answer depends
on its own item alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.generative import Likelihood
    from grice.records import KnownTail, Triple


@runtime_checkable
class KnowledgeBase(Protocol):
    """Knows which tails follow from a head under a relation."""

    identity: str
    """Names the content and the arithmetic; equal identities give equal answers."""

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return for each head and relation at most ``k`` different tails, the best first.

        Args:
            heads: Events, such as ``PersonX bakes a cake``.

        Returns:
            Known tails. ``head`` is the head the tail was found under and ``head_similarity`` its
            likeness to the head asked for, 1 where the tail was written for exactly that head;
            ``tail_similarity`` is 0, for nothing was said yet that the tail could be like;
            ``source`` says where the tail comes from. Nothing known gives an empty list.

        Raises:
            InputError: For a relation the schema does not have (with the nearest name), a head
                without a word, or heads and relations of different number.
        """
        ...

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return how well each triple agrees with what is known, 0 to 1.

        Spans and sources are not read. A triple about which nothing is known gives 0.

        Raises:
            InputError: For a relation the schema does not have.
        """
        ...


@runtime_checkable
class TailProbabilities(Protocol):
    """Knows how probable a tail is: a knowledge base that generates tails."""

    def likelihoods(self, triples: Sequence[Triple]) -> list[Likelihood | None]:
        """Return how probable each tail is; None for a triple without a head or a tail.

        Raises:
            InputError: For a relation the schema does not have.
        """
        ...
