"""A judge of single replies: a linear head on countable features and frozen vectors.

The log odds are a sum with one part per feature: those of
:mod:`grice.metrics.engagement.replies`, the cosine with the turn before, what the turn before
says, what the reply says, how the two meet, and, if the head was put on top of another classifier,
that one's answer. So every part says how far it moved the score.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.models.loader import Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import Encoder, PairClassifier
from grice.numeric import logit, sigmoid
from grice.text.tokens import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Pair

    Array: TypeAlias = NDArray[np.float32]

SURFACE = (
    "words",
    "letters per word",
    "different words",
    "words of the turn before",
    "words shared with it",
    "asks",
    "is asked",
    "exclaims",
)
"""Names of the numbers, in the order of :func:`surface`."""

COUNTS = ("words", "words of the turn before")
"""Those that count; a network does better with their logarithms."""


def surface(before: str, reply: str) -> tuple[float, ...]:
    """Return the numbers that :data:`SURFACE` names.

    ``different words`` and ``words shared with it`` are shares of the reply's words and of its
    different words, 0 if it has none; the last three are 1 or 0.

    >>> dict(zip(SURFACE, surface("Do you like tea?", "I like tea.")))["words shared with it"]
    0.6666666666666666
    """
    words, words_before = WORDS.findall(reply.lower()), WORDS.findall(before.lower())
    different = set(words)
    return (
        float(len(words)),
        sum(map(len, words)) / max(1, len(words)),
        len(different) / max(1, len(words)),
        float(len(words_before)),
        len(different.intersection(words_before)) / max(1, len(different)),
        float("?" in reply),
        float("?" in before),
        float("!" in reply),
    )


BALANCED = 0.5
"""The answer where there is nothing to judge: no word of a turn before, or none of a reply."""

COSINE = "likeness to the turn before"
BASE = "the base classifier"
BLOCKS = ("what the turn before says", "what the reply says", "how the two meet")
WIDTH = np.float32(0.25)
"""Brings the elements of unit vectors times the root of their length below the scalars."""
FAR = 3.0
"""Scalars are cut at so many standard deviations: a reply of a thousand words is just long."""
NARROW = 1e-6
"""A feature that varies less than this is constant."""
ROWS = 256


class Part(NamedTuple):
    """What one feature did: its value and by how much it moved the score."""

    name: str
    value: float
    effect: float


class Weighed(NamedTuple):
    """The probability of the positive class and its parts, largest effect first."""

    value: float
    parts: tuple[Part, ...]


class Scale(NamedTuple):
    """Centre and spread of the scalars over the training data, one each; counts as logarithms."""

    centre: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def of(cls, scalars: NDArray[np.float64]) -> Scale:
        """Return the scale of training data, shape ``(n, scalars)``."""
        straight = _straight(scalars)
        spread = straight.std(axis=0)
        wide = np.where(spread > NARROW, spread, 1.0)
        return cls(tuple(straight.mean(axis=0).tolist()), tuple(wide.tolist()))

    def __call__(self, scalars: NDArray[np.float64]) -> Array:
        """Return scalars in standard deviations, cut at three; shape ``(n, scalars)``."""
        standard = (_straight(scalars) - np.array(self.centre)) / np.array(self.spread)
        return np.asarray(np.clip(standard, -FAR, FAR), np.float32)


def _straight(scalars: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scalars with counts as logarithms of one more."""
    straight = scalars.copy()
    columns = [SURFACE.index(name) for name in COUNTS]
    straight[:, columns] = np.log1p(straight[:, columns])
    return straight


def part_names(*, base: bool) -> tuple[str, ...]:
    """Return the names of the parts in the order of the features."""
    return (*SURFACE, COSINE, *((BASE,) if base else ()), *BLOCKS)


def block_sizes(dimensions: int, *, base: bool) -> list[int]:
    """Return of each part how many features it has."""
    return [1] * (len(SURFACE) + 1 + base) + [dimensions] * len(BLOCKS)


def last_utterance(pair: Pair) -> str:
    """Return the last segment of the left side that is not blank; empty if there is none."""
    return next((text for text in reversed(pair.left) if text.strip()), "")


def reply_scalars(
    pairs: Sequence[Pair], last: Array, reply: Array, base: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Return the numbers that stand for themselves, shape ``(n, 9)``, with a base ``(n, 10)``."""
    counted = np.array([surface(last_utterance(pair), pair.right) for pair in pairs], np.float64)
    columns = [counted.reshape(len(pairs), len(SURFACE)), (last * reply).sum(axis=1)[:, None]]
    if base is not None:
        columns.append(np.array([logit(value, 1e-4) for value in base])[:, None])
    return np.concatenate(columns, axis=1)


def reply_features(scalars: Array, last: Array, reply: Array) -> Array:
    """Return what the head reads: scalars, both vectors and their product, ``(n, k + 3 * d)``."""
    scale = np.float32(np.sqrt(reply.shape[1]))
    before, after = last * scale, reply * scale
    blocks = (scalars, before * WIDTH, after * WIDTH, before * after * WIDTH / 2)
    return np.concatenate(blocks, axis=1, dtype=np.float32)


class ReplySettings(Settings, frozen=True):
    """Of a bundle of kind ``reply-head``.

    Attributes:
        centre: Of the scalars.
        spread: Of the scalars, above 0.
        average: What the three vector parts add to the log odds on average.
        base: Reference of the base classifier; empty if there is none.
        base_digest: The one it was fitted on.
    """

    centre: tuple[float, ...]
    spread: tuple[float, ...]
    average: tuple[float, ...]
    base: str = ""
    base_digest: str = ""


class ReplyHead:
    """The probability that a reply is of the positive class, with what moved it."""

    def __init__(
        self,
        bundle: Bundle,
        settings: ReplySettings,
        encoder: Encoder,
        base: PairClassifier | None = None,
    ) -> None:
        self.identity = f"{bundle.identity}/{encoder.identity}"
        self._names = part_names(base=base is not None)
        self._scale = _scale(bundle, settings, len(self._names) - len(BLOCKS))
        self._encoder = encoder
        self._base = base
        (weights, bias), *further = Mlp.load(bundle.path("head.npz")).layers
        scalars = len(self._names) - len(BLOCKS)
        dimensions, rest = divmod(len(weights) - scalars, len(BLOCKS))
        if further or weights.shape[1] != 1 or rest or dimensions < 1:
            raise BundleError(
                f"{bundle.folder}: head.npz has weights of shape {weights.shape}; one column of "
                f"{scalars} scalars and three blocks of equal size is needed"
            )
        self._folder = bundle.folder
        self._dimensions = dimensions
        # One column a part: a single product gives what each adds to the log odds.
        sizes = block_sizes(dimensions, base=base is not None)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        apart = np.where(owner[:, None] == np.arange(len(sizes)), weights, np.float32(0))
        _check_count(bundle, "average", settings.average, len(BLOCKS))
        average = [0.0] * scalars + list(settings.average)
        self._parts = Mlp([(apart, -np.array(average, np.float32))])
        self._bias = float(bias[0]) + math.fsum(average)

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return for each pair the probability of the positive class, 0 to 1.

        A pair without a word on either side gives 0.5: there is nothing to judge.
        """
        return [weighed.value for weighed in self.weigh(pairs)]

    def weigh(self, pairs: Sequence[Pair]) -> list[Weighed]:
        """Return for each pair the probability and what every part did to it.

        The effect of a part is the probability less the one that an average part of its kind
        would give.
        """
        sides = [(last_utterance(pair), pair.right) for pair in pairs]
        texts = list(dict.fromkeys(text for two in sides for text in two))
        vectors = dict(zip(texts, self._encoder.encode(texts), strict=True))
        judged = [
            i for i, two in enumerate(sides) if vectors[two[0]].any() and vectors[two[1]].any()
        ]
        bases = self._base_probabilities([pairs[i] for i in judged])
        answers = [Weighed(BALANCED, ())] * len(pairs)
        for start in range(0, len(judged), ROWS):
            part = judged[start : start + ROWS]
            read = [pairs[i] for i in part]
            last = np.stack([vectors[sides[i][0]] for i in part])
            reply = np.stack([vectors[sides[i][1]] for i in part])
            self._check(reply.shape[1])
            base = None if bases is None else bases[start : start + ROWS]
            scalars = reply_scalars(read, last, reply, base)
            added = self._parts(reply_features(self._scale(scalars), last, reply))
            for i, given, parts in zip(part, scalars, added, strict=True):
                answers[i] = self._weighed(given, parts)
        return answers

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the encoder reads only its end."""
        return self._encoder.truncated(texts)

    def _base_probabilities(self, pairs: Sequence[Pair]) -> list[float] | None:
        return None if self._base is None else self._base.classify(pairs)

    def _weighed(self, scalars: NDArray[np.float64], added: Array) -> Weighed:
        odds = self._bias + math.fsum(added.tolist())
        without = odds - added.astype(np.float64)
        value, *others = sigmoid(np.array([odds, *without], np.float32)).tolist()
        values = [*scalars.tolist(), *added[len(scalars) :].tolist()]
        parts = [
            Part(name, own, value - other)
            for name, own, other in zip(self._names, values, others, strict=True)
        ]
        return Weighed(value, tuple(sorted(parts, key=lambda part: -abs(part.effect))))

    def _check(self, dimensions: int) -> None:
        if dimensions != self._dimensions:
            raise BundleError(
                f"{self._folder}: its head reads vectors of {self._dimensions} numbers, the "
                f"encoder {self._encoder.identity} gives {dimensions}; use the encoder its card "
                f"names"
            )


def _scale(bundle: Bundle, settings: ReplySettings, scalars: int) -> Scale:
    _check_count(bundle, "centre", settings.centre, scalars)
    _check_count(bundle, "spread", settings.spread, scalars)
    if min(settings.spread) <= 0:
        raise BundleError(f"{bundle.folder / 'card.toml'}: settings.spread: numbers above 0 only")
    return Scale(settings.centre, settings.spread)


def _check_count(bundle: Bundle, name: str, numbers: Sequence[float], count: int) -> None:
    if len(numbers) != count:
        raise BundleError(
            f"{bundle.folder / 'card.toml'}: settings.{name}: a list of {count} numbers is needed"
        )


@model_type(
    "reply-head",
    task="engagement",
    protocol=PairClassifier,
    settings=ReplySettings,
    like_base=True,
)
def reply_head(bundle: Bundle, settings: ReplySettings, loader: ModelLoader) -> ReplyHead:
    """Open a head, and the base classifier if its settings name one."""
    encoder = loader.encoder_of(bundle, Encoder)
    if not settings.base:
        return ReplyHead(bundle, settings, encoder)
    # The base classifier is part of the model: another one would give other numbers.
    digest = loader.bundle(settings.base).digest
    if digest != settings.base_digest:
        raise BundleError(
            f"{bundle.folder}: it was fitted on {settings.base} {settings.base_digest}, here that "
            f"is {digest}; run grice train again"
        )
    base = loader.dependency(bundle, settings.base, PairClassifier, "relevance", "engagement")
    return ReplyHead(bundle, settings, encoder, base)
