"""How odd the words of a text are where they stand, by a small language model.

A text is odd where a word is less likely in its place than it is at large: rare words cost
nothing, misplaced ones do ("it good to say"), and common words gain nothing. The idea is that of
SLOR (Pauls and Klein, 2012; Lau, Clark and Lappin, 2017), which takes the frequency of the words
off the likelihood of a sentence, here piece by piece and one-sided.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import BundleError
from grice.numeric import logits, sigmoid
from grice.runtime.pairs import BALANCED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.runtime.bundle import Bundle
    from grice.runtime.embedded import EmbeddedGenerator
    from grice.runtime.pairs import PairHead
    from grice.runtime.protocols import Pair

__all__ = ["FluentPairHead", "Odd", "Oddness", "Weights"]

ALLOWED = 1.0
"""Nats by which a piece may be less likely in its place than at large before it counts."""


class Odd(NamedTuple):
    """How odd a text is, in nats a piece, and the piece that is oddest; none where none is."""

    value: float
    piece: str


class Oddness:
    """Says how odd texts are where their words stand.

    Args:
        bundle: The opened bundle of the language model; ``usual.npy`` has the log share of each
            piece at large, in the order of ``shared_vocabulary.json``; its settings name the
            piece that begins a text as ``begin``.
        generator: That model.

    Raises:
        BundleError: If these do not fit one another.
    """

    def __init__(self, bundle: Bundle, generator: EmbeddedGenerator) -> None:
        self.identity = generator.identity
        self._generator = generator
        self._begin = str(bundle.card.settings.get("begin", ""))
        pieces = msgspec.json.decode(
            bundle.path("shared_vocabulary.json").read_bytes(), type=list[str]
        )
        usual = np.load(bundle.path("usual.npy"), allow_pickle=False).astype(np.float32).tolist()
        if len(usual) != len(pieces) or self._begin not in pieces:
            raise BundleError(
                f"{bundle.folder}: usual.npy has {len(usual)} numbers for {len(pieces)} pieces, "
                f"and settings.begin is {self._begin!r}; it must be a piece, each with a number"
            )
        self._usual = dict(zip(pieces, usual, strict=True))

    def measure(self, texts: Sequence[str]) -> list[Odd]:
        """Return how odd each text is, 0 or more; of a long text only the beginning is read."""
        different = list(dict.fromkeys(texts))
        scored = self._generator.piece_log_probabilities(
            [""] * len(different), different, begin=[self._begin] * len(different)
        )
        found = dict(zip(different, map(self._odd, scored), strict=True))
        return [found[text] for text in texts]

    def _odd(self, pieces: list[tuple[str, float]]) -> Odd:
        excess = [(self._usual[piece] - found - ALLOWED, piece) for piece, found in pieces]
        worst, piece = max(excess, default=(0.0, ""))
        total = math.fsum(max(0.0, one) for one, _ in excess)
        return Odd(total / max(1, len(excess)), piece if worst > 0 else "")


class Weights(NamedTuple):
    """The log odds are ``relevance * those of the head - oddness * nats + shift``."""

    relevance: float
    oddness: float
    shift: float


class FluentPairHead:
    """A pair classifier that also minds whether the right side is well said.

    Vectors of whole sentences hardly change where a word is dropped or bent, so a head that reads
    them forgives what people do not.

    Args:
        bundle: The opened bundle, with the weights in its settings.
        head: The networks of the bundle.
        oddness: Of right sides.
    """

    def __init__(self, bundle: Bundle, head: PairHead, oddness: Oddness) -> None:
        self._weights = _weights(bundle)
        self._head = head
        self._oddness = oddness
        self.identity = f"{self._head.identity}/{oddness.identity}"

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return for each pair the probability that the right side answers the left well.

        A pair without a word on either side gives 0.5: there is nothing to judge.
        """
        fitting = np.array(self._head.classify(pairs))
        odd = np.array([one.value for one in self._oddness.measure([pair.right for pair in pairs])])
        odds = self._weights.relevance * logits(fitting, SURE)
        odds += self._weights.shift - self._weights.oddness * odd
        # The head's 0.5 says that there is nothing to judge.
        judged = np.where(fitting == BALANCED, BALANCED, sigmoid(odds.astype(np.float32)))
        return [float(one) for one in judged]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the encoder reads only its end."""
        return self._head.truncated(texts)


SURE = 1e-6


def _weights(bundle: Bundle) -> Weights:
    stated = [bundle.card.settings.get(f"weight_{name}") for name in Weights._fields]
    numbers = [float(one) for one in stated if isinstance(one, int | float)]
    if len(numbers) != len(Weights._fields) or not np.isfinite(numbers).all():
        raise BundleError(
            f"{bundle.folder / 'card.toml'}: settings: the numbers weight_relevance, "
            f"weight_oddness and weight_shift are needed"
        )
    return Weights(*numbers)
