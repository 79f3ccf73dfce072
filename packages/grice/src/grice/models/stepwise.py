"""Texts whose every token a function chooses out of the logits of a causal language model.

The engine keeps what it has read only while it writes on by itself. So it writes as it would, the
best token each time, and shows the logits of every step; as long as the function chooses the same
token nothing is read twice. Where it chooses another one the engine is stopped and begins again
behind that token, with the prompt kept. What is written is what the function chooses, exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import ctranslate2
    from numpy.typing import NDArray

    from grice.models.protocols import Vector


class Chooser(Protocol):
    """Chooses the next token of one text."""

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return the id of the next token."""
        ...


class Chosen(NamedTuple):
    """A text whose tokens were chosen.

    Attributes:
        tokens: How many tokens were chosen, the end included.
    """

    text: str
    tokens: int
    ended: bool


class Sampler:
    """Draws tokens as the model finds them probable."""

    def __init__(self, temperature: float, seed: Sequence[int]) -> None:
        self._temperature = temperature
        self._random = np.random.default_rng(seed)

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return a token that is drawn."""
        del before
        return drawn(logits / np.float32(self._temperature), self._random.random())


def drawn(log_weights: Vector, number: float) -> int:
    """Return the token that a number from 0 to 1 draws, by weights of any sum."""
    sums = np.exp(log_weights - log_weights.max()).cumsum(dtype=np.float64)
    return int(min(np.searchsorted(sums, number * sums[-1], side="right"), len(sums) - 1))


def choose_tokens(
    engine: ctranslate2.Generator,
    prompt: Sequence[str],
    choose: Chooser,
    vocabulary: Sequence[str],
    *,
    ends: Collection[int],
    max_tokens: int,
) -> list[int]:
    """Return the ids of the tokens chosen after a prompt, the one that ends them included."""
    chosen: list[int] = []

    def is_over() -> bool:
        return len(chosen) >= max_tokens or (bool(chosen) and chosen[-1] in ends)

    def look(step: ctranslate2.GenerationStepResult) -> bool:
        chosen.append(choose(np.asarray(step.logits)[0], chosen))
        return chosen[-1] != step.token_id or is_over()

    while not is_over():
        engine.generate_batch(
            [[prompt[-1], *(vocabulary[token] for token in chosen)]],
            static_prompt=list(prompt[:-1]) or None,
            include_prompt_in_result=False,
            max_length=max_tokens - len(chosen),
            end_token=list(ends),
            return_logits_vocab=True,
            callback=look,
        )
    return chosen


def logits_before(
    engine: ctranslate2.Generator, prompt: Sequence[str], tokens: Sequence[str]
) -> NDArray[np.float32]:
    """Return the logits before each token behind a prompt, shape ``(tokens, vocabulary)``."""
    read = engine.forward_batch([[*prompt, *tokens]], return_log_probs=False)
    logits: NDArray[np.float32] = np.asarray(read)[0, len(prompt) - 1 : -1].astype(np.float32)
    return logits
