"""What a conversion reads of a published model, wherever it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Tensor = NDArray[np.float32]

FAMILIES = ("llama", "qwen2", "qwen3")
"""Architectures that are converted, by the name that ``model_type`` and GGUF give them."""


class Shape(NamedTuple):
    """Sizes and constants of a decoder.

    Attributes:
        key_heads: Heads of keys and values; fewer than ``heads`` in grouped-query attention.
        positions: Tokens the model was trained to read at once.
    """

    family: str
    layers: int
    heads: int
    key_heads: int
    head_size: int
    hidden: int
    vocabulary: int
    rope_base: float
    epsilon: float
    positions: int

    def check(self) -> None:
        """Raise ValueError if a size is not positive, or heads do not go into one another."""
        sizes = (self.layers, self.heads, self.key_heads, self.head_size, self.hidden)
        if min(*sizes, self.vocabulary, self.positions) < 1 or self.heads % self.key_heads:
            raise ValueError(f"sizes that cannot be: {self}")


class Checkpoint(NamedTuple):
    """A published decoder.

    Attributes:
        tensor: Returns a weight by the name it has in transformers, in float32; None if there is
            none of that name. A matrix has shape ``(outputs, inputs)``.
        tokens: The vocabulary in the order of the embedding's rows.
        begin: Token that stands before a text; empty if none does.
    """

    shape: Shape
    tensor: Callable[[str], Tensor | None]
    tokens: list[str]
    tokenizer: str
    begin: str
    end: str


def from_bfloat16(raw: NDArray[np.uint8]) -> Tensor:
    """Return the numbers that bytes hold, two each."""
    return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
