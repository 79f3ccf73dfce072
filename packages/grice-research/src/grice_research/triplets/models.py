"""Research weights of CIDER's tasks: what a recipe left in a folder, which may not ship."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import BundleError, InputError
from grice_research.triplets.decoder import Decoder
from grice_research.triplets.ensemble import HeadConditionedEnsemble
from grice_research.triplets.head_conditioned import HeadConditionedLayer
from grice_research.triplets.layers import Tower
from grice_tasks.cider.heads import LinkHead, LinkHeads
from grice_tasks.cider.models import TripletEncoder, TripletModels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from grice.models.embedded import Hidden

__all__ = ["TaskModels", "open_folder", "open_lower"]


class TaskModels(NamedTuple):
    """Heads, and what answers CIDER's tasks beside them.

    Attributes:
        heads: Which spans are linked, with their encoder.
        rerank: What the numbers of a link count beside those of an answer's ends.
        head_conditioned: Layers that encode a text for each head; None if there are none.
        shares: What its numbers count beside those of ``heads``: sure, good tail, which relation.
        counted: What a good tail, and a sure link, count beside the log probability of an answer.
        overlap_weights: Weight of the tail's overlap with the answers in a sure link, and in a good
            tail.
        expected: How answers are chosen for the F1 expected of them, see
            :func:`~grice_research.triplets.tasks.rerank_spans`; zeros for the likeliest answer.
        alone: Which relation two spans stand in, read without their conversation; None if unknown.
    """

    heads: TripletModels
    rerank: float = 0.0
    head_conditioned: HeadConditionedEnsemble | None = None
    shares: tuple[float, float, float] = (0.5, 0.5, 0.5)
    counted: tuple[float, float] = (0.0, 0.0)
    overlap_weights: tuple[float, float] = (0.0, 0.0)
    expected: tuple[float, float] = (0.0, 0.0)
    alone: LinkHead | None = None


class _Settings(msgspec.Struct):
    level: float
    rerank: float = 0.0
    shares: tuple[float, float, float] = (0.5, 0.5, 0.5)
    counted: tuple[float, float] = (0.0, 0.0)
    overlap_weights: tuple[float, float] = msgspec.field(name="heard", default=(0.0, 0.0))
    expected: tuple[float, float] = (0.0, 0.0)
    weights: tuple[float, ...] = ()


def open_folder(folder: Path, encoder: TripletEncoder) -> TaskModels:
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
        readers = _open_layers(folder)
        again = HeadConditionedEnsemble(readers, settings.weights) if readers else None
    except (OSError, IndexError, InputError, msgspec.MsgspecError) as error:
        raise BundleError(f"{folder}: no heads of triplets: {error}") from None
    return TaskModels(
        TripletModels(links, settings.level, encoder),
        rerank=settings.rerank,
        head_conditioned=again,
        shares=settings.shares,
        counted=settings.counted,
        overlap_weights=settings.overlap_weights,
        expected=settings.expected,
        alone=apart,
    )


def open_lower(folder: Path) -> Callable[[Sequence[str]], Sequence[Hidden]]:
    """Return what gives token states, of a folder that holds layers of an encoder or a decoder.

    Raises:
        BundleError: If something is missing.
    """
    return Decoder(folder) if (folder / "pieces.json").exists() else Tower(folder)


def _open_layers(folder: Path) -> list[HeadConditionedLayer]:
    from grice.models.bundle import open_bundle
    from grice.models.embedded import EmbeddedEncoder

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
        HeadConditionedLayer(
            folder_of_layer / "rereader.npz",
            own(folder_of_layer / "encoder")
            if (folder_of_layer / "encoder").exists()
            else shared((folder_of_layer / "lower").resolve()),
        )
        for folder_of_layer in sorted(folder.glob("rereader*"))
    ]
