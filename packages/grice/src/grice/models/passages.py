"""Passages as tokens of a causal language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.models.tokenization import beginning, ending, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Encoding

    from grice.models.bundle import Bundle
    from grice.models.protocols import Passage


class Read(NamedTuple):
    """The tokens of a passage.

    Attributes:
        scored: The number of the segment of each token, -1 if that is not scored.
        offsets: The characters of its segment that each token covers.
    """

    tokens: list[str]
    scored: list[int]
    offsets: list[tuple[int, int]]


class PassageTokenizer:
    """Turns passages into tokens."""

    def __init__(self, bundle: Bundle, max_tokens: int) -> None:
        self._tokenizer = open_tokenizer(bundle)
        self._room = max_tokens // 2

    def read(self, passage: Passage) -> Read:
        """Return the tokens of a passage.

        Of a scored segment the first half window is read, of another one the last.
        """
        tokens: list[str] = []
        scored: list[int] = []
        offsets: list[tuple[int, int]] = []
        for number, segment in enumerate(passage):
            cut = beginning if segment.scored else ending
            kept = slice(self._room) if segment.scored else slice(-self._room, None)
            encoding = self._encoded(cut(segment.text, self._room))
            tokens += encoding.tokens[kept]
            scored += [number if segment.scored else -1] * len(encoding.tokens[kept])
            offsets += encoding.offsets[kept]
        return Read(tokens, scored, offsets)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half a window."""
        return [
            len(self._encoded(beginning(text, self._room + 1)).tokens) > self._room
            for text in texts
        ]

    def last_tokens(self, text: str, room: int) -> list[str]:
        """Return the last tokens of a text, as many as there is room for."""
        return self._encoded(ending(text, room)).tokens[-room:]

    def ends(self, stop: str) -> list[int]:
        """Return the ids of all tokens whose text holds ``stop``, and of those of no text."""
        added = self._tokenizer.get_added_tokens_decoder()
        texts = (
            self._tokenizer.decode([token]) for token in range(self._tokenizer.get_vocab_size())
        )
        return [token for token, text in enumerate(texts) if stop in text or token in added]

    def pieces(self) -> list[str]:
        """Return the piece of the vocabulary of each id."""
        size = self._tokenizer.get_vocab_size()
        return [self._tokenizer.id_to_token(token) or "" for token in range(size)]

    def ids(self, text: str, room: int) -> list[int]:
        """Return the ids of the first tokens of a text, as many as there is room for."""
        return self._encoded(beginning(text, room)).ids[:room]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of tokens; those that stand for no text are left out."""
        return str(self._tokenizer.decode(list(ids)))

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)
