"""Probability that a reply is of the positive class, such as engaging, with its parts.

The model is a linear head on countable features and frozen vectors. Its log odds are a sum with one
part per feature: the numbers of :data:`SURFACE`, the cosine with the turn before, the vectors of
the turn before and of the reply, and the answer of a base classifier, if any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from grice.data import FeatureEvidence
from grice.errors import ModelFolderError
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import Encoder, Pair, PairClassifier, check_width, encode_distinct
from grice.numeric import logit, np, sigmoid
from grice.text.tokens import WORDS

if TYPE_CHECKING:
    from grice.models.folder import ModelFolder
    from grice.numeric import Array, Floats

NEUTRAL = 0.5  # the answer where the turn before or the reply holds no word


class Explained(NamedTuple):
    """The probability of the positive class and its parts, largest effect first."""

    value: float
    parts: tuple[FeatureEvidence, ...]


SURFACE = (
    "reply length",
    "mean word length",
    "share of distinct words",
    "length of the turn before",
    "share of words from the turn before",
    "question in the reply",
    "exclamation mark",
)
"""Names of the numbers, in the order of :func:`surface`."""
COUNTS = (0, 3)  # indices of counts, of which the network uses the logarithms
COSINE = "cosine with the turn before"
BASE = "base classifier"
BLOCKS = ("content of the turn before", "content of the reply")
WIDTH = 0.25  # brings the elements of unit vectors times the root of their length below the scalars
FAR = 3.0  # limit of scalars in standard deviations, so that very long replies are just long
NARROW = 1e-6  # a feature that varies less than this is constant
ROWS = 256  # pairs whose features are held at once


def surface(before: str, reply: str) -> tuple[float, ...]:
    """Return the numbers that :data:`SURFACE` names.

    The shares are of the reply's words and of its distinct words, 0 if it has none; the last two
    are 1 or 0.

    >>> surface("Do you like tea?", "I like tea.")[4]
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
        float("!" in reply),
    )


class Scale(NamedTuple):
    """Centre and spread of the scalars over the training data, one each; counts as logarithms."""

    centre: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def of(cls, scalars: Floats) -> Scale:
        """Return the scale of training data, shape ``(n, scalars)``."""
        straight = _straight(scalars)
        spread = straight.std(axis=0)
        wide = np.where(spread > NARROW, spread, 1.0)
        return cls(tuple(straight.mean(axis=0).tolist()), tuple(wide.tolist()))

    def __call__(self, scalars: Floats) -> Array:
        """Return scalars in standard deviations, cut at three; shape ``(n, scalars)``."""
        standard = (_straight(scalars) - np.array(self.centre)) / np.array(self.spread)
        return np.asarray(np.clip(standard, -FAR, FAR), np.float32)


def _straight(scalars: Floats) -> Floats:
    """Return the scalars with counts as logarithms of one more."""
    straight = scalars.copy()
    straight[:, COUNTS] = np.log1p(straight[:, COUNTS])
    return straight


def part_names(*, base: bool) -> tuple[str, ...]:
    """Return the names of the parts in the order of the features."""
    return (*SURFACE, COSINE, *((BASE,) if base else ()), *BLOCKS)


def block_sizes(dimensions: int, *, base: bool) -> list[int]:
    """Return the number of features of each part."""
    return [1] * (len(SURFACE) + 1 + base) + [dimensions] * len(BLOCKS)


def last_utterance(pair: Pair) -> str:
    """Return the last segment of the left side that is not blank; empty if there is none."""
    return next((text for text in reversed(pair.left) if text.strip()), "")


def reply_scalars(
    pairs: Sequence[Pair], last: Array, reply: Array, base: Sequence[float] | None = None
) -> Floats:
    """Return counts, cosine and log odds of the base, shape ``(n, 8)``, with a base ``(n, 9)``."""
    counted = np.array([surface(last_utterance(pair), pair.right) for pair in pairs], np.float64)
    columns = [counted.reshape(len(pairs), len(SURFACE)), (last * reply).sum(axis=1)[:, None]]
    if base is not None:
        columns.append(np.array([logit(value, 1e-4) for value in base])[:, None])
    return np.concatenate(columns, axis=1)


def reply_features(scalars: Array, last: Array, reply: Array) -> Array:
    """Return the head's input: the scalars and both vectors, shape ``(n, k + 2 * d)``."""
    scale = np.float32(WIDTH * np.sqrt(reply.shape[1]))
    return np.concatenate([scalars, last * scale, reply * scale], axis=1, dtype=np.float32)


class ReplySettings(Settings, frozen=True):
    """Settings of a model of type ``reply-head``: its :class:`Scale`, base and averages."""

    centre: tuple[float, ...]
    spread: tuple[float, ...]
    average: tuple[float, ...]  # log odds that the two vectors add on average
    base: str = ""  # reference of the base classifier, or empty
    base_digest: str = ""  # of the one it was fitted on


class ReplyHead:
    """The probability that a reply is of the positive class, with the effect of each part."""

    def __init__(
        self,
        folder: ModelFolder,
        settings: ReplySettings,
        encoder: Encoder,
        base: PairClassifier | None = None,
    ) -> None:
        self.identity = f"{folder.identity}/{encoder.identity}"
        self._names = part_names(base=base is not None)
        self._encoder, self._base, self._folder = encoder, base, folder.path
        self.truncated = encoder.truncated
        ((weights, bias),) = Mlp.load(folder.file("head.npz")).layers
        scalars = len(self._names) - len(BLOCKS)
        card = f"{folder.path / 'card.toml'}: settings"
        for name, count in (("centre", scalars), ("spread", scalars), ("average", len(BLOCKS))):
            if len(getattr(settings, name)) != count:
                raise ModelFolderError(f"{card}.{name} needs {count} numbers; run grice train")
        if min(settings.spread) <= 0:
            raise ModelFolderError(f"{card}.spread: numbers above 0 only")
        self._scale = Scale(settings.centre, settings.spread)
        self._dimensions = (len(weights) - scalars) // len(BLOCKS)
        # One column a part: a single product gives the log odds that each adds.
        sizes = block_sizes(self._dimensions, base=base is not None)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        apart = np.where(owner[:, None] == np.arange(len(sizes)), weights, np.float32(0))
        average = [0.0] * scalars + list(settings.average)
        self._parts = Mlp([(apart, -np.array(average, np.float32))])
        self._bias = float(bias[0]) + math.fsum(average)

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each pair; 0.5 if either side holds no word."""
        return [explained.value for explained in self.explain(pairs)]

    def explain(self, pairs: Sequence[Pair]) -> list[Explained]:
        """Return probability and parts of each pair.

        The effect of a part is the probability less the one with an average part in its place.
        """
        sides = [(last_utterance(pair), pair.right) for pair in pairs]
        vectors = encode_distinct(self._encoder, [text for side in sides for text in side])
        worded = [
            i for i, two in enumerate(sides) if vectors[two[0]].any() and vectors[two[1]].any()
        ]
        bases = None if self._base is None else self._base.classify([pairs[i] for i in worded])
        answers = [Explained(NEUTRAL, ())] * len(pairs)
        for start in range(0, len(worded), ROWS):
            part = worded[start : start + ROWS]
            last, reply = (np.stack([vectors[sides[i][side]] for i in part]) for side in (0, 1))
            check_width(reply.shape[1], self._dimensions, self._folder, self._encoder)
            base = None if bases is None else bases[start : start + ROWS]
            scalars = reply_scalars([pairs[i] for i in part], last, reply, base)
            added = self._parts(reply_features(self._scale(scalars), last, reply))
            for i, own, parts in zip(part, scalars, added, strict=True):
                answers[i] = self._explained(own, parts)
        return answers

    def _explained(self, scalars: Floats, added: Array) -> Explained:
        odds = self._bias + math.fsum(added.tolist())
        without = odds - added.astype(np.float64)
        value, *others = sigmoid(np.array([odds, *without], np.float32)).tolist()
        values = [*scalars.tolist(), *added[len(scalars) :].tolist()]
        parts = [
            FeatureEvidence(name, own, value - other)
            for name, own, other in zip(self._names, values, others, strict=True)
        ]
        return Explained(value, tuple(sorted(parts, key=lambda part: -abs(part.effect or 0))))


@model_type("reply-head", task="engagement", settings=ReplySettings, like_base=True)
def reply_head(folder: ModelFolder, settings: ReplySettings, loader: ModelLoader) -> ReplyHead:
    """Open a head, and the base classifier if its settings name one."""
    encoder = loader.encoder_of(folder, Encoder)
    if not settings.base:
        return ReplyHead(folder, settings, encoder)
    # The base classifier is part of the model: another one would give other numbers.
    digest = loader.folder(settings.base).digest
    if digest != settings.base_digest:
        raise ModelFolderError(
            f"{folder.path}: it was fitted on {settings.base} {settings.base_digest}, here that "
            f"is {digest}; run grice train again"
        )
    base = loader.dependency(folder, settings.base, PairClassifier, "relevance", "engagement")
    return ReplyHead(folder, settings, encoder, base)
