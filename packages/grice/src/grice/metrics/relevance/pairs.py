"""A pair classifier: small networks on the vectors of a history and of a response.

Every turn is encoded by itself, so that a turn costs one encoding whatever histories it stands
in. Two towers bring history and response into one space; a head judges from the vectors and their
products. The quadratic features follow RUBER's unreferenced score (Tao et al., 2018; with
contextual embeddings Ghazarian et al., 2019).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec
import numpy as np

from grice.errors import BundleError
from grice.metrics.fluency import FluencyReader, PieceSurprise
from grice.models.loader import (
    NoSettings,
    Settings,
    dependencies_of,
    model_type,
    read_settings,
)
from grice.models.mlp import Mlp
from grice.models.protocols import Encoder, PairClassifier
from grice.models.tokenization import open_tokenizer, tokenizable
from grice.numeric import logits, sigmoid, unit_rows
from grice.text.content import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Pair

    Array: TypeAlias = NDArray[np.float32]

TURNS = 4
"""How many segments of the left side are read; the oldest beyond them are left out."""

BALANCED = 0.5
"""The answer where there is nothing to judge: no word of history, or none of a response."""

ROWS = 256
"""Pairs whose features are held at once."""


def history_summary(left: Array, *, decay: float) -> Array:
    """Return the last turn, the whole history and the turn before the last, shape ``(n, 3 * d)``.

    Where two people alternate, the turn before the last is the responder's own. Unit vectors are
    scaled by the root of their length ``d``, so that their elements are of order one.

    Args:
        left: Unit vectors of the turns, oldest first, shape ``(n, turns, d)``; missing turns are
            zero and stand first.
        decay: Weight of a turn in the whole relative to the turn after it, 0 to 1.
    """
    turns, dimensions = left.shape[1:]
    weights = np.float32(decay) ** np.arange(turns - 1, -1, -1, dtype=np.float32)
    whole = unit_rows((left * weights[:, None]).sum(axis=1))
    parts = np.concatenate([left[:, -1], whole, left[:, -2]], axis=1)
    return parts * np.float32(np.sqrt(dimensions))


def pair_features(left: Array, right: Array, towers: tuple[Array, Array], *, decay: float) -> Array:
    """Return what the network reads, shape ``(n, 7 * d + 5)``.

    The blocks are the last turn, the whole history and the response; the products of the response
    with the first two; its absolute difference from the last turn; and the product of the
    towers' vectors. Then five cosines: those of the response with the last turn, the whole
    history, the turn before the last and the nearest of all turns, and that of the towers.

    Args:
        left: As in :func:`history_summary`.
        right: Unit vectors of the response, shape ``(n, d)``.
        towers: What the towers make of the history and of the response, both ``(n, d)``, unit.
        decay: As in :func:`history_summary`.
    """
    dimensions = right.shape[1]
    scale = np.float32(np.sqrt(dimensions))
    summary = history_summary(left, decay=decay)
    last, whole = summary[:, :dimensions], summary[:, dimensions : 2 * dimensions]
    reply = right * scale
    met = towers[0] * towers[1]
    cosines = (left * right[:, None]).sum(axis=-1)
    whole_cosine = (whole * right).sum(axis=-1) / scale
    numbers = (cosines[:, -1], whole_cosine, cosines[:, -2], cosines.max(axis=1), met.sum(axis=-1))
    blocks = (
        last,
        whole,
        reply,
        last * reply,
        whole * reply,
        np.abs(last - reply),
        met * scale**2,
        np.stack(numbers, axis=1) * COSINE_SCALE,
    )
    return np.concatenate(blocks, axis=1, dtype=np.float32)


COSINE_SCALE = np.float32(4)
"""Brings cosines to the order of one, as the other features are."""


class PairSettings(Settings, frozen=True):
    """Of a bundle of kind ``pair-head``.

    Attributes:
        decay: Weight of a turn relative to the turn after it.
        weight_cosine: What a cosine of 1 between the response and the last turn adds to the log
            odds of the networks. They learn how their corpora answer; the cosine holds elsewhere.
    """

    decay: Annotated[float, msgspec.Meta(ge=0, le=1)]
    weight_cosine: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class PairHead:
    """How well a right side goes with its left side, by networks on frozen vectors."""

    def __init__(self, bundle: Bundle, settings: PairSettings, encoder: Encoder) -> None:
        self.identity = f"{bundle.identity}/{encoder.identity}"
        self._folder = bundle.folder
        self._decay = settings.decay
        self._weight_cosine = np.float32(settings.weight_cosine)
        self._encoder = encoder
        self._left = Mlp.load(bundle.path("left.npz"))
        self._right = Mlp.load(bundle.path("right.npz"))
        self._head = Mlp.load(bundle.path("head.npz"))

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return for each pair the probability that the right side answers the left, 0 to 1.

        Read are the last four segments of the left side that are not blank. A pair without a
        word on either side gives 0.5: there is nothing to judge.
        """
        read = [(_spoken(pair.left)[-TURNS:], pair.right) for pair in pairs]
        texts = list(dict.fromkeys(text for left, right in read for text in (*left, right)))
        vectors = dict(zip(texts, self._encoder.encode(texts), strict=True))
        worded = {text for text, vector in vectors.items() if vector.any()}
        judged = [
            (i, [vectors[text] for text in left if text in worded], right)
            for i, (left, right) in enumerate(read)
            if right in worded and not worded.isdisjoint(left)
        ]
        answered = self._answered({right: vectors[right] for _, _, right in judged})
        answers = [BALANCED] * len(pairs)
        for start in range(0, len(judged), ROWS):
            part = judged[start : start + ROWS]
            probabilities = self._probabilities(
                np.stack([_history(left) for _, left, _ in part]),
                np.stack([vectors[right] for _, _, right in part]),
                np.stack([answered[right] for _, _, right in part]),
            )
            for (i, _, _), probability in zip(part, probabilities, strict=True):
                answers[i] = float(probability)
        return answers

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the encoder reads only its end."""
        return self._encoder.truncated(texts)

    def _probabilities(self, left: Array, right: Array, answered: Array) -> Array:
        towers = (self._ask(left), answered)
        features = pair_features(left, right, towers, decay=self._decay)
        cosine = (left[:, -1] * right).sum(axis=1)
        return sigmoid(self._head(features)[:, 0] + self._weight_cosine * cosine)

    def _ask(self, left: Array) -> Array:
        summary = history_summary(left, decay=self._decay)
        whole = summary[:, left.shape[2] : 2 * left.shape[2]]
        return unit_rows(whole + self._left(summary))

    def _answered(self, replies: dict[str, Array]) -> dict[str, Array]:
        """Return what the tower makes of each response, which may stand in many pairs."""
        if not replies:
            return {}
        right = np.stack(list(replies.values()))
        dimensions = right.shape[1]
        if (expected := self._right.layers[0][0].shape[0]) != dimensions:
            raise BundleError(
                f"{self._folder}: its networks read vectors of {expected} numbers, the encoder "
                f"{self._encoder.identity} gives {dimensions}; use the encoder its card names"
            )
        reply = right * np.float32(np.sqrt(dimensions))
        return dict(zip(replies, unit_rows(reply + self._right(reply)), strict=True))


def _spoken(segments: Sequence[str]) -> list[str]:
    return [segment for segment in segments if segment.strip()]


def _history(vectors: list[Array]) -> Array:
    """Return the vectors with zeros in front, shape ``(TURNS, dimensions)``."""
    history = np.zeros((TURNS, len(vectors[0])), np.float32)
    history[TURNS - len(vectors) :] = vectors
    return history


@model_type("pair-head", task="relevance", protocol=PairClassifier, settings=NoSettings)
def pair_head(bundle: Bundle, _: NoSettings, loader: ModelLoader) -> PairHead:
    """Open the networks of a bundle."""
    return open_pair_head(bundle, loader)


@model_type("bare-pair-head", task="relevance", protocol=PairClassifier, settings=NoSettings)
def bare_pair_head(bundle: Bundle, _: NoSettings, loader: ModelLoader) -> PairHead:
    """Open the networks of the bundle below, without what else it consists of."""
    (below,) = dependencies_of(bundle.card)
    loader.check_task(bundle, below, "relevance")
    return open_pair_head(loader.bundle(below), loader)


def open_pair_head(bundle: Bundle, loader: ModelLoader) -> PairHead:
    """Return the networks of a bundle, read once for all that stand on them."""

    def read() -> PairHead:
        settings = read_settings(bundle, PairSettings)
        return PairHead(bundle, settings, loader.encoder_of(bundle, Encoder))

    return loader.shared(PairHead, bundle, read)


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


@model_type("fluent-pair-head", task="relevance", protocol=PairClassifier, settings=FluentSettings)
def fluent_pair_head(
    bundle: Bundle, settings: FluentSettings, loader: ModelLoader
) -> FluentPairHead:
    """Open the networks of a bundle and the language model below."""
    _, below = dependencies_of(bundle.card)
    model = loader.dependency(bundle, below, PieceScorer, "likelihood")
    fluency = FluencyModel(loader.bundle(below), model)
    return FluentPairHead(settings, open_pair_head(bundle, loader), fluency)


class FluencyBase(Settings, frozen=True):
    """Of a bundle of kind ``fluency``: the language model it stands on."""

    base: str


@model_type("fluency", task="fluency", protocol=FluencyReader, settings=FluencyBase)
def fluency_model(bundle: Bundle, settings: FluencyBase, loader: ModelLoader) -> FluencyModel:
    """Open the language model that reads pieces."""
    model = loader.dependency(bundle, settings.base, PieceScorer, "likelihood")
    return FluencyModel(loader.bundle(settings.base), model)
