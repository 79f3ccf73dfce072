"""The heads of this room with the encoder they read, opened from a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.triplets.connectives import Nouns
from grice.triplets.heads import LinkHead, LinkHeads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grice.runtime.bundle import Bundle
    from grice.runtime.embedded import Hidden
    from grice.runtime.memo import MemoEncoder
    from grice.runtime.protocols import TaggedSpan

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["TripletEncoder", "TripletModels", "open_triplets"]


class TripletEncoder(Protocol):
    """What the heads read: token states of texts, and one vector of each."""

    @property
    def identity(self) -> str:
        """Names weights and arithmetic."""

    def hidden(self, texts: Sequence[str]) -> Sequence[Hidden]:
        """Return the token states of each text."""

    def encode(self, texts: Sequence[str]) -> Sequence[Array]:
        """Return a vector of each text."""


class TripletModels(NamedTuple):
    """Heads and encoder.

    Attributes:
        links: Which spans are linked, and how.
        level: Log odds from which on a triplet counts as entailed.
        encoder: What they read.
        levels: Log odds of each relation that only few pairs of everyday talk are above.
        tagger: Gives a tagger of events for token states; None where none is needed.
        nouns: What nouns name, for connectives such as "in".
    """

    links: LinkHeads
    level: float
    encoder: TripletEncoder
    levels: tuple[float, ...] = ()
    tagger: Callable[[Callable[[Sequence[str]], Sequence[Hidden]]], EventTagger] | None = None
    nouns: Nouns = Nouns()


class EventTagger(Protocol):
    """Finds events in texts."""

    def tag(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        """Return the events of each text."""


def open_triplets(bundle: Bundle, encoder: MemoEncoder, events: Bundle) -> TripletModels:
    """Return the models of a bundle of kind ``triplet-heads``.

    Args:
        bundle: The opened bundle, with ``links.npz`` and perhaps ``nouns.txt``.
        encoder: The encoder the heads were fitted on.
        events: The bundle of kind ``span-head`` whose events links are looked for between.
    """
    from grice.runtime.spans import SpanHead

    def tagger(hidden: Callable[[Sequence[str]], Sequence[Hidden]]) -> EventTagger:
        return SpanHead(events.card.settings, events.folder, hidden, events.digest)

    level = bundle.card.settings.get("level")
    if not isinstance(level, int | float):
        raise BundleError(f"{bundle.folder / 'card.toml'}: settings.level: a number is needed")
    links = LinkHeads([LinkHead(bundle.path("links.npz"))])
    levels = bundle.card.settings.get("levels")
    if not isinstance(levels, list) or len(levels) != len(links.relations):
        raise BundleError(
            f"{bundle.folder / 'card.toml'}: settings.levels: {len(links.relations)} numbers, one "
            f"per relation, are needed"
        )
    found = tuple(float(str(one)) for one in levels)
    return TripletModels(
        links, float(level), encoder, levels=found, tagger=tagger, nouns=_nouns(bundle)
    )


def _nouns(bundle: Bundle) -> Nouns:
    """Return the nouns of a bundle: a line of words for each kind, in the order of the fields."""
    if "nouns.txt" not in bundle.card.files:
        return Nouns()
    lines = bundle.path("nouns.txt").read_text("utf-8").splitlines()
    return Nouns(*(frozenset(line.split()) for line in lines))
