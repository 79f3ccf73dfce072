"""A ``tokenizer.json`` for a vocabulary of byte pairs that comes without one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from grice.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.conversion.checkpoint import Checkpoint, Tensor

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
    """Return the content of a ``tokenizer.json``."""
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


def with_first_tokens(checkpoint: Checkpoint, count: int) -> Checkpoint:
    """Return a decoder that knows the first tokens of its vocabulary alone.

    A vocabulary of byte pairs has bytes first, then pairs in the order in which they are joined, so
    that every text can still be read.
    """
    tokenizer = json.loads(checkpoint.tokenizer)
    model = tokenizer["model"]
    kept = {token: number for token, number in model["vocab"].items() if number < count}
    merges = [pair for pair in model["merges"] if {*pair, "".join(pair)} <= kept.keys()]
    whole = all(len(token) > 1 or token in kept for token in model["vocab"])
    if not whole or merges != model["merges"][: len(merges)]:
        raise BundleError(f"the first {count} tokens are no vocabulary of byte pairs")
    model["vocab"], model["merges"] = kept, merges
    tokenizer["added_tokens"] = [
        added for added in tokenizer["added_tokens"] if added["id"] < count
    ]

    def tensor(name: str) -> Tensor | None:
        values = checkpoint.tensor(name)
        of_tokens = name in ("model.embed_tokens.weight", "lm_head.weight")
        return values[:count] if of_tokens and values is not None else values

    return checkpoint._replace(
        shape=checkpoint.shape._replace(vocabulary=count),
        tensor=tensor,
        tokens=checkpoint.tokens[:count],
        tokenizer=json.dumps(tokenizer, ensure_ascii=False),
    )


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
