"""Coherence of a conversation, by small networks on vectors of its turns.

Every turn is encoded by itself, so one more turn costs one more encoding. Small networks take a
turn with its neighbours, the last turn of its speaker and a summary of the history, and the
features of :func:`turn_features` and :func:`order_features`. The conversation score uses its turns
(:func:`dialogue_features`), with features that the networks do not read: verbatim repetition, and
how each turn was rated out of context.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grice.errors import ModelFolderError
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.mlp import Mlp, single_threaded
from grice.models.protocols import Dialogue, Encoder
from grice.models.turn_features import (
    AGAIN,
    ASKS,
    LENGTH,
    NUMBERS,
    ODD,
    ORDER,
    OWN,
    REPEATS,
    Bigrams,
    Towers,
    order_features,
    turn_features,
    verbatim_features,
)
from grice.numeric import Array, Integers, sigmoid, unit_rows

NEUTRAL = 0.5  # the answer of a conversation without turns
LOWEST = 0.25  # share of the turns that represent the worst of a conversation, at least one
POOLED = 6  # pooled outputs of the networks: two of each turn, in three ways
ALONE = 3
"""Log odds of a turn out of context: that a person wrote it, that people would call it good, and
that they would like a conversation of such turns."""
SPEAKER = 5  # features of differences between the speakers
WHOLE = POOLED + 2 * (NUMBERS + ORDER) + SPEAKER + 3 * AGAIN + 2 * ALONE
"""Features of a conversation."""
DECAY = 0.7  # weight of a turn in all that was said, relative to the turn after it
AT_ONCE, AROUND = 128, 64
"""Turns per window of a long conversation, and context turns before and after it."""


def pooled(outputs: Array) -> Array:
    """Return mean, mean of the lowest quarter and lowest value of each output, one by one."""
    ordered = np.sort(outputs, axis=0)
    pools = [outputs.mean(axis=0), ordered[: _quarter(outputs)].mean(axis=0), ordered[0]]
    return np.stack(pools, axis=1).reshape(-1)


def _quarter(rows: Array) -> int:
    return max(1, int(LOWEST * len(rows)))


def speaker_features(numbers: Array, speakers: Sequence[str | int]) -> Array:
    """Return features of differences between speakers, ``(SPEAKER,)``, from those of the turns.

    The order of the speakers does not count: of their means the lowest length and number of
    questions, the highest repetition and nearness to it, and the lowest association of words.
    """
    means = _speaker_means(numbers, speakers)
    low, high = means.min(axis=0), means.max(axis=0)
    return np.array([low[LENGTH], low[ASKS], high[REPEATS], high[OWN], low[ODD]], np.float32)


def context_free_features(alone: Array, speakers: Sequence[str | int]) -> Array:
    """Return the mean of the turns out of context, and that of the speaker with the lowest one."""
    return np.concatenate([alone.mean(axis=0), _speaker_means(alone, speakers).min(axis=0)])


def _speaker_means(rows: Array, speakers: Sequence[str | int]) -> Array:
    """Return the mean of the turns of each speaker, in the order in which they first speak."""
    names = np.array([str(speaker) for speaker in speakers])
    return np.stack([rows[names == name].mean(axis=0) for name in dict.fromkeys(names.tolist())])


def dialogue_features(
    outputs: Array, numbers: Array, verbatim: Array, alone: Array, speakers: Sequence[str | int]
) -> Array:
    """Return the features of a conversation, shape ``(WHOLE,)``, from those of its turns.

    ``outputs`` are logits of the networks ``(turns, 2)``, ``numbers`` turn and order features,
    ``verbatim`` those of :func:`verbatim_features`, ``alone`` log odds out of context.
    """
    low = np.sort(numbers, axis=0)[: _quarter(numbers)].mean(axis=0)
    high = np.sort(verbatim, axis=0)[-_quarter(verbatim) :].mean(axis=0)
    parts = [
        pooled(outputs),
        numbers.mean(axis=0),
        low,
        speaker_features(numbers, speakers),
        verbatim.mean(axis=0),
        high,
        verbatim.max(axis=0),
        context_free_features(alone, speakers),
    ]
    return np.concatenate(parts, dtype=np.float32)


def own_turns(speakers: Sequence[str | int]) -> Integers:
    """Return the index of the turn before by the same speaker; -1 without one."""
    last: dict[str | int, int] = {}
    places = []
    for i, speaker in enumerate(speakers):
        places.append(last.get(speaker, -1))
        last[speaker] = i
    return np.array(places, np.int64)


def turn_blocks(turns: Array, own: Integers) -> Array:
    """Return the vectors that the networks read of each turn, shape ``(turns, 6 * axes)``.

    The turn, the turn before it, and the products of the turn with the turn before it, with the
    last one of its speaker (:func:`own_turns`), with all that was said and with the turn after it.
    """
    before, after, so_far = (np.zeros_like(turns) for _ in range(3))
    before[1:], after[:-1] = turns[:-1], turns[1:]
    own_last = np.where((own >= 0)[:, None], turns[own], np.float32(0))
    for i in range(1, len(turns)):
        so_far[i] = np.float32(DECAY) * so_far[i - 1] + turns[i - 1]
    so_far = unit_rows(so_far) * np.float32(np.sqrt(turns.shape[1]))
    products = [turns * other for other in (before, own_last, so_far, after)]
    return np.concatenate([turns, before, *products], axis=1, dtype=np.float32)


class DialogueSettings(Settings, frozen=True):
    """Settings of a model of type ``thread-head``: the weight of a turn relative to the next."""

    decay: float


class DialogueHead:
    """Scores conversations and their turns.

    ``head.npz`` holds towers, axes, networks (whose outputs are averaged), the network that reads
    turns out of context, the weights of :func:`dialogue_features`, and those of a turn's output and
    :func:`verbatim_features` for the turn; ``bigrams.npz`` the associations of words.
    """

    def __init__(self, folder: ModelFolder, settings: DialogueSettings, encoder: Encoder) -> None:
        self.identity = f"{folder.identity}+{encoder.identity}"
        self._encoder, self.truncated = encoder, encoder.truncated
        self._bigrams = Bigrams.load(folder.file("bigrams.npz"))
        with np.load(folder.file("head.npz"), allow_pickle=False) as file:
            arrays = {name: file[name].astype(np.float32) for name in file.files}
        if arrays.get("whole", np.zeros(0)).shape != (WHOLE + 1,):
            raise ModelFolderError(f"{folder.path}: {WHOLE + 1} weights are needed")
        self._axes, self._mean, self._whole = arrays["axes"], arrays["mean"], arrays["whole"]
        self._turns, self._alone = arrays["turns"], Mlp.of(arrays, "alone_")
        left, right = Mlp.of(arrays, "left_"), Mlp.of(arrays, "right_")
        self._towers = Towers(left, right, settings.decay)
        count = sum(name.startswith("net") and name.endswith("_weight_0") for name in arrays)
        self._nets = [Mlp.of(arrays, f"net{i}_") for i in range(count)]

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return the coherence of each conversation and of each of its turns.

        Both are 0 to 1, higher is better; that of a turn is the probability that it was not
        inserted or changed by a perturbation.
        """
        texts = [text for dialogue in dialogues for text in dialogue.texts]
        vectors = iter(self._encoder.encode(texts))
        readings: list[tuple[float, tuple[float, ...]]] = []
        for speakers, own in dialogues:
            if not own:
                readings.append((NEUTRAL, ()))
                continue
            matrix = np.stack([next(vectors) for _ in own])
            verbatim = verbatim_features(speakers, own)
            outputs, numbers = self.turn_outputs(matrix, speakers, own)
            alone = self._alone.forward_joint(matrix * np.float32(np.sqrt(matrix.shape[1])))
            whole = dialogue_features(outputs, numbers, verbatim, alone, speakers)
            log_odds = whole @ self._whole[:-1] + self._whole[-1]
            with single_threaded():
                turns = outputs[:, 0] * self._turns[0] + verbatim @ self._turns[1:-1]
            each = sigmoid(turns + self._turns[-1])
            readings.append((float(sigmoid(log_odds)), tuple(map(float, each))))
        return readings

    def turn_outputs(
        self, vectors: Array, speakers: Sequence[str | int], texts: Sequence[str]
    ) -> tuple[Array, Array]:
        """Return two logits a turn, ``(turns, 2)``, and its features, ``(turns, NUMBERS + ORDER)``.

        A long conversation is processed in windows, each with turns before and after it.
        """
        outputs, numbers = [], []
        with single_threaded():
            places = (vectors - self._mean) @ self._axes
            for start in range(0, len(texts), AT_ONCE):
                low, end = max(0, start - AROUND), min(len(texts), start + AT_ONCE)
                part = slice(low, end + AROUND)
                plain = turn_features(vectors[part], speakers[part], texts[part], self._bigrams)
                order = order_features(self._towers.fits(vectors[part]))
                given = np.concatenate([plain, order], axis=1)
                blocks = turn_blocks(places[part], own_turns(speakers[part]))
                read = np.concatenate([blocks, given], axis=1)
                kept = slice(start - low, end - low)
                each = [net.forward_joint(read)[kept] for net in self._nets]
                outputs.append(np.mean(each, axis=0, dtype=np.float32))
                numbers.append(given[kept])
        return np.concatenate(outputs), np.concatenate(numbers)


@model_type("thread-head", task="coherence", settings=DialogueSettings)
def thread_head(
    folder: ModelFolder, settings: DialogueSettings, loader: ModelLoader
) -> DialogueHead:
    """Open the networks of a model."""
    return DialogueHead(folder, settings, loader.encoder_of(folder, Encoder))
