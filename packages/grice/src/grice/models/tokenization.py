"""A model's tokenizer, and what of a text it is given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

if TYPE_CHECKING:
    from grice.models.folder import ModelFolder

CHARACTERS = 16
"""Characters read per allowed token; the rest of a longer text is not even tokenised."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def open_tokenizer(folder: ModelFolder) -> Tokenizer:
    """Return the tokenizer of a model, which neither pads nor cuts."""
    tokenizer = Tokenizer.from_file(str(folder.file("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def tokenizable(text: str) -> str:
    """Return the text with a replacement for half characters, which no tokenizer takes."""
    return _SURROGATE.sub("\ufffd", text)


def beginning(text: str, max_tokens: int | None) -> str:
    """Return as much of the beginning of a text as can fill a number of tokens; None is all."""
    return tokenizable(text if max_tokens is None else text[: max_tokens * CHARACTERS])


def ending(text: str, max_tokens: int) -> str:
    """Return as much of the end of a text as can fill a number of tokens."""
    return tokenizable(text[-max_tokens * CHARACTERS :])
