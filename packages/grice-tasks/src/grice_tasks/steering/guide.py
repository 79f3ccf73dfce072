"""A guide: for every next token, how probable it is that the finished reply satisfies a label.

The base model stays as it is; at each step the probability of every token is multiplied by the
guide's estimate for the reply that goes on with it (the neurally-decomposed oracle of Meng et al.,
NeurIPS 2022):

    q(y_t | x, y_<t)  ∝  p(y_t | x, y_<t) · R(x, y_≤t) ** strength

With the true probabilities and strength 1 whole replies have the distribution of the base model's
replies that satisfy the label: of all distributions that always satisfy it, the one nearest to the
base (least Kullback-Leibler divergence). Strength 0 is the base.

A guide reads next-token logits and nothing else of the model. They are a linear image of its last
hidden state, so that their principal components are that state as far as the vocabulary can see
it, and the loadings of these components are a vector of each token. A network with one hidden layer
turns the state into a vector and a constant, whose product with the vectors of tokens is the log
odds of all continuations at once: the model reads a step once, where the value of each next prefix
would need a reading for every token that is weighed.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.errors import InputError, ModelFolderError
from grice.models.decoding import sample_token
from grice.models.folder import open_folder
from grice.models.loader import Settings, read_settings
from grice.models.mlp import Mlp, quantized
from grice.models.products import single_threaded
from grice.models.protocols import Generated
from grice.numeric import sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.protocols import SteerableLM

    Array: TypeAlias = NDArray[np.float32]
    from collections.abc import Callable

    from grice.models.protocols import Vector

KIND = "guide"
SPACE, NETWORK = "space.npz", "network.npz"


class GuideSettings(Settings, frozen=True, kw_only=True):
    """Settings in the card of a guide."""

    base: str  # name and digest of the model that it was trained for
    vocabulary: str  # digest of the model's vocabulary
    metrics: tuple[str, ...]  # metrics whose labels a reply has to satisfy, all of them
    threshold: float  # A score from here on satisfies a metric
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

    def states(self, logits: Array) -> Array:
        """Return the states of logits, shapes ``(n, vocabulary)`` and ``(n, k)``.

        What is added to all logits of a row does not count, so that log probabilities have the
        states of the logits.
        """
        means = logits.mean(axis=1, keepdims=True)
        components = logits @ self.vectors - means * self._sums
        return np.asarray((components - self.offset) / self.scale, np.float32)

    def features(self, states: Array, before: Array) -> Array:
        """Return what the network reads, shape ``(n, 2 k + 1)``."""
        count = before[:, -1:]
        means = before[:, :-1] / np.maximum(count, 1)
        return np.hstack([states, means, np.log1p(count)]).astype(np.float32)


class Guide:
    """Estimates the probability that the finished reply satisfies a label, for every next token."""

    def __init__(self, settings: GuideSettings, space: TokenSpace, network: Mlp) -> None:
        self.settings = settings
        self.space = space
        self._network = network

    def probabilities(self, features: Array) -> Array:
        """Return the estimate for every next token, shape ``(n, vocabulary)``, 0 to 1."""
        return np.asarray(sigmoid(self._log_odds(features)), np.float32)

    def log_probabilities(self, features: Array) -> Array:
        """Return the logarithm of :meth:`probabilities`, at most 0."""
        return np.asarray(-np.logaddexp(np.float32(0), -self._log_odds(features)), np.float32)

    def weighed(self, logits: Array, before: Sequence[int], strength: float) -> Array:
        """Return the log probabilities of all next tokens up to a constant, ``(vocabulary,)``."""
        weighed: Array = np.asarray(logits, np.float32) / np.float32(self.settings.temperature)
        if strength:
            weighed += np.float32(strength) * self.log_estimate(logits, before)
        return weighed

    def log_estimate(self, logits: Array, before: Sequence[int]) -> Array:
        """Return the log probability of the label for each next token, ``(vocabulary,)``."""
        with single_threaded():
            sums = np.append(self.space.vectors[list(before)].sum(axis=0), np.float32(len(before)))
            features = self.space.features(self.space.states(logits[None]), sums[None])
            estimate: Array = self.log_probabilities(features)[0]
            return estimate

    def _log_odds(self, features: Array) -> Array:
        output = self._network.together(features)
        return np.asarray(output[:, :-1] @ self.space.vectors.T + output[:, -1:], np.float32)

    def check(self, model: SteerableLM) -> None:
        """Raise InputError if a model is not the one that the guide was trained for."""
        name = model.identity.partition("/")[0]
        vocabulary = vocabulary_digest(model.vocabulary)
        if vocabulary != self.settings.vocabulary:
            raise InputError(
                f"the guide was trained for {self.settings.base} (vocabulary "
                f"{self.settings.vocabulary}), and {name} has another vocabulary ({vocabulary}): "
                "train one for it (grice train guide --base)"
            )
        if name != self.settings.base:
            raise InputError(
                f"the guide was trained for {self.settings.base}, not for {name}: "
                "train one for it (grice train guide --base)"
            )

    def save(self, folder: Path) -> list[str]:
        """Write the arrays and return the names of the files."""
        vectors, steps = quantized(self.space.vectors)
        np.savez_compressed(
            folder / SPACE,
            vectors=vectors,
            steps=steps,
            offset=self.space.offset,
            scale=self.space.scale,
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


def load_guide(directory: Path) -> Guide:
    """Return the guide that ``grice train guide`` wrote into a folder."""
    folder = open_folder(directory)
    if folder.card.kind != KIND:
        raise ModelFolderError(
            f"{directory}: a model of kind {folder.card.kind!r}, where a guide is needed: "
            "grice train guide makes one"
        )
    settings = read_settings(folder, GuideSettings)
    with np.load(folder.file(SPACE), allow_pickle=False) as arrays:
        vectors = arrays["vectors"].astype(np.float32) * arrays["steps"]
        space = TokenSpace(vectors, arrays["offset"], arrays["scale"])
    return Guide(settings, space, Mlp.load(folder.file(NETWORK)))


def likeliest(logits: Vector, before: Sequence[int]) -> int:
    """Return the likeliest token: what the model says as it is."""
    del before
    return int(logits.argmax())


class GuidedChoice:
    """Selects tokens with a guide; a :class:`~grice.models.decoding.TokenSelector`."""

    def __init__(
        self,
        guide: Guide,
        strength: float = 1.0,
        draw: Callable[[], float] | None = None,
        *,
        first: int = 0,
    ) -> None:
        check_strength(strength)
        self._guide, self._strength = guide, strength
        self._draw, self._first = draw, first

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return the id of the next token."""
        weighed = self._guide.weighed(logits, before, self._strength)
        if self._first and not before:
            order = (-weighed).argsort(kind="stable")
            return int(order[min(self._first, len(order) - 1)])
        return int(weighed.argmax()) if self._draw is None else sample_token(weighed, self._draw())


class GuidedGenerator:
    """Writes alternatives as a causal generator does, under a guide."""

    def __init__(self, model: SteerableLM, guide: Guide, strength: float = 1.0) -> None:
        guide.check(model)
        check_strength(strength)
        self._model, self._guide, self._strength = model, guide, strength

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return texts that begin with the likeliest guided tokens and go on with the best.

        No log probability is known of them: it is 0.
        """
        if count < 1:
            raise InputError(f"{count} texts: at least one is needed")
        written = iter(
            self._model.decode(
                [prompt for prompt in prompts for _ in range(count)],
                [
                    GuidedChoice(self._guide, self._strength, first=place)
                    for _ in prompts
                    for place in range(count)
                ],
                stop=stop,
                max_tokens=max_tokens,
            )
        )
        return [tuple(Generated(next(written).text, 0.0) for _ in range(count)) for _ in prompts]
