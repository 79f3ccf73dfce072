"""The heads of this room with the encoder they read, opened from a bundle or a folder."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np

from grice.errors import BundleError, InputError
from grice.runtime.memo import MemoEncoder
from grice.runtime.registry import Settings, encoder_of, model_kind, read_settings
from grice.runtime.spans import SpanHead, SpanSettings
from grice.triplets.connectives import Nouns
from grice.triplets.decoder import Decoder
from grice.triplets.heads import LinkHead, LinkHeads
from grice.triplets.layers import Tower
from grice.triplets.rereaders import Rereaders
from grice.triplets.rereading import Rereader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.runtime.bundle import Bundle
    from grice.runtime.embedded import Hidden
    from grice.runtime.protocols import TaggedSpan
    from grice.runtime.registry import Opener

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["TripletEncoder", "TripletModels", "open_folder", "open_lower", "triplet_heads"]


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
        rerank: What the numbers of a link count beside those of an answer's ends.
        levels: Log odds of each relation that only few pairs of everyday talk are above.
        tagger: Gives a tagger of events for token states; None where none is needed.
        rereader: Fine-tuned encoders that read a text again for each head; None if there is none.
        shares: What its numbers count beside those of ``links``: sure, good tail, which relation.
        counted: What a good tail, and a sure link, count beside the log probability of an answer.
        heard: What it counts for a sure link, and for a good tail, that answers have its words.
        expected: How answers are chosen for the F1 expected of them, see
            :func:`~grice.triplets.tasks.rerank_spans`; zeros for the likeliest answer.
        nouns: What nouns name, for connectives such as "in".
        alone: Which relation two spans stand in, read without their conversation; None if unknown.
    """

    links: LinkHeads
    level: float
    encoder: TripletEncoder
    rerank: float = 0.0
    levels: tuple[float, ...] = ()
    tagger: Callable[[Callable[[Sequence[str]], Sequence[Hidden]]], EventTagger] | None = None
    rereader: Rereaders | None = None
    shares: tuple[float, float, float] = (0.5, 0.5, 0.5)
    counted: tuple[float, float] = (0.0, 0.0)
    heard: tuple[float, float] = (0.0, 0.0)
    expected: tuple[float, float] = (0.0, 0.0)
    nouns: Nouns = Nouns()
    alone: LinkHead | None = None


class EventTagger(Protocol):
    """Finds events in texts."""

    def tag(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        """Return the events of each text."""


class _Settings(msgspec.Struct):
    level: float
    rerank: float = 0.0
    shares: tuple[float, float, float] = (0.5, 0.5, 0.5)
    counted: tuple[float, float] = (0.0, 0.0)
    heard: tuple[float, float] = (0.0, 0.0)
    expected: tuple[float, float] = (0.0, 0.0)
    weights: tuple[float, ...] = ()


class TripletSettings(Settings, frozen=True):
    """Of a bundle of kind ``triplet-heads``.

    Attributes:
        level: Log odds from which on a triplet counts as entailed.
        levels: Of each relation, log odds that only few pairs of everyday talk are above.
        events: Reference of the tagger whose events links are looked for between.
    """

    level: float
    levels: tuple[float, ...]
    events: str = "bundle:events"


@model_kind("triplet-heads", answers="links", protocol=TripletModels, settings=TripletSettings)
def triplet_heads(bundle: Bundle, settings: TripletSettings, opener: Opener) -> TripletModels:
    """Open ``links.npz`` and perhaps ``nouns.txt``."""
    events = opener.bundle(settings.events)
    spans = read_settings(events, SpanSettings)

    def tagger(hidden: Callable[[Sequence[str]], Sequence[Hidden]]) -> EventTagger:
        return SpanHead(spans, events.folder, hidden, events.digest)

    links = LinkHeads([LinkHead(bundle.path("links.npz"))])
    if len(settings.levels) != len(links.relations):
        raise BundleError(
            f"{bundle.folder / 'card.toml'}: settings.levels: {len(links.relations)} numbers, one "
            f"per relation, are needed"
        )
    encoder = encoder_of(bundle, opener, MemoEncoder)
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


def open_folder(folder: Path, encoder: TripletEncoder) -> TripletModels:
    """Return the models a recipe left in a folder: arrays, and ``settings.json``.

    Every ``links*.npz`` is a head; their numbers are averaged. Every folder ``rereader*`` has
    ``rereader.npz`` and its lower layers: the bundle ``encoder``, or the folder ``lower`` for
    :func:`open_lower`, read once where several lead to the same. They are averaged too, by the
    ``weights`` of the settings, in the order of their names.

    Raises:
        BundleError: If something is missing.
    """
    try:
        settings = msgspec.json.decode((folder / "settings.json").read_bytes(), type=_Settings)
        links = LinkHeads([LinkHead(path) for path in sorted(folder.glob("links*.npz"))])
        alone = folder / "alone.npz"
        apart = LinkHead(alone) if alone.exists() else None
        readers = _open_rereaders(folder)
        again = Rereaders(readers, settings.weights) if readers else None
    except (OSError, IndexError, InputError, msgspec.MsgspecError) as error:
        raise BundleError(f"{folder}: no heads of triplets: {error}") from None
    return TripletModels(
        links, settings.level, encoder, settings.rerank,
        rereader=again,
        shares=settings.shares, counted=settings.counted, heard=settings.heard,
        expected=settings.expected, alone=apart,
    )  # fmt: skip


def open_lower(folder: Path) -> Callable[[Sequence[str]], Sequence[Hidden]]:
    """Return what gives token states, of a folder that holds layers of an encoder or a decoder.

    Raises:
        BundleError: If something is missing.
    """
    return Decoder(folder) if (folder / "pieces.json").exists() else Tower(folder)


def _open_rereaders(folder: Path) -> list[Rereader]:
    from grice.runtime.bundle import open_bundle
    from grice.runtime.embedded import EmbeddedEncoder

    def own(place: Path) -> Callable[[Sequence[str]], Sequence[Hidden]]:
        lower = EmbeddedEncoder(open_bundle(place), mode="fast", threads=1)
        return lambda texts: [states for states, _ in lower.hidden(texts)]

    @cache
    def shared(place: Path) -> Callable[[Sequence[str]], Sequence[Hidden]]:
        lower = open_lower(place)

        @lru_cache(maxsize=1)
        def read(text: str) -> Hidden:
            return lower([text])[0]

        return lambda texts: [read(text) for text in texts]

    return [
        Rereader(
            one / "rereader.npz",
            own(one / "encoder")
            if (one / "encoder").exists()
            else shared((one / "lower").resolve()),
        )
        for one in sorted(folder.glob("rereader*"))
    ]
