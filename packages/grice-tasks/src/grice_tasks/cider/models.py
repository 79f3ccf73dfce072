"""The heads of this room with the encoder they read, opened from a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.models.cache import CachedEncoder
from grice.models.loader import Settings, model_type, read_settings
from grice.models.spans import SpanHead, SpanSettings
from grice_tasks.cider.connectives import Nouns
from grice_tasks.cider.heads import LinkHead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.embedded import Hidden
    from grice.models.loader import ModelLoader
    from grice.models.protocols import SpanTagger
    from grice_tasks.cider.heads import Sides

    Array: TypeAlias = NDArray[np.float32]


class TripletEncoder(Protocol):
    """Input of the heads: token states of texts, and one vector of each."""

    @property
    def identity(self) -> str:
        """Names weights and arithmetic."""

    def hidden(self, texts: Sequence[str]) -> Sequence[Hidden]:
        """Return the token states of each text."""

    def encode(self, texts: Sequence[str]) -> Sequence[Array]:
        """Return a vector of each text."""


class Links(Protocol):
    """Says how spans of a text stand to each other."""

    relations: tuple[str, ...]
    both: bool
    """Whether it reads each span also on its own."""

    def index(self, relation: str) -> int:
        """Return the place of a relation among the numbers."""

    def in_context(self) -> Links | None:
        """Return the part that reads spans in their text alone; None if there is none."""

    def __call__(self, sides: Sides, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return the numbers of each pair, shape ``(pairs, 3, relations)``.

        They are the log odds that it is entailed, how good a tail it is, and which relation it is.
        """


class TripletModels(NamedTuple):
    """Heads and encoder.

    Attributes:
        level: Log odds from which on a triplet counts as entailed.
        levels: Log odds of each relation that only few pairs of everyday talk are above.
        tagger: Gives a tagger of events for token states; None where none is needed.
    """

    links: Links
    level: float
    encoder: TripletEncoder
    levels: tuple[float, ...] = ()
    tagger: Callable[[Callable[[Sequence[str]], Sequence[Hidden]]], SpanTagger] | None = None
    nouns: Nouns = Nouns()


class TripletSettings(Settings, frozen=True):
    """Of a bundle of kind ``triplet-heads``.

    Attributes:
        events: Reference of the tagger whose events links are looked for between.
    """

    level: float
    levels: tuple[float, ...]
    events: str = "bundle:events"


@model_type("triplet-heads", task="links", protocol=TripletModels, settings=TripletSettings)
def triplet_heads(bundle: Bundle, settings: TripletSettings, loader: ModelLoader) -> TripletModels:
    """Open ``links.npz`` and perhaps ``nouns.txt``."""
    events = loader.bundle(settings.events)
    spans = read_settings(events, SpanSettings)

    def tagger(hidden: Callable[[Sequence[str]], Sequence[Hidden]]) -> SpanTagger:
        return SpanHead(spans, events.folder, hidden, events.digest)

    links = LinkHead(bundle.path("links.npz"))
    if len(settings.levels) != len(links.relations):
        raise BundleError(
            f"{bundle.folder / 'card.toml'}: settings.levels: {len(links.relations)} numbers, one "
            f"per relation, are needed"
        )
    encoder = loader.encoder_of(bundle, CachedEncoder)
    return TripletModels(
        links,
        settings.level,
        encoder,
        levels=settings.levels,
        tagger=tagger,
        nouns=_nouns(bundle),
    )


def _nouns(bundle: Bundle) -> Nouns:
    """Return the nouns of a bundle: a line of words for each kind, in the order of the fields."""
    if "nouns.txt" not in bundle.card.files:
        return Nouns()
    lines = bundle.path("nouns.txt").read_text("utf-8").splitlines()
    return Nouns(*(frozenset(line.split()) for line in lines))
