"""What a conversion reads of a published model, wherever it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Tensor = NDArray[np.float32]

__all__ = ["FAMILIES", "Checkpoint", "Shape"]

FAMILIES = ("llama", "qwen2", "qwen3")
"""Architectures that are converted, by the name that ``model_type`` and GGUF give them."""


class Shape(NamedTuple):
    """Sizes and constants of a decoder.

    Attributes:
        family: One of :data:`FAMILIES`.
        layers: Transformer blocks.
        heads: Attention heads.
        key_heads: Heads of keys and values; fewer than ``heads`` in grouped-query attention.
        head_size: Dimensions of a head.
        hidden: Dimensions of a token's state.
        vocabulary: Rows of the embedding.
        rope_base: Base of the rotary position embedding.
        epsilon: What the root-mean-square norms add.
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
        shape: Its sizes.
        tensor: Returns a weight by the name it has in transformers, in float32; None if there is
            none of that name. A matrix has shape ``(outputs, inputs)``.
        tokens: The vocabulary in the order of the embedding's rows.
        tokenizer: Content of ``tokenizer.json``.
        begin: Token that stands before a text; empty if none does.
        end: Token that ends a text.
    """

    shape: Shape
    tensor: Callable[[str], Tensor | None]
    tokens: list[str]
    tokenizer: str
    begin: str
    end: str
