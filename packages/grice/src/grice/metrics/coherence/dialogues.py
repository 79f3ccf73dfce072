"""How coherent a conversation is, and each turn in it: small networks on turn vectors.

Every turn is encoded by itself, so a conversation of hundreds of turns costs one encoding a turn,
and one more turn costs one more. The networks read a turn beside the turns around it, what its
speaker said last and all that was said, with its features: those of
:mod:`grice.metrics.coherence.features`, and how well it would come after each other turn
(:class:`Towers`). The conversation is judged from its turns (:func:`dialogue_features`), with
features that the networks do not read: replaced-token detection, verbatim repetition, and how each
turn was rated out of context, which cannot tell a conversation from its turns in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.metrics.coherence import DialogueClassifier
from grice.metrics.coherence.features import (
    AGAIN,
    NUMBERS,
    SPEAKER,
    Bigrams,
    speaker_features,
    turn_features,
    verbatim_features,
)
from grice.metrics.coherence.replaced_tokens import (
    REPLACED_TOKEN_FEATURES,
    CachedReplacedTokens,
    ReplacedTokenDetector,
    replaced_token_features,
)
from grice.models.cache import CachedEncoder
from grice.models.loader import Settings, model_type
from grice.models.products import single_threaded
from grice.numeric import sigmoid, unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.metrics.coherence import Dialogue
    from grice.metrics.coherence.replaced_tokens import ReplacedTokens
    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Encoder

    Array: TypeAlias = NDArray[np.float32]
    Layers: TypeAlias = list[tuple[Array, Array]]


BACK = 4
"""Turns of a history that the towers read."""
ORDER = 9
"""How many numbers say how well a turn stands where it stands."""
SHARPNESS = np.float32(8)
"""What cosines of the towers are multiplied by before one is set against the others."""
NEVER = np.float32(-30)


class Towers:
    """How well each turn of a conversation would come right after each other one."""

    def __init__(self, left: Layers, right: Layers, decay: float) -> None:
        self.left, self.right, self.decay = left, right, decay

    def fits(self, vectors: Array) -> Array:
        """Return cosines: in row i how each turn fits after turn i and the turns before it.

        Args:
            vectors: Unit vectors of the turns, shape ``(turns, d)``.
        """
        scale = np.float32(np.sqrt(vectors.shape[1]))
        before = np.zeros_like(vectors)
        before[1:] = vectors[:-1]
        whole = vectors.copy()
        for ago in range(1, BACK):
            whole[ago:] += np.float32(self.decay**ago) * vectors[:-ago]
        whole = unit_rows(whole)
        read = np.concatenate([vectors, whole, before], axis=1) * scale
        asked = unit_rows(whole * scale + run_layers(self.left, read))
        answered = unit_rows(vectors * scale + run_layers(self.right, vectors * scale))
        fits: Array = asked @ answered.T
        return fits


def order_features(fits: Array) -> Array:
    """Return how well each turn stands where it stands, shape ``(turns, ORDER)``.

    For a turn after the one before it, and for the one after it: how well it fits, how much better
    than the other turns would there, and than it would elsewhere. Then how well the turns around
    it would fit without it, and it without the turn before it; and how much better it would fit
    after some other turn.
    """
    count = len(fits)
    features = np.zeros((count, ORDER), np.float32)
    if count < 2:
        return features
    sharp = fits * SHARPNESS
    others = sharp.copy()
    np.fill_diagonal(others, NEVER)
    usual = np.float32(np.log(count - 1))
    by_turn, by_place = (_log_sum(others, axis) - usual for axis in (1, 0))
    following = np.diagonal(sharp, 1)
    fit, best, fitting = following / 2, following - by_turn[:-1], following - by_place[1:]
    for column, values in enumerate((fit, best / 2, fitting / 2)):
        features[1:, column], features[:-1, 3 + column] = values, values
    if count > 2:
        skipped = (np.diagonal(sharp, 2) - by_turn[:-2]) / 2
        features[1:-1, 6], features[2:, 7] = skipped, skipped
        places = np.arange(count - 1)
        others[places, places + 1] = NEVER
        features[1:, 8] = (others.max(axis=0)[1:] - following) / 2
    return features


def run_layers(layers: Layers, rows: Array) -> Array:
    """Return the outputs of layers with rectifiers between them, a row for each row."""
    *hidden, last = layers
    for weight, bias in hidden:
        rows = np.maximum(rows @ weight + bias, 0)
    outputs: Array = rows @ last[0] + last[1]
    return outputs


def _log_sum(values: Array, axis: int) -> Array:
    highest = values.max(axis=axis, keepdims=True)
    sums: Array = np.log(np.exp(values - highest).sum(axis=axis)) + highest.squeeze(axis)
    return sums


LOWEST = 0.25
"""Share of the turns that stand for the worst of a conversation, at least one."""
POOLED = 6
"""How many numbers stand for the outputs of the turns of a conversation."""
BESIDE = REPLACED_TOKEN_FEATURES + AGAIN
"""How many numbers of a turn the networks do not read."""
ALONE = 3
"""What is said of a turn by itself: that a person wrote it, that people would call it good, and
that they would like a conversation of such turns."""
WHOLE = POOLED + 2 * (NUMBERS + ORDER) + SPEAKER + 3 * BESIDE + 2 * ALONE
"""How many numbers a conversation is judged by."""


def pooled(outputs: Array) -> Array:
    """Return mean, mean of the lowest quarter and lowest value of each output, one by one."""
    ordered = np.sort(outputs, axis=0)
    pools = [outputs.mean(axis=0), ordered[: _quarter(outputs)].mean(axis=0), ordered[0]]
    return np.stack(pools, axis=1).reshape(-1)


def flaw_features(
    replaced: Sequence[ReplacedTokens], speakers: Sequence[str | int], texts: Sequence[str]
) -> Array:
    """Return what the networks do not read of the turns, shape ``(turns, BESIDE)``; high is bad."""
    return np.concatenate(
        [replaced_token_features(replaced), verbatim_features(speakers, texts)], axis=1
    )


def context_free_features(alone: Array, speakers: Sequence[str | int]) -> Array:
    """Return how turns sound, each by itself, on average and of the speaker who sounds worst."""
    _, whose, turns = np.unique(
        [str(speaker) for speaker in speakers], return_inverse=True, return_counts=True
    )
    sums = np.zeros((len(turns), alone.shape[1]))
    np.add.at(sums, whose, alone)
    worst = (sums / turns[:, None]).min(axis=0)
    return np.concatenate([alone.mean(axis=0), worst], dtype=np.float32)


def dialogue_features(
    outputs: Array, numbers: Array, beside: Array, alone: Array, speakers: Sequence[str | int]
) -> Array:
    """Return what a conversation is judged by, shape ``(WHOLE,)``.

    Args:
        outputs: The networks' outputs for its turns, shape ``(turns, 2)``.
        numbers: Plain numbers and those of :func:`order_features`, beside each other.
        beside: What :func:`flaw_features` gives.
        alone: How each turn sounds by itself, shape ``(turns, ALONE)``.
        speakers: Who says each turn.
    """
    low = np.sort(numbers, axis=0)[: _quarter(numbers)].mean(axis=0)
    high = np.sort(beside, axis=0)[-_quarter(beside) :].mean(axis=0)
    parts = [
        pooled(outputs),
        numbers.mean(axis=0),
        low,
        speaker_features(numbers, speakers),
        beside.mean(axis=0),
        high,
        beside.max(axis=0),
        context_free_features(alone, speakers),
    ]
    return np.concatenate(parts, dtype=np.float32)


def _quarter(rows: Array) -> int:
    return max(1, int(LOWEST * len(rows)))


DECAY = 0.7
"""Weight of a turn in all that was said, relative to the turn after it."""
AT_ONCE, AROUND = 128, 64
"""Turns of a long conversation that are read at once, and what is read before and after them."""


class ReplacedTokenScorer(Protocol):
    """Says which words of a text look as if they did not belong there."""

    identity: str

    def replaced_tokens(self, texts: Sequence[str]) -> list[ReplacedTokens]:
        """Return for each text what is found in it."""
        ...


def own_turns(speakers: Sequence[str | int]) -> NDArray[np.int64]:
    """Return where the speaker of each turn spoke last, -1 where never."""
    last: dict[str | int, int] = {}
    places = []
    for i, speaker in enumerate(speakers):
        places.append(last.get(speaker, -1))
        last[speaker] = i
    return np.array(places, np.int64)


def turn_blocks(turns: Array, own: NDArray[np.int64]) -> Array:
    """Return what the networks read of each turn beside its numbers, shape ``(turns, 6 * axes)``.

    The turn, the turn before it, and the products of the turn with the turn before it, with what
    its speaker said last, with all that was said and with the turn after it.

    Args:
        turns: Turns on the axes of the bundle, shape ``(turns, axes)``.
        own: Where the speaker of each turn spoke last; -1 where never.
    """
    before, after = np.zeros_like(turns), np.zeros_like(turns)
    before[1:], after[:-1] = turns[:-1], turns[1:]
    own_last = np.where((own >= 0)[:, None], turns[own], np.float32(0))
    products = [turns * other for other in (before, own_last, _so_far(turns), after)]
    return np.concatenate([turns, before, *products], axis=1, dtype=np.float32)


def _so_far(turns: Array) -> Array:
    """Return all that was said before each turn; later turns weigh more."""
    sums = np.zeros_like(turns)
    for i in range(1, len(turns)):
        sums[i] = np.float32(DECAY) * sums[i - 1] + turns[i - 1]
    return unit_rows(sums) * np.float32(np.sqrt(turns.shape[1]))


class DialogueSettings(Settings, frozen=True):
    """Of a bundle of kind ``thread-head``: the weight of a turn relative to the turn after it."""

    decay: float


class DialogueHead:
    """How coherent a conversation is, and each of its turns.

    Args:
        bundle: The opened bundle: ``head.npz`` with towers, axes, networks (whose outputs are
            averaged), the network that reads turns by themselves, the weights of
            :func:`dialogue_features`, and those of a turn's output and of :func:`flaw_features` for
            the turn; ``bigrams.npz`` with what words stand side by side.
        settings: What its card states.
        encoder: The encoder they were fitted on.
        words: The judge of words that they were fitted on.
    """

    def __init__(
        self,
        bundle: Bundle,
        settings: DialogueSettings,
        encoder: Encoder,
        words: ReplacedTokenScorer,
    ) -> None:
        self.identity = f"{bundle.identity}+{encoder.identity}"
        self._encoder, self._words = encoder, words
        self._bigrams = Bigrams.load(bundle.path("bigrams.npz"))
        with np.load(bundle.path("head.npz"), allow_pickle=False) as file:
            arrays = {name: file[name].astype(np.float32) for name in file.files}
        if arrays.get("whole", self._none).shape != (WHOLE + 1,):
            raise BundleError(f"{bundle.folder}: {WHOLE + 1} weights are needed")
        self._axes, self._mean, self._whole = arrays["axes"], arrays["mean"], arrays["whole"]
        self._turns, self._alone = arrays["turns"], _layers(arrays, "alone")
        left, right = _layers(arrays, "left"), _layers(arrays, "right")
        self._towers = Towers(left, right, settings.decay)
        count = sum(name.startswith("net") and name.endswith("_weight_0") for name in arrays)
        self._nets = [_layers(arrays, f"net{i}") for i in range(count)]

    _none = np.zeros(0, np.float32)

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation its value and, turn by turn, how well it carries on.

        Both are 0 to 1, higher is better; that of a turn is the probability that it was not put
        there or changed on purpose.
        """
        texts = [text for dialogue in dialogues for text in dialogue.texts]
        # Words first: what reads the states of tokens leaves the vectors behind.
        replaced = iter(self._words.replaced_tokens(texts))
        vectors = iter(self._encoder.encode(texts))
        readings: list[tuple[float, tuple[float, ...]]] = []
        for dialogue in dialogues:
            if not dialogue.texts:
                readings.append((0.5, ()))
                continue
            matrix = np.stack([next(vectors) for _ in dialogue.texts])
            words = [next(replaced) for _ in dialogue.texts]
            beside = flaw_features(words, dialogue.speakers, dialogue.texts)
            outputs, numbers = self.judged(matrix, dialogue.speakers, dialogue.texts)
            with single_threaded():
                alone = run_layers(self._alone, matrix * np.float32(np.sqrt(matrix.shape[1])))
            whole = dialogue_features(outputs, numbers, beside, alone, dialogue.speakers)
            logit = whole @ self._whole[:-1] + self._whole[-1]
            with single_threaded():
                turns = outputs[:, 0] * self._turns[0] + beside @ self._turns[1:-1]
            each = sigmoid(turns + self._turns[-1])
            readings.append((float(sigmoid(logit)), tuple(map(float, each))))
        return readings

    def judged(
        self, vectors: Array, speakers: Sequence[str | int], texts: Sequence[str]
    ) -> tuple[Array, Array]:
        """Return two logits a turn, shape ``(turns, 2)``, and the numbers beside them."""
        outputs, numbers = [], []
        with single_threaded():
            places = (vectors - self._mean) @ self._axes
            for start in range(0, len(texts), AT_ONCE):
                low, end = max(0, start - AROUND), min(len(texts), start + AT_ONCE)
                part = slice(low, end + AROUND)
                given = self.numbers(vectors[part], speakers[part], texts[part])
                blocks = turn_blocks(places[part], own_turns(speakers[part]))
                read = np.concatenate([blocks, given], axis=1)
                kept = slice(start - low, end - low)
                each = [run_layers(net, read)[kept] for net in self._nets]
                outputs.append(np.mean(each, axis=0, dtype=np.float32))
                numbers.append(given[kept])
        return np.concatenate(outputs), np.concatenate(numbers)

    def numbers(self, vectors: Array, speakers: Sequence[str | int], texts: Sequence[str]) -> Array:
        """Return the numbers of turns, shape ``(turns, NUMBERS + ORDER)``."""
        plain = turn_features(vectors, speakers, texts, self._bigrams)
        return np.concatenate([plain, order_features(self._towers.fits(vectors))], axis=1)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        return self._encoder.truncated(texts)


def _layers(arrays: dict[str, Array], name: str) -> Layers:
    """Return a network's layers; its weights are int8 with a scale per output."""
    count = sum(key.startswith(f"{name}_weight_") for key in arrays)
    return [
        (arrays[f"{name}_weight_{i}"] * arrays[f"{name}_scale_{i}"], arrays[f"{name}_bias_{i}"])
        for i in range(count)
    ]


@model_type("thread-head", task="coherence", protocol=DialogueClassifier, settings=DialogueSettings)
def thread_head(bundle: Bundle, settings: DialogueSettings, loader: ModelLoader) -> DialogueHead:
    """Open the networks of a bundle, with its detector of replaced tokens."""
    encoder = loader.encoder_of(bundle, CachedEncoder)
    detector = ReplacedTokenDetector.open(bundle, encoder.identity)
    words = CachedReplacedTokens(detector, encoder, loader.cache)
    return DialogueHead(bundle, settings, encoder, words)
