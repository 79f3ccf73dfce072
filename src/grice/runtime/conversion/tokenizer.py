"""A ``tokenizer.json`` for a vocabulary of byte pairs that comes without one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from grice.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["byte_level_tokenizer"]

CONTROL = (3, 4)
"""Kinds of tokens that stand for no text: control and user-defined ones."""
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen2 and Qwen3 cut a text before they look for pairs."""


def byte_level_tokenizer(
    tokens: Sequence[str], merges: Sequence[str], kinds: Sequence[int], cut: str
) -> str:
    """Return the content of a ``tokenizer.json``.

    Args:
        tokens: The vocabulary.
        merges: Pairs ``left right``, the first joined first.
        kinds: What each token is, in the numbers of GGUF.
        cut: How texts are cut before, as GGUF names it (``tokenizer.ggml.pre``).

    Raises:
        BundleError: If texts are cut in a way that is not known here.
    """
    pairs = [(left, right) for left, right in (pair.split(" ", 1) for pair in merges)]
    tokenizer = Tokenizer(
        models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=pairs)
    )
    tokenizer.pre_tokenizer = _cutter(cut)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind in CONTROL
        ]
    )
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False)


def _cutter(cut: str) -> pre_tokenizers.PreTokenizer:
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if cut == "smollm":
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    if cut == "qwen2":
        split = pre_tokenizers.Split(Regex(QWEN), "isolated")
        return pre_tokenizers.Sequence([split, bytes_only])
    if cut in ("gpt-2", "default"):
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    raise BundleError(
        f"texts are cut as {cut!r}, which is not known here; use the folder with tokenizer.json"
    )
