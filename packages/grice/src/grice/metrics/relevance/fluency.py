"""How fluent a text is, by a small language model: a one-sided form of SLOR.

A text is disfluent where a word is less likely in its place than it is at large: rare words cost
nothing, misplaced ones do ("it good to say"), and common words gain nothing. SLOR (Pauls and Klein,
2012; Lau, Clark and Lappin, 2017) takes the unigram log probability of the words off the likelihood
of a sentence; here this is done piece by piece, and only what is below counts.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec
import numpy as np

from grice.errors import BundleError
from grice.metrics.fluency import FluencyReader, PieceSurprise
from grice.metrics.relevance.pairs import BALANCED, open_pair_head
from grice.models.protocols import PairClassifier
from grice.models.registry import Settings, dependencies_of, model_kind, read_settings
from grice.models.tokenization import open_tokenizer, tokenizable
from grice.numeric import logits, sigmoid
from grice.text.content import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

    from grice.models.bundle import Bundle
    from grice.models.protocols import Pair
    from grice.models.registry import Opener

ALLOWED = 1.0
"""Nats by which a piece may be less likely in its place than at large before it counts."""


class Disfluency(NamedTuple):
    """How disfluent a text is, in nats a piece, and its worst piece; empty where none is."""

    value: float
    piece: str


@runtime_checkable
class PieceScorer(Protocol):
    """Says how likely each piece of a text is in its place."""

    identity: str

    def piece_log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """Return pieces; see :class:`~grice.models.embedded.EmbeddedGenerator`."""
        ...


class FluencySettings(Settings, frozen=True):
    """Of the language model: the piece that begins a text."""

    begin: str = ""


class FluencyModel:
    """Measures how disfluent texts are.

    Args:
        bundle: The opened bundle of the language model; ``usual.npy`` has the unigram log
            probability of each piece, in the order of ``shared_vocabulary.json``; its settings
            name the piece that begins a text as ``begin``.
        generator: That model.

    Raises:
        BundleError: If these do not fit one another.
    """

    def __init__(self, bundle: Bundle, generator: PieceScorer) -> None:
        self.identity = generator.identity
        self._generator = generator
        self._begin = read_settings(bundle, FluencySettings).begin
        pieces = msgspec.json.decode(
            bundle.path("shared_vocabulary.json").read_bytes(), type=list[str]
        )
        unigrams = np.load(bundle.path("usual.npy"), allow_pickle=False).astype(np.float32).tolist()
        if len(unigrams) != len(pieces) or self._begin not in pieces:
            raise BundleError(
                f"{bundle.folder}: usual.npy has {len(unigrams)} numbers for {len(pieces)} pieces, "
                f"and settings.begin is {self._begin!r}; it must be a piece, each with a number"
            )
        self._unigrams = dict(zip(pieces, unigrams, strict=True))
        self._bundle = bundle

    def measure(self, texts: Sequence[str]) -> list[Disfluency]:
        """Return how disfluent each text is, 0 or more; of a long one the beginning is read."""
        different = list(dict.fromkeys(texts))
        scored = self._generator.piece_log_probabilities(
            [""] * len(different), different, begin=[self._begin] * len(different)
        )
        measured = dict(zip(different, map(self._disfluency, scored), strict=True))
        return [measured[text] for text in texts]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return open_tokenizer(self._bundle)

    def surprises(self, texts: Sequence[str]) -> list[list[PieceSurprise]]:
        """Return the pieces of the sentences of each text, each sentence read by itself.

        Of a sentence longer than the model reads the beginning is read.
        """
        cut = [sentences(text) for text in texts]
        different = list(dict.fromkeys(sentence.text for text in cut for sentence in text))
        scored = self._generator.piece_log_probabilities(
            [""] * len(different), different, begin=[self._begin] * len(different)
        )
        read = {
            sentence: self._surprises(sentence, pieces)
            for sentence, pieces in zip(different, scored, strict=True)
        }
        return [
            [
                PieceSurprise(sentence.start + start, sentence.start + end, nats)
                for sentence in text
                for start, end, nats in read[sentence.text]
            ]
            for text in cut
        ]

    def _surprises(self, text: str, pieces: list[tuple[str, float]]) -> list[PieceSurprise]:
        # What was scored is the beginning, and what ends it, which has no place in the text.
        places = self._tokenizer.encode(tokenizable(text), add_special_tokens=False).offsets
        return [
            PieceSurprise(start, end, max(0.0, self._unigrams[piece] - value - ALLOWED))
            for (start, end), (piece, value) in zip(places, pieces, strict=False)
        ]

    def _disfluency(self, pieces: list[tuple[str, float]]) -> Disfluency:
        excess = [
            (self._unigrams[piece] - log_probability - ALLOWED, piece)
            for piece, log_probability in pieces
        ]
        worst, piece = max(excess, default=(0.0, ""))
        total = math.fsum(max(0.0, nats) for nats, _ in excess)
        return Disfluency(total / max(1, len(excess)), piece if worst > 0 else "")


class FluentSettings(Settings, frozen=True):
    """The log odds are ``weight_relevance * logit - weight_oddness * nats + weight_shift``."""

    weight_relevance: float
    weight_oddness: float
    weight_shift: float


class FluentPairHead:
    """A pair classifier that also minds whether the right side is fluent.

    Vectors of whole sentences hardly change where a word is dropped or bent, so a head that reads
    them forgives what people do not.

    Args:
        settings: The weights.
        head: The networks.
        fluency: Of right sides.
    """

    def __init__(
        self, settings: FluentSettings, head: PairClassifier, fluency: FluencyModel
    ) -> None:
        self._weights = settings
        self._head = head
        self._fluency = fluency
        self.identity = f"{self._head.identity}/{fluency.identity}"

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return for each pair the probability that the right side answers the left well.

        A pair without a word on either side gives 0.5: there is nothing to judge.
        """
        fitting = np.array(self._head.classify(pairs))
        measured = self._fluency.measure([pair.right for pair in pairs])
        disfluency = np.array([text.value for text in measured])
        odds = self._weights.weight_relevance * logits(fitting, SURE)
        odds += self._weights.weight_shift - self._weights.weight_oddness * disfluency
        # The head's 0.5 says that there is nothing to judge.
        judged = np.where(fitting == BALANCED, BALANCED, sigmoid(odds.astype(np.float32)))
        return [float(value) for value in judged]

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
    fluency = FluencyModel(opener.bundle(below), model)
    return FluentPairHead(settings, open_pair_head(bundle, opener), fluency)


class FluencyBase(Settings, frozen=True):
    """Of a bundle of kind ``fluency``: the language model it stands on."""

    base: str


@model_kind("fluency", answers="fluency", protocol=FluencyReader, settings=FluencyBase)
def fluency_model(bundle: Bundle, settings: FluencyBase, opener: Opener) -> FluencyModel:
    """Open the language model that reads pieces."""
    model = opener.part(bundle, settings.base, PieceScorer, "likelihood")
    return FluencyModel(opener.bundle(settings.base), model)
