"""The features of a conversation, aggregated from those of its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.metrics.coherence.features import (
    AGAIN,
    NUMBERS,
    SPEAKER,
    speaker_features,
    verbatim_features,
)
from grice.metrics.coherence.replaced_tokens import REPLACED_TOKEN_FEATURES, replaced_token_features
from grice.metrics.coherence.towers import ORDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.metrics.coherence.replaced_tokens import ReplacedTokens

    Array: TypeAlias = NDArray[np.float32]

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
