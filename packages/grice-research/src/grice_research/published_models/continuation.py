"""A decoder alone in the place of an encoder-decoder: it goes on behind a prompt and a separator.

That is how the recipes of published systems teach one. N-grams that may not come twice are
those of what it writes, as of an encoder-decoder: what it reads does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.models.tokenization import tokenizable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import ctranslate2
    from tokenizers import Tokenizer

    from grice.models.seq2seq import Search


class Continuation:
    """An :class:`~grice.models.seq2seq.Engine` without an encoder."""

    def __init__(
        self,
        generator: ctranslate2.Generator,
        tokenizer: Tokenizer,
        separator: str,
        end: str,
        positions: int,
    ) -> None:
        self._generator, self._tokenizer = generator, tokenizer
        self._separator = list(tokenizer.encode(separator, add_special_tokens=False).tokens)
        self.end, self._positions = end, positions

    def read(self, prompt: str, search: Search) -> list[str]:
        """Return the pieces of a prompt and of the separator; the text has room behind them.

        Where both are too long for the network, the prompt has half of the room at least.
        """
        room = max(self._positions // 2, self._positions - search.max_pieces) - len(self._separator)
        pieces = list(self._tokenizer.encode(tokenizable(prompt)).tokens)
        return [*(pieces[:room] if self._positions else pieces), *self._separator]

    def hypotheses(
        self, sources: Sequence[list[str]], search: Search, count: int
    ) -> list[list[tuple[list[str], float]]]:
        """Return continuations with their mean log probabilities."""
        longest = max(map(len, sources))
        left = self._positions - longest if self._positions else search.max_pieces
        results = self._generator.generate_batch(
            list(sources),
            include_prompt_in_result=False,
            beam_size=search.beams,
            num_hypotheses=count,
            max_length=min(search.max_pieces, left),
            min_length=0,  # the end may come first
            no_repeat_ngram_size=search.no_repeat,
            end_token=self.end,
            return_scores=True,
            return_end_token=True,
        )
        return [list(zip(r.sequences, map(float, r.scores), strict=True)) for r in results]

    def log_probabilities(self, source: list[str], body: list[str]) -> list[float]:
        """Return those of the pieces of a continuation, and of the piece that ends it."""
        (result,) = self._generator.score_batch([[*source, *body, self.end]])
        return list(result.log_probs)[len(source) - 1 :]
