"""Response ranker: does a response fit its history, and is it fluent?

Every turn is encoded once. A dual encoder maps history and response to one space; a head scores
the vectors and their products, after RUBER's unreferenced score (Tao et al., 2018; with contextual
embeddings Ghazarian et al., 2019). A causal language model adds the fluency of the response.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec

from grice.errors import ModelFolderError
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, dependencies_of, model_type, read_settings
from grice.models.protocols import Encoder, Pair, PairClassifier, check_width, encode_distinct
from grice.numeric import Array, logits, np, sigmoid, unit_rows
from grice.text.content import sentences

if TYPE_CHECKING:
    from grice.models.embedded import EmbeddedGenerator

NEUTRAL = 0.5  # the answer where history or response holds no word
TURNS = 4  # turns of a history that the model reads, the last ones
ROWS = 256  # pairs whose features are held at once
COSINE_SCALE = 4  # brings cosines to the order of one, as the other features are
SURE = 1e-6  # least distance of a probability from 0 and 1 before its log odds are taken
ALLOWED = 1.0
"""Tolerance, in nats, of the surprisal of a word piece above its unigram surprisal."""


class UnigramSettings(Settings, frozen=True):
    """Settings of the language model: the piece that begins a text."""

    begin: str = ""


class FluencyModel:
    """Compares the probability of word pieces in context with their unigram probability.

    The folder of the language model holds ``usual.npy``, the unigram log probability of each piece
    in the order of ``shared_vocabulary.json``.
    """

    def __init__(self, folder: ModelFolder, generator: EmbeddedGenerator) -> None:
        self.identity = generator.identity
        self._generator = generator
        self._begin = read_settings(folder, UnigramSettings).begin
        pieces = msgspec.json.decode(
            folder.file("shared_vocabulary.json").read_bytes(), type=list[str]
        )
        unigrams = np.load(folder.file("usual.npy"), allow_pickle=False).astype(np.float32).tolist()
        if len(unigrams) != len(pieces) or self._begin not in pieces:
            raise ModelFolderError(
                f"{folder.path}: usual.npy has {len(unigrams)} numbers for {len(pieces)} pieces, "
                f"and settings.begin is {self._begin!r}; it must be a piece, each with a number"
            )
        self._unigrams = dict(zip(pieces, unigrams, strict=True))

    def disfluency(self, texts: Sequence[str]) -> list[float]:
        """Return the mean excess surprisal of each text, or of its start (nats per piece)."""
        excess = self._excess(texts)
        return [math.fsum(excess[text]) / max(1, len(excess[text])) for text in texts]

    def surprises(self, texts: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Return the offset and the excess surprisal (nats) of each piece.

        Each sentence is scored without the others.
        """
        from grice.models.embedded import tokenizable

        cut = [sentences(text) for text in texts]
        excess = self._excess(sentence.text for text in cut for sentence in text)
        encoded = self._generator.tokenizer.encode_batch(
            list(map(tokenizable, excess)), add_special_tokens=False
        )
        # The last scored piece ends the text and has no offsets.
        read = {
            sentence: list(zip(tokens.offsets, nats, strict=False))
            for (sentence, nats), tokens in zip(excess.items(), encoded, strict=True)
        }
        return [
            [
                (sentence.start + start, nats)
                for sentence in text
                for (start, _), nats in read[sentence.text]
            ]
            for text in cut
        ]

    def _excess(self, texts: Iterable[str]) -> dict[str, list[float]]:
        """Return the excess surprisal of each piece of a text, in nats."""
        distinct = list(dict.fromkeys(texts))
        scored = self._generator.token_log_probabilities(
            [("", text, self._begin) for text in distinct]
        )
        return {
            text: [max(0.0, self._unigrams[piece] - value - ALLOWED) for piece, value in pieces]
            for text, pieces in zip(distinct, scored, strict=True)
        }


def language_model(folder: ModelFolder, reference: str, loader: ModelLoader) -> FluencyModel:
    """Open the language model that a model depends on."""
    from grice.models.embedded import EmbeddedGenerator

    model = loader.dependency(folder, reference, EmbeddedGenerator, "likelihood")
    return FluencyModel(loader.folder(reference), model)


class FluencySettings(Settings, frozen=True):
    """Settings of a model of type ``fluency``: its language model."""

    base: str


@model_type("fluency", task="fluency", settings=FluencySettings)
def fluency_model(
    folder: ModelFolder, settings: FluencySettings, loader: ModelLoader
) -> FluencyModel:
    """Open the language model of a folder."""
    return language_model(folder, settings.base, loader)


def history_summary(left: Array, *, decay: float) -> Array:
    """Return the last turn, the whole history and the turn before the last, ``(n, 3 * d)``.

    ``left`` holds unit vectors, oldest first, ``(n, turns, d)``; missing ones are zero. They are
    scaled by the root of ``d``, so that their elements are of order one. ``decay`` is the weight of
    a turn in the whole relative to the turn after it.
    """
    turns, dimensions = left.shape[1:]
    weights = np.float32(decay) ** np.arange(turns - 1, -1, -1, dtype=np.float32)
    whole = unit_rows((left * weights[:, None]).sum(axis=1))
    parts = np.concatenate([left[:, -1], whole, left[:, -2]], axis=1)
    return parts * np.float32(np.sqrt(dimensions))


def pair_features(left: Array, right: Array, towers: tuple[Array, Array], *, decay: float) -> Array:
    """Return the input of the head, ``(n, 7 * d + 5)``, from unit vectors.

    Seven blocks (see below), then five cosines: those of the response with the last turn, the whole
    history, the turn before the last and the nearest of all turns, and that of the towers.
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
        np.stack(numbers, axis=1) * np.float32(COSINE_SCALE),
    )
    return np.concatenate(blocks, axis=1, dtype=np.float32)


class PairSettings(Settings, frozen=True):
    """Settings of a model of type ``pair-head``.

    ``weight_cosine`` is the log odds that a cosine of 1 between the response and the last turn adds
    to those of the networks, which depend more on their training corpora.
    """

    decay: Annotated[float, msgspec.Meta(ge=0, le=1)]  # weight of a turn relative to the next
    weight_cosine: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class PairHead:
    """Probability that a right side answers its left side, by networks on frozen vectors."""

    def __init__(self, folder: ModelFolder, settings: PairSettings, encoder: Encoder) -> None:
        from grice.models.mlp import Mlp

        self.identity = f"{folder.identity}/{encoder.identity}"
        self._folder, self._encoder, self._decay = folder.path, encoder, settings.decay
        self.truncated = encoder.truncated
        self._weight_cosine = np.float32(settings.weight_cosine)
        self._left, self._right, self._head = (
            Mlp.load(folder.file(f"{name}.npz")) for name in ("left", "right", "head")
        )

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each pair; 0.5 if either side holds no word."""
        read = [([text for text in left if text.strip()][-TURNS:], right) for left, right in pairs]
        texts = [text for left, right in read for text in (*left, right)]
        vectors = encode_distinct(self._encoder, texts)
        worded = {text for text, vector in vectors.items() if vector.any()}
        scored = [
            (i, [vectors[text] for text in left if text in worded], right)
            for i, (left, right) in enumerate(read)
            if right in worded and not worded.isdisjoint(left)
        ]
        answers = [NEUTRAL] * len(pairs)
        if not scored:
            return answers
        rights = {right: row for row, right in enumerate(dict.fromkeys(r for _, _, r in scored))}
        replies = np.stack([vectors[right] for right in rights])
        dimensions = replies.shape[1]
        check_width(dimensions, len(self._right.layers[0][0]), self._folder, self._encoder)
        scaled = replies * np.float32(np.sqrt(dimensions))
        towers = unit_rows(scaled + self._right(scaled))
        for start in range(0, len(scored), ROWS):
            part = scored[start : start + ROWS]
            left = np.zeros((len(part), TURNS, dimensions), np.float32)
            for row, (_, turns, _) in enumerate(part):
                left[row, TURNS - len(turns) :] = turns
            rows = [rights[right] for _, _, right in part]
            probabilities = self._probabilities(left, replies[rows], towers[rows])
            for (i, _, _), value in zip(part, probabilities.tolist(), strict=True):
                answers[i] = value
        return answers

    def _probabilities(self, left: Array, right: Array, right_tower: Array) -> Array:
        summary = history_summary(left, decay=self._decay)
        whole = summary[:, left.shape[2] : 2 * left.shape[2]]
        towers = (unit_rows(whole + self._left(summary)), right_tower)
        features = pair_features(left, right, towers, decay=self._decay)
        cosine = (left[:, -1] * right).sum(axis=1)
        return sigmoid(self._head(features)[:, 0] + self._weight_cosine * cosine)


@model_type("pair-head", task="relevance", settings=PairSettings)
def pair_head(folder: ModelFolder, settings: PairSettings, loader: ModelLoader) -> PairHead:
    """Open the networks of a model."""
    return PairHead(folder, settings, loader.encoder_of(folder, Encoder))


class FluentSettings(Settings, frozen=True):
    """The log odds are ``weight_relevance * logit - weight_oddness * nats + weight_shift``."""

    weight_relevance: float
    weight_oddness: float
    weight_shift: float


class FluentPairHead:
    """A pair classifier that also uses the fluency of the right side.

    Sentence vectors hardly change if a word is dropped or wrongly inflected.
    """

    def __init__(
        self, settings: FluentSettings, head: PairClassifier, fluency: FluencyModel
    ) -> None:
        self._weights, self._head, self._fluency = settings, head, fluency
        self.truncated = head.truncated
        self.identity = f"{self._head.identity}/{fluency.identity}"

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each pair; 0.5 if either side holds no word."""
        fitting = np.array(self._head.classify(pairs))
        disfluency = np.array(self._fluency.disfluency([pair.right for pair in pairs]))
        odds = self._weights.weight_relevance * logits(fitting, SURE)
        odds += self._weights.weight_shift - self._weights.weight_oddness * disfluency
        # The head's 0.5 means that there is nothing to judge.
        fluent = np.where(fitting == NEUTRAL, NEUTRAL, sigmoid(odds.astype(np.float32)))
        return list(map(float, fluent))


@model_type("fluent-pair-head", task="relevance", settings=FluentSettings)
def fluent_pair_head(
    folder: ModelFolder, settings: FluentSettings, loader: ModelLoader
) -> FluentPairHead:
    """Open the networks of a model and its language model."""
    _, below = dependencies_of(folder.card)
    head = PairHead(folder, read_settings(folder, PairSettings), loader.encoder_of(folder, Encoder))
    return FluentPairHead(settings, head, language_model(folder, below, loader))
