"""A pair classifier: small networks on the vectors of a history and of a response.

Every turn is encoded by itself, so that a turn costs one encoding whatever histories it stands
in. Two towers bring history and response into one space; a head judges from the vectors and their
products. The quadratic features follow RUBER's unreferenced score (Tao et al., 2018; with
contextual embeddings Ghazarian et al., 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
import numpy as np

from grice.errors import BundleError
from grice.models.mlp import Mlp
from grice.models.protocols import Encoder, PairClassifier
from grice.models.registry import (
    NoSettings,
    Settings,
    dependencies_of,
    encoder_of,
    model_kind,
    read_settings,
)
from grice.numeric import sigmoid, unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.protocols import Pair
    from grice.models.registry import Opener

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
    """How well a right side goes with its left side, by networks on frozen vectors.

    Args:
        bundle: The opened bundle: ``left.npz`` and ``right.npz`` (the towers) and ``head.npz``.
        settings: What its card states.
        encoder: The encoder the bundle's networks were fitted on.
    """

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


@model_kind("pair-head", answers="relevance", protocol=PairClassifier, settings=NoSettings)
def pair_head(bundle: Bundle, _: NoSettings, opener: Opener) -> PairHead:
    """Open the networks of a bundle."""
    return open_pair_head(bundle, opener)


@model_kind("bare-pair-head", answers="relevance", protocol=PairClassifier, settings=NoSettings)
def bare_pair_head(bundle: Bundle, _: NoSettings, opener: Opener) -> PairHead:
    """Open the networks of the bundle below, without what else it consists of."""
    (below,) = dependencies_of(bundle.card)
    opener.check_answers(bundle, below, "relevance")
    return open_pair_head(opener.bundle(below), opener)


def open_pair_head(bundle: Bundle, opener: Opener) -> PairHead:
    """Return the networks of a bundle, read once for all that stand on them."""

    def read() -> PairHead:
        settings = read_settings(bundle, PairSettings)
        return PairHead(bundle, settings, encoder_of(bundle, opener, Encoder))

    return opener.shared(PairHead, bundle, read)
