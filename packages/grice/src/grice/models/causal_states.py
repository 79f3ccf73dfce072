"""The first layers of a causal language model, as a reader of passages: states, not words.

What a language model knows of sense stands in its middle layers more than in the probabilities it
ends with; small heads read it from there, at half the cost of the whole model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.models.batching import run_apart
from grice.models.causal import CausalSettings, decoder_identity, open_decoder
from grice.models.memo import remember
from grice.models.passages import PassageTokenizer
from grice.models.protocols import PassageEncoder
from grice.models.registry import model_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.embedded import Mode
    from grice.models.memo import Memo
    from grice.models.passages import Read
    from grice.models.protocols import Passage, Vector
    from grice.models.registry import Opener


class StateSettings(CausalSettings, frozen=True):
    """Of a bundle of kind ``causal-states``; ``scale`` has a digit per dimension."""

    layers: int
    scale: str


class EmbeddedStates:
    """A decoder without its last layers and its vocabulary."""

    def __init__(
        self, bundle: Bundle, settings: StateSettings, memo: Memo, *, mode: Mode, threads: int
    ) -> None:
        self.identity = decoder_identity(bundle, mode)
        self.dimensions = len(settings.scale)
        self._tokenizer = PassageTokenizer(bundle, settings.max_tokens)
        self._max_tokens, self._memo, self._threads = settings.max_tokens, memo, threads
        self._engine = open_decoder(bundle, mode, threads)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._tokenizer.truncated(texts)

    def mean_states(self, passages: Sequence[Passage]) -> list[list[Vector]]:
        """Return for each passage the mean state of each of its scored segments, in order.

        A passage is read once, in windows that overlap by half where it is longer than the model
        reads. A segment without tokens has a state of zeros. States are of half precision.
        """
        read = [self._tokenizer.read(passage) for passage in passages]
        means = remember(
            self._memo,
            self.identity,
            [(tuple(row.tokens), tuple(row.scored)) for row in read],
            self._computed,
            lambda row: row.tobytes(),
            lambda kept: np.frombuffer(kept, np.float16).reshape(-1, self.dimensions),
        )
        return [
            self._by_segment(passage, row, mean)
            for passage, row, mean in zip(passages, read, means, strict=True)
        ]

    def _by_segment(self, passage: Passage, read: Read, means: NDArray[np.float16]) -> list[Vector]:
        vectors = dict(zip(_segments(read.scored), means.astype(np.float32), strict=True))
        nothing = np.zeros(self.dimensions, np.float32)
        return [vectors.get(i, nothing) for i, segment in enumerate(passage) if segment.scored]

    def _computed(
        self, rows: Sequence[tuple[tuple[str, ...], tuple[int, ...]]]
    ) -> list[NDArray[np.float16]]:
        return run_apart(
            lambda row: _means(self._states(row[0]), np.array(row[1])), rows, self._threads
        )

    def _states(self, tokens: Sequence[str]) -> NDArray[np.float32]:
        parts: list[NDArray[np.float32]] = []
        done = start = 0
        while done < len(tokens):
            window = list(tokens[start : start + self._max_tokens])
            states = np.asarray(self._engine.forward_batch([window], return_log_probs=False))[0]
            parts.append(states[done - start :].astype(np.float32))
            done = start + len(window)
            start += self._max_tokens // 2
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)


def _means(states: NDArray[np.float32], scored: NDArray[np.int_]) -> NDArray[np.float16]:
    """Return the mean state of each segment that has tokens, in order."""
    means = [states[scored == number].mean(axis=0) for number in _segments(scored.tolist())]
    return np.array(means, np.float16).reshape(-1, states.shape[1])


def _segments(scored: Sequence[int]) -> list[int]:
    """Return the numbers of the scored segments that have tokens."""
    return sorted({*scored} - {-1})


@model_kind("causal-states", answers="states", protocol=PassageEncoder, settings=StateSettings)
def causal_states(bundle: Bundle, settings: StateSettings, opener: Opener) -> EmbeddedStates:
    """Open the first layers of a decoder."""
    return EmbeddedStates(bundle, settings, opener.memo, mode=opener.mode, threads=opener.workers)
