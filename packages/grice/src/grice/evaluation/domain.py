"""How far texts lie from the conversations that the shipped models were trained on.

Sentence vectors of training turns are summed up by centroids (spherical k-means). The cosine of a
text to the nearest of them is held against those of turns that were kept from training: where 5 %
of these lie farther out, a much larger share says that a file is about other things, or written
in another way, than what the models have seen. Distances of this kind are the usual guard against
inputs of another distribution (Lee et al., 2018; for sentence vectors Podolskiy et al., 2021).

What it cannot see: a sentence vector holds what a text is about far more than whether it makes
sense, so that shuffled words of everyday talk lie near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.models.bundle import open_bundle
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.protocols import Vector

    Encode: TypeAlias = Callable[[Sequence[str]], Sequence[Vector]]

FILE = "domain.npz"
USUAL = 0.05
"""Share of held-out training turns that lie outside."""
UNREAD = -1.0
"""The cosine of a text that no model of English can read: the farthest there is."""


class Domain(NamedTuple):
    """What is known of the training conversations.

    Attributes:
        centroids: Unit vectors, shape ``(k, dimensions)``.
        limit: Cosine to the nearest centroid that 95 % of held-out training turns reach.
        encoder: Name and hash of the encoder whose vectors they are, as in signatures.
    """

    centroids: NDArray[np.float32]
    limit: float
    encoder: str

    def fits(self, bundles: Iterable[Bundle]) -> bool:
        """Return whether models read the vectors that this was measured with."""
        return any(bundle.identity == self.encoder for bundle in bundles)

    def outside(self, texts: Sequence[str], encode: Encode) -> NDArray[np.bool_]:
        """Return for each text whether 95 % of held-out training turns lie nearer.

        Args:
            texts: Turns. One without a word, or not in Latin letters, lies outside.
            encode: Gives the encoder's unit vectors.
        """
        return nearest(texts, encode, self.centroids) < self.limit


def nearest(
    texts: Sequence[str], encode: Encode, centroids: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of each text to the nearest centroid, -1 where it cannot be read."""
    cosines = np.full(len(texts), UNREAD, np.float32)
    read = [i for i, text in enumerate(texts) if unreadable(text) is None]
    if read:
        vectors = np.stack(encode([texts[i] for i in read]))
        cosines[read] = (vectors @ centroids.T).max(axis=1)
    return cosines


def open_domain(place: str | Path = "domain") -> Domain:
    """Open a bundle of kind ``domain``: the shipped one, or that of a folder.

    Raises:
        BundleError: If it is missing, changed or of another kind.
    """
    bundle = open_bundle(place)
    card = bundle.card
    if card.kind != "domain":
        raise BundleError(f"{bundle.folder}: a bundle of kind domain is needed, not {card.kind!r}")
    with np.load(bundle.path(FILE)) as arrays:
        centroids = arrays["centroids"].astype(np.float32)
        limit = float(np.interp(USUAL, arrays["shares"], arrays["cosines"]))
    return Domain(centroids, limit, f"{card.encoder}@{card.settings['encoder_digest']}")
