"""A causal language model: how probable the tokens of a passage are, read once from left to right.

Reference scores are float32 (mode ``exact``). In ``fast`` weights and activations are int8: how far
that moves the mean log probability of a reply stands in ``docs/models.md``. Nothing is padded, for
that changes the last bits of attention, and activations of int8 turn these into tenths of a nat: a
batch holds passages of one length. In ``exact`` it holds one, since in floating point the bits of a
row depend on the rows beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ctranslate2
import msgspec

from grice.runtime.batching import MAX_BATCH_TOKENS
from grice.runtime.passages import PassageTokenizer
from grice.runtime.protocols import CausalLM
from grice.runtime.registry import Settings, model_kind
from grice.runtime.windows import mean_log_probabilities, passage_scores, read_in_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.runtime.bundle import Bundle
    from grice.runtime.embedded import Mode
    from grice.runtime.memo import Memo
    from grice.runtime.protocols import Passage, TokenScore
    from grice.runtime.registry import Opener

__all__ = ["CausalSettings", "EmbeddedCausalLM", "causal_lm"]

FEWEST = 16
"""Tokens that a model must at least be able to read."""
COMPUTE = {"exact": "float32", "fast": "int8"}


class CausalSettings(Settings, frozen=True):
    """Of a bundle of kind ``causal-lm``: how many tokens it reads at once."""

    max_tokens: Annotated[int, msgspec.Meta(ge=FEWEST)]


class EmbeddedCausalLM:
    """A decoder in the format of CTranslate2.

    Args:
        bundle: The opened bundle, with ``model.bin`` and ``tokenizer.json``.
        settings: What its card states.
        memo: What was read before.
        mode: ``exact`` or ``fast``.
        threads: How many passages are read at the same time, each on one core.
    """

    def __init__(
        self, bundle: Bundle, settings: CausalSettings, memo: Memo, *, mode: Mode, threads: int
    ) -> None:
        self.identity = f"{bundle.card.name}@{bundle.digest}/{mode}/ct2-{ctranslate2.__version__}"
        self._max_tokens = settings.max_tokens
        self._tokenizer = PassageTokenizer(bundle, settings.max_tokens)
        self._memo = memo
        self._threads = threads
        self._together = MAX_BATCH_TOKENS if mode == "fast" else 1
        self._engine = ctranslate2.Generator(
            str(bundle.folder),
            device="auto",
            compute_type=COMPUTE[mode],
            inter_threads=threads,
            intra_threads=1,
        )

    def token_scores(self, passages: Sequence[Passage]) -> list[list[list[TokenScore]]]:
        """Return for each passage the tokens of each of its scored segments, in order.

        A passage is read once. One that is longer than the model reads is read in windows that
        overlap by half, so that a token has at least half a window before it. Of a scored segment
        the first half window is read, of another one the last. The first token of a passage has
        nothing before it and is left out.

        Args:
            passages: Each a sequence of segments, which are joined without anything between.
        """
        return passage_scores(passages, self._tokenizer, self._computed, self._memo, self.identity)

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt, at most 0.

        See :func:`~grice.runtime.windows.mean_log_probabilities`.
        """
        return mean_log_probabilities(self, prompts, texts)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._tokenizer.truncated(texts)

    def _computed(self, rows: Sequence[tuple[str, ...]]) -> list[list[float]]:
        def read(windows: list[Sequence[str]]) -> list[list[float]]:
            results = self._engine.score_batch([list(window) for window in windows])
            return [result.log_probs for result in results]

        return read_in_windows(
            rows,
            read,
            max_tokens=self._max_tokens,
            together=self._together,
            threads=self._threads,
        )


@model_kind("causal-lm", answers="likelihood", protocol=CausalLM, settings=CausalSettings)
def causal_lm(bundle: Bundle, settings: CausalSettings, opener: Opener) -> EmbeddedCausalLM:
    """Open a decoder."""
    return EmbeddedCausalLM(bundle, settings, opener.memo, mode=opener.mode, threads=opener.workers)
