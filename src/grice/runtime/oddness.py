"""How odd the words of a text are where they stand, by a small language model.

A text is odd where a word is less likely in its place than it is at large: rare words cost
nothing, misplaced ones do ("it good to say"), and common words gain nothing. The idea is that of
SLOR (Pauls and Klein, 2012; Lau, Clark and Lappin, 2017), which takes the frequency of the words
off the likelihood of a sentence, here piece by piece and one-sided.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec
import numpy as np

from grice.errors import BundleError
from grice.runtime.heads import sigmoid
from grice.runtime.pairs import BALANCED, open_pair_head
from grice.runtime.protocols import PairClassifier
from grice.runtime.registry import Settings, dependencies_of, model_kind, read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Pair
    from grice.runtime.registry import Opener

__all__ = ["FluentPairHead", "FluentSettings", "Odd", "Oddness", "PieceScorer", "fluent_pair_head"]

ALLOWED = 1.0
"""Nats by which a piece may be less likely in its place than at large before it counts."""


class Odd(NamedTuple):
    """How odd a text is, in nats a piece, and the piece that is oddest; none where none is."""

    value: float
    piece: str


@runtime_checkable
class PieceScorer(Protocol):
    """Says how likely each piece of a text is in its place."""

    identity: str

    def piece_log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """Return pieces; see :class:`~grice.runtime.embedded.EmbeddedGenerator`."""
        ...


class OddnessSettings(Settings, frozen=True):
    """Of the language model: the piece that begins a text."""

    begin: str = ""


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

    def __init__(self, bundle: Bundle, generator: PieceScorer) -> None:
        self.identity = generator.identity
        self._generator = generator
        self._begin = read_settings(bundle, OddnessSettings).begin
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


class FluentSettings(Settings, frozen=True):
    """The log odds are ``relevance * those of the head - oddness * nats + shift``."""

    weight_relevance: float
    weight_oddness: float
    weight_shift: float


class FluentPairHead:
    """A pair classifier that also minds whether the right side is well said.

    Vectors of whole sentences hardly change where a word is dropped or bent, so a head that reads
    them forgives what people do not.

    Args:
        settings: The weights.
        head: The networks.
        oddness: Of right sides.
    """

    def __init__(self, settings: FluentSettings, head: PairClassifier, oddness: Oddness) -> None:
        self._weights = settings
        self._head = head
        self._oddness = oddness
        self.identity = f"{self._head.identity}/{oddness.identity}"

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return for each pair the probability that the right side answers the left well.

        A pair without a word on either side gives 0.5: there is nothing to judge.
        """
        fitting = np.array(self._head.classify(pairs))
        odd = np.array([one.value for one in self._oddness.measure([pair.right for pair in pairs])])
        kept = np.clip(fitting, SURE, 1 - SURE)
        odds = self._weights.weight_relevance * np.log(kept / (1 - kept))
        odds += self._weights.weight_shift - self._weights.weight_oddness * odd
        # The head's 0.5 says that there is nothing to judge.
        judged = np.where(fitting == BALANCED, BALANCED, sigmoid(odds.astype(np.float32)))
        return [float(one) for one in judged]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the encoder reads only its end."""
        return self._head.truncated(texts)


SURE = 1e-6


@model_kind(
    "fluent-pair-head", answers="relevance", protocol=PairClassifier, settings=FluentSettings
)
def fluent_pair_head(bundle: Bundle, settings: FluentSettings, opener: Opener) -> FluentPairHead:
    """Open the networks of a bundle and the language model below."""
    _, below = dependencies_of(bundle.card)
    model = opener.part(bundle, below, PieceScorer, "likelihood")
    oddness = Oddness(opener.bundle(below), model)
    return FluentPairHead(settings, open_pair_head(bundle, opener), oddness)
