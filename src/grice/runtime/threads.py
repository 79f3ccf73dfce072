"""How well each turn of a conversation carries its thread on: small networks on turn vectors.

Every turn is encoded by itself, so a conversation of hundreds of turns costs one encoding a turn,
and one more turn costs one more. Two towers say how well each turn would come right after each
other one, so that a turn that would fit better elsewhere is seen. The networks read a turn beside
the turns around it, what its speaker said last and all that was said, with these fits and with
plain numbers (:mod:`grice.runtime.thread_numbers`); the conversation is judged from its turns.
Beside what the networks say stands what they do not read: which words look as if they did not
belong (:mod:`grice.runtime.misfits`), what is said again word for word, and how each turn sounds
by itself: that cannot tell a conversation from the same one in another order, and so ranks
conversations as people do without a word against their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.runtime.blas import single_threaded
from grice.runtime.heads import sigmoid
from grice.runtime.memo import MemoEncoder, MemoMisfits
from grice.runtime.misfits import MISFITS, MisfitHead, misfit_numbers
from grice.runtime.protocols import Thread, ThreadReader
from grice.runtime.registry import Settings, encoder_of, model_kind
from grice.runtime.thread_numbers import (
    AGAIN,
    NUMBERS,
    SPEAKER,
    Bigrams,
    again_numbers,
    speaker_numbers,
    turn_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.runtime.bundle import Bundle
    from grice.runtime.misfits import Misfits
    from grice.runtime.protocols import Encoder
    from grice.runtime.registry import Opener

    Array: TypeAlias = NDArray[np.float32]
    Layers: TypeAlias = list[tuple[Array, Array]]

__all__ = [
    "ALONE",
    "BESIDE",
    "ORDER",
    "POOLED",
    "WHOLE",
    "ThreadHead",
    "ThreadSettings",
    "Towers",
    "WordJudge",
    "alone_numbers",
    "beside_numbers",
    "order_numbers",
    "own_turns",
    "pooled",
    "thread_head",
    "turn_blocks",
    "whole_numbers",
]

DECAY = 0.7
"""Weight of a turn in all that was said, relative to the turn after it."""
BACK = 4
"""Turns of a history that the towers read."""
LOWEST = 0.25
"""Share of the turns that stand for the worst of a conversation, at least one."""
ORDER = 9
"""How many numbers say how well a turn stands where it stands."""
POOLED = 6
"""How many numbers stand for the outputs of the turns of a conversation."""
BESIDE = MISFITS + AGAIN
"""How many numbers of a turn the networks do not read."""
ALONE = 3
"""What is said of a turn by itself: that a person wrote it, that people would call it good, and
that they would like a conversation of such turns."""
WHOLE = POOLED + 2 * (NUMBERS + ORDER) + SPEAKER + 3 * BESIDE + 2 * ALONE
"""How many numbers a conversation is judged by."""
SHARPNESS = np.float32(8)
"""What cosines of the towers are multiplied by before one is set against the others."""
AT_ONCE, AROUND = 128, 64
"""Turns of a long conversation that are read at once, and what is read before and after them."""
NEVER = np.float32(-30)


class WordJudge(Protocol):
    """Says which words of a text look as if they did not belong there."""

    identity: str

    def misfits(self, texts: Sequence[str]) -> list[Misfits]:
        """Return for each text what is found in it."""
        ...


class Towers:
    """How well each turn of a conversation would come right after each other one.

    Args:
        left: Layers that read a history.
        right: Layers that read a turn.
        decay: Weight of a turn in the whole history, relative to the turn after it.
    """

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
        whole = _unit(whole)
        read = np.concatenate([vectors, whole, before], axis=1) * scale
        asked = _unit(whole * scale + _run(self.left, read))
        answered = _unit(vectors * scale + _run(self.right, vectors * scale))
        found: Array = asked @ answered.T
        return found


def order_numbers(fits: Array) -> Array:
    """Return how well each turn stands where it stands, shape ``(turns, ORDER)``.

    For a turn after the one before it, and for the one after it: how well it fits, how much better
    than the other turns would there, and than it would elsewhere. Then how well the turns around
    it would fit without it, and it without the turn before it; and how much better it would fit
    after some other turn.

    Args:
        fits: What :meth:`Towers.fits` gives.
    """
    count = len(fits)
    found = np.zeros((count, ORDER), np.float32)
    if count < 2:
        return found
    sharp = fits * SHARPNESS
    others = sharp.copy()
    np.fill_diagonal(others, NEVER)
    usual = np.float32(np.log(count - 1))
    by_turn, by_place = (_log_sum(others, axis) - usual for axis in (1, 0))
    following = np.diagonal(sharp, 1)
    fit, best, fitting = following / 2, following - by_turn[:-1], following - by_place[1:]
    for column, values in enumerate((fit, best / 2, fitting / 2)):
        found[1:, column], found[:-1, 3 + column] = values, values
    if count > 2:
        skipped = (np.diagonal(sharp, 2) - by_turn[:-2]) / 2
        found[1:-1, 6], found[2:, 7] = skipped, skipped
        places = np.arange(count - 1)
        others[places, places + 1] = NEVER
        found[1:, 8] = (others.max(axis=0)[1:] - following) / 2
    return found


def own_turns(speakers: Sequence[str | int]) -> NDArray[np.int64]:
    """Return where the speaker of each turn spoke last, -1 where never."""
    last: dict[str | int, int] = {}
    found = []
    for i, speaker in enumerate(speakers):
        found.append(last.get(speaker, -1))
        last[speaker] = i
    return np.array(found, np.int64)


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
    said = np.where((own >= 0)[:, None], turns[own], np.float32(0))
    products = [turns * other for other in (before, said, _so_far(turns), after)]
    return np.concatenate([turns, before, *products], axis=1, dtype=np.float32)


def _so_far(turns: Array) -> Array:
    """Return all that was said before each turn; later turns weigh more."""
    sums = np.zeros_like(turns)
    for i in range(1, len(turns)):
        sums[i] = np.float32(DECAY) * sums[i - 1] + turns[i - 1]
    return _unit(sums) * np.float32(np.sqrt(turns.shape[1]))


def pooled(outputs: Array) -> Array:
    """Return mean, mean of the lowest quarter and lowest value of each output, one by one."""
    ordered = np.sort(outputs, axis=0)
    found = [outputs.mean(axis=0), ordered[: _quarter(outputs)].mean(axis=0), ordered[0]]
    return np.stack(found, axis=1).reshape(-1)


def beside_numbers(
    misfits: Sequence[Misfits], speakers: Sequence[str | int], texts: Sequence[str]
) -> Array:
    """Return what the networks do not read of the turns, shape ``(turns, BESIDE)``; high is bad."""
    return np.concatenate([misfit_numbers(misfits), again_numbers(speakers, texts)], axis=1)


def alone_numbers(alone: Array, speakers: Sequence[str | int]) -> Array:
    """Return how turns sound, each by itself, on average and of the speaker who sounds worst.

    Args:
        alone: Three numbers a turn, shape ``(turns, ALONE)``.
        speakers: Who says each turn.
    """
    _, whose, turns = np.unique(
        [str(speaker) for speaker in speakers], return_inverse=True, return_counts=True
    )
    sums = np.zeros((len(turns), alone.shape[1]))
    np.add.at(sums, whose, alone)
    worst = (sums / turns[:, None]).min(axis=0)
    return np.concatenate([alone.mean(axis=0), worst], dtype=np.float32)


def whole_numbers(
    outputs: Array, numbers: Array, beside: Array, alone: Array, speakers: Sequence[str | int]
) -> Array:
    """Return what a conversation is judged by, shape ``(WHOLE,)``.

    Args:
        outputs: The networks' outputs for its turns, shape ``(turns, 2)``.
        numbers: Plain numbers and those of :func:`order_numbers`, beside each other.
        beside: What :func:`beside_numbers` gives.
        alone: How each turn sounds by itself, shape ``(turns, ALONE)``.
        speakers: Who says each turn.
    """
    low = np.sort(numbers, axis=0)[: _quarter(numbers)].mean(axis=0)
    high = np.sort(beside, axis=0)[-_quarter(beside) :].mean(axis=0)
    parts = [pooled(outputs), numbers.mean(axis=0), low, speaker_numbers(numbers, speakers),
             beside.mean(axis=0), high, beside.max(axis=0),
             alone_numbers(alone, speakers)]  # fmt: skip
    return np.concatenate(parts, dtype=np.float32)


def _quarter(rows: Array) -> int:
    return max(1, int(LOWEST * len(rows)))


def _run(layers: Layers, rows: Array) -> Array:
    *hidden, last = layers
    for weight, bias in hidden:
        rows = np.maximum(rows @ weight + bias, 0)
    found: Array = rows @ last[0] + last[1]
    return found


def _unit(rows: Array) -> Array:
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    unit: Array = rows / np.maximum(norms, np.float32(1e-6))
    return unit


def _log_sum(values: Array, axis: int) -> Array:
    highest = values.max(axis=axis, keepdims=True)
    found: Array = np.log(np.exp(values - highest).sum(axis=axis)) + highest.squeeze(axis)
    return found


class ThreadSettings(Settings, frozen=True):
    """Of a bundle of kind ``thread-head``: the weight of a turn relative to the turn after it."""

    decay: float


class ThreadHead:
    """How well the turns of a conversation, and the whole of it, carry its thread on.

    Args:
        bundle: The opened bundle: ``head.npz`` with towers, axes, networks (whose outputs are
            averaged), the network that reads turns by themselves, the weights of
            :func:`whole_numbers`, and those of a turn's output and of :func:`beside_numbers` for
            the turn; ``bigrams.npz`` with what words stand side by side.
        settings: What its card states.
        encoder: The encoder they were fitted on.
        words: The judge of words that they were fitted on.

    Raises:
        BundleError: If the weights are not as they must be.
    """

    def __init__(
        self, bundle: Bundle, settings: ThreadSettings, encoder: Encoder, words: WordJudge
    ) -> None:
        self.identity = f"{bundle.card.name}@{bundle.digest}+{encoder.identity}"
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

    def read(self, threads: Sequence[Thread]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation its value and, turn by turn, how well it carries on.

        Both are 0 to 1, higher is better; that of a turn is the probability that it was not put
        there or changed on purpose.
        """
        texts = [text for thread in threads for text in thread.texts]
        # Words first: what reads the states of tokens leaves the vectors behind.
        misfits = iter(self._words.misfits(texts))
        vectors = iter(self._encoder.encode(texts))
        found: list[tuple[float, tuple[float, ...]]] = []
        for thread in threads:
            if not thread.texts:
                found.append((0.5, ()))
                continue
            matrix = np.stack([next(vectors) for _ in thread.texts])
            words = [next(misfits) for _ in thread.texts]
            beside = beside_numbers(words, thread.speakers, thread.texts)
            outputs, numbers = self.judged(matrix, thread.speakers, thread.texts)
            with single_threaded():
                alone = _run(self._alone, matrix * np.float32(np.sqrt(matrix.shape[1])))
            whole = whole_numbers(outputs, numbers, beside, alone, thread.speakers)
            logit = whole @ self._whole[:-1] + self._whole[-1]
            with single_threaded():
                turns = outputs[:, 0] * self._turns[0] + beside @ self._turns[1:-1]
            each = sigmoid(turns + self._turns[-1])
            found.append((float(sigmoid(logit)), tuple(map(float, each))))
        return found

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
                each = [_run(net, read)[kept] for net in self._nets]
                outputs.append(np.mean(each, axis=0, dtype=np.float32))
                numbers.append(given[kept])
        return np.concatenate(outputs), np.concatenate(numbers)

    def numbers(self, vectors: Array, speakers: Sequence[str | int], texts: Sequence[str]) -> Array:
        """Return the numbers of turns, shape ``(turns, NUMBERS + ORDER)``."""
        plain = turn_numbers(vectors, speakers, texts, self._bigrams)
        return np.concatenate([plain, order_numbers(self._towers.fits(vectors))], axis=1)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        return self._encoder.truncated(texts)


def _layers(arrays: dict[str, Array], name: str) -> Layers:
    """Return a network's layers; its weights are whole numbers with a scale per output."""
    count = sum(one.startswith(f"{name}_weight_") for one in arrays)
    return [(arrays[f"{name}_weight_{i}"] * arrays[f"{name}_scale_{i}"], arrays[f"{name}_bias_{i}"])
            for i in range(count)]  # fmt: skip


@model_kind("thread-head", answers="coherence", protocol=ThreadReader, settings=ThreadSettings)
def thread_head(bundle: Bundle, settings: ThreadSettings, opener: Opener) -> ThreadHead:
    """Open the networks of a bundle, with its judge of words."""
    encoder = encoder_of(bundle, opener, MemoEncoder)
    words = MemoMisfits(MisfitHead.open(bundle, encoder.identity), encoder, opener.memo)
    return ThreadHead(bundle, settings, encoder, words)
