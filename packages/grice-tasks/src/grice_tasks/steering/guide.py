"""A guide: for every next token, how probable it is that the finished reply satisfies a label.

The base model stays as it is; at each step the probability of every token is multiplied by the
guide's estimate for the reply that goes on with it (the neurally-decomposed oracle of Meng et al.,
NeurIPS 2022):

    q(y_t | x, y_<t)  ∝  p(y_t | x, y_<t) · R(x, y_≤t) ** strength

With the true probabilities and strength 1 whole replies have the distribution of the base model's
replies that satisfy the label. Strength 0 is the base.

A guide reads next-token logits alone. Their principal components stand for the last hidden state,
and the loadings are a vector of each token. A network with one hidden layer turns the state into a
vector and a constant, whose product with the vectors is the log odds of all next tokens at once.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from grice.errors import InputError, ModelFolderError
from grice.models.folder import open_folder
from grice.models.loader import Settings, read_settings
from grice.models.mlp import Mlp, quantized, single_threaded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.protocols import Vector
    from grice_tasks.steering.decoding import SteerableLM

    Array: TypeAlias = NDArray[np.float32]

KIND = "guide"
SPACE, NETWORK = "space.npz", "network.npz"


class GuideSettings(Settings, frozen=True, kw_only=True):
    """Settings in the card of a guide."""

    base: str  # name and digest of the model that it was trained for
    vocabulary: str  # digest of the model's vocabulary
    metrics: tuple[str, ...]  # metrics whose labels a reply has to satisfy, all of them
    threshold: float  # a score from here on satisfies a metric
    temperature: float  # of the base distribution that samples were drawn from
    consistency: float = 0.0  # weight of the regulariser in training
    training_loss: tuple[float, ...] = ()  # mean cross entropy of each epoch, nats
    validation_loss: tuple[float, ...] = ()  # the same on contexts that were left out


class TokenSpace:
    """The principal components of a model's logits."""

    def __init__(self, vectors: Array, offset: Array, scale: Array) -> None:
        self.vectors = np.ascontiguousarray(vectors, np.float32)
        self.offset, self.scale = offset, scale
        self._sums = self.vectors.sum(axis=0)

    def features(self, logits: Array, before: Array) -> Array:
        """Return the input of the network, shape ``(n, 2 k + 1)``.

        ``before`` holds the sums of the vectors of earlier tokens, and their number. A constant
        that is added to all logits of a row does not count.
        """
        means = logits.mean(axis=1, keepdims=True)
        components = logits @ self.vectors - means * self._sums
        states = np.asarray((components - self.offset) / self.scale, np.float32)
        count = before[:, -1:]
        mean_before = before[:, :-1] / np.maximum(count, 1)
        return np.hstack([states, mean_before, np.log1p(count)]).astype(np.float32)


class Guide:
    """Estimates the probability that the finished reply satisfies a label, for every next token."""

    def __init__(self, settings: GuideSettings, space: TokenSpace, network: Mlp) -> None:
        self.settings = settings
        self.space = space
        self._network = network

    def adjusted_logits(self, logits: Array, before: Sequence[int], strength: float) -> Array:
        """Return the log probabilities of all next tokens up to a constant, ``(vocabulary,)``."""
        adjusted: Array = np.asarray(logits, np.float32) / np.float32(self.settings.temperature)
        if not strength:
            return adjusted
        vectors = self.space.vectors
        with single_threaded():
            sums = np.append(vectors[list(before)].sum(axis=0), np.float32(len(before)))
            output = self._network.forward_joint(self.space.features(logits[None], sums[None]))
            odds = np.asarray(output[:, :-1] @ vectors.T + output[:, -1:], np.float32)
            estimate = -np.logaddexp(np.float32(0), -odds)[0]
        adjusted += np.float32(strength) * estimate.astype(np.float32)
        return adjusted

    def check(self, model: SteerableLM) -> None:
        """Raise InputError if a model is not the one that the guide was trained for."""
        name, trained = model.identity.partition("/")[0], self.settings
        vocabulary = vocabulary_digest(model.vocabulary)
        hint = "train one for it (grice train guide --base)"
        if vocabulary != trained.vocabulary:
            raise InputError(
                f"the guide was trained for {trained.base} (vocabulary {trained.vocabulary}), and "
                f"{name} has another vocabulary ({vocabulary}): {hint}"
            )
        if name != trained.base:
            raise InputError(f"the guide was trained for {trained.base}, not for {name}: {hint}")

    def save(self, folder: Path) -> list[str]:
        """Write the arrays and return the names of the files."""
        vectors, steps = quantized(self.space.vectors)
        offset, scale = self.space.offset, self.space.scale
        np.savez_compressed(
            folder / SPACE, vectors=vectors, steps=steps, offset=offset, scale=scale
        )
        self._network.save(folder / NETWORK)
        return [SPACE, NETWORK]


def check_strength(strength: float) -> None:
    """Raise InputError for a strength that is negative, infinite or not a number."""
    if not (math.isfinite(strength) and strength >= 0):
        raise InputError(f"a strength is a number of 0 (the base model) or more, found {strength}")


def vocabulary_digest(vocabulary: Sequence[str]) -> str:
    """Return eight hexadecimal digits that name a vocabulary."""
    return hashlib.sha256("\n".join(vocabulary).encode()).hexdigest()[:8]


def load_guide(folder: Path) -> Guide:
    """Return the guide that ``grice train guide`` wrote into a folder."""
    opened = open_folder(folder)
    if opened.card.kind != KIND:
        raise ModelFolderError(
            f"{folder}: a model of kind {opened.card.kind!r}, where a guide is needed: "
            "grice train guide makes one"
        )
    settings = read_settings(opened, GuideSettings)
    with np.load(opened.file(SPACE), allow_pickle=False) as arrays:
        vectors = arrays["vectors"].astype(np.float32) * arrays["steps"]
        space = TokenSpace(vectors, arrays["offset"], arrays["scale"])
    return Guide(settings, space, Mlp.load(opened.file(NETWORK)))


def likeliest(logits: Vector, before: Sequence[int]) -> int:
    """Return the likeliest token of the base model."""
    del before
    return int(logits.argmax())


class GuidedChoice:
    """Selects the likeliest token; as the first one of a text, the ``first``-next likeliest."""

    def __init__(self, guide: Guide | None, strength: float = 1.0, *, first: int = 0) -> None:
        check_strength(strength)
        self._guide, self._strength, self.first = guide, strength, first

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return the id of the next token."""
        guide = self._guide
        adjusted = guide.adjusted_logits(logits, before, self._strength) if guide else logits
        if self.first and not before:
            order = (-adjusted).argsort(kind="stable")
            return int(order[min(self.first, len(order) - 1)])
        return int(adjusted.argmax())


class GuideLogitsProcessor:
    """A guide for one call of ``generate`` of transformers, in its ``logits_processor=[...]``.

    Where tokens are drawn, ask for the guide's own temperature, ``guide.settings.temperature``.
    """

    def __init__(self, guide: Guide, *, prompt_length: int, strength: float = 1.0) -> None:
        check_strength(strength)
        self._guide, self._start, self._strength = guide, prompt_length, strength

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ANN401 - tensors of torch
        """Return the logits of a batch, shape ``(batch, vocabulary)``, with the guide's part."""
        guide, rows = self._guide, scores.detach().float().cpu().numpy()
        if rows.shape[1] != (size := len(guide.space.vectors)):
            base = f"the guide was trained for {guide.settings.base}, which has {size:,} tokens"
            raise InputError(f"{base}; this model has {rows.shape[1]:,}")
        parts = []
        for row, before in zip(rows, input_ids[:, self._start :].tolist(), strict=True):
            known = np.maximum(row, row[np.isfinite(row)].min())  # another processor may forbid
            both = (guide.adjusted_logits(known, before, each) for each in (self._strength, 0.0))
            parts.append(np.subtract(*both) * np.float32(guide.settings.temperature))
        return scores + scores.new_tensor(np.stack(parts))
