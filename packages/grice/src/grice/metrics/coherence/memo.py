"""A detector of replaced tokens that answers each distinct text once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.metrics.coherence.replaced_tokens import ReplacedTokens
from grice.models.memo import answer_key, remember

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.metrics.coherence.replaced_tokens import ReplacedTokenDetector
    from grice.models.embedded import Hidden
    from grice.models.memo import Memo, MemoEncoder

STATES = 256
"""Texts whose token states are held at once: some 10 MB for turns of common length."""


class MemoReplacedTokens:
    """A detector that answers each distinct text once.

    It reads the states that others ask the encoder for, so that a turn is not encoded for it alone.
    """

    def __init__(self, detector: ReplacedTokenDetector, encoder: MemoEncoder, memo: Memo) -> None:
        self.identity = detector.identity
        self._detector = detector
        self._encoder = encoder
        self._memo = memo
        encoder.read_along(self._keep)

    def replaced_tokens(self, texts: Sequence[str]) -> list[ReplacedTokens]:
        """Return for each text how much its words look as if they did not belong there."""
        return remember(
            self._memo, self.identity, texts, self._judged, msgspec.json.encode, _DECODER.decode
        )

    def _judged(self, texts: list[str]) -> list[ReplacedTokens]:
        answers = []
        for start in range(0, len(texts), STATES):
            block = texts[start : start + STATES]
            answers += self._read(block, self._encoder.states(block))
        return answers

    def _read(self, texts: Sequence[str], states: Sequence[Hidden]) -> list[ReplacedTokens]:
        return [
            self._detector.judge(text, hidden) for text, hidden in zip(texts, states, strict=True)
        ]

    def _keep(self, texts: Sequence[str], states: Sequence[Hidden]) -> None:
        answers = zip(texts, self._read(texts, states), strict=True)
        self._memo.keep(
            {
                answer_key(self.identity, text): msgspec.json.encode(answer)
                for text, answer in answers
            }
        )


_DECODER = msgspec.json.Decoder(ReplacedTokens)
