"""Tokenizers of models, and prompts as tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Encoding

    from grice.models.folder import ModelFolder
    from grice.models.protocols import Prompt

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
    """Replace lone surrogates, which no tokenizer takes."""
    return _SURROGATE.sub("\ufffd", text)


def beginning(text: str, max_tokens: int | None) -> str:
    """Return as much of the beginning of a text as can fill a number of tokens; None is all."""
    return tokenizable(text if max_tokens is None else text[: max_tokens * CHARACTERS])


def ending(text: str, max_tokens: int) -> str:
    """Return as much of the end of a text as can fill a number of tokens."""
    return tokenizable(text[-max_tokens * CHARACTERS :])


class PromptTokens(NamedTuple):
    """The tokens of a prompt.

    Attributes:
        targets: The number of the part of each token, -1 if that is not a target.
        offsets: The characters of its part that each token covers.
    """

    tokens: list[str]
    targets: list[int]
    offsets: list[tuple[int, int]]


class PromptTokenizer:
    """Tokenizer of a language model that reads a limited number of tokens at once."""

    def __init__(self, folder: ModelFolder, max_tokens: int) -> None:
        self.tokenizer = open_tokenizer(folder)
        self._room = max_tokens // 2

    def read(self, prompt: Prompt) -> PromptTokens:
        """Return the first half window of each target, and the last one of each other part."""
        read = PromptTokens([], [], [])
        for number, part in enumerate(prompt):
            cut = beginning if part.target else ending
            kept = slice(self._room) if part.target else slice(-self._room, None)
            encoding = self.encode(cut(part.text, self._room))
            tokens = encoding.tokens[kept]
            read.tokens.extend(tokens)
            read.targets.extend([number if part.target else -1] * len(tokens))
            read.offsets.extend(encoding.offsets[kept])
        return read

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half a window."""
        encodings = [self.encode(beginning(text, self._room + 1)) for text in texts]
        return [len(encoding.tokens) > self._room for encoding in encodings]

    def encode(self, text: str) -> Encoding:
        """Return the tokens of a text without special ones."""
        return self.tokenizer.encode(text, add_special_tokens=False)
