"""A reply with its conversation, as input of the rules."""

from __future__ import annotations

from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from grice.readers.roles import unspoken
from grice.text.markup import CODE

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Hashable, Iterable

    from grice.data import Conversation, Span
    from grice.detectors.language import Tongue

READ = 20_000  # characters of a turn that are read from its beginning, and from its end
QUOTED_TURNS = 6  # turns before a reply that it may quote


class Flaw(NamedTuple):
    """Cause of a finding, start and end of the words that show it, and spans of other turns."""

    message: str
    places: tuple[tuple[int, int], ...] = ()
    others: tuple[Span, ...] = ()


class Background:
    """A conversation with properties that the rules on several replies share."""

    def __init__(self, talk: Conversation, replies: Iterable[int]) -> None:
        self.talk = talk
        self.replies = tuple(replies)
        self._first: dict[Hashable, dict[str, int]] = {}
        self.tongues: dict[str, tuple[int, Tongue] | None] = {}

    @cached_property
    def texts(self) -> tuple[tuple[int, str, str], ...]:
        """Index, speaker and text of each dialogue turn, without system and tool turns."""
        turns = enumerate(zip(self.talk.turns, unspoken(self.talk.turns), strict=True))
        return tuple((i, t.speaker, t.text[:READ]) for i, (t, silent) in turns if not silent)

    def first(self, key: Hashable, holds: Callable[[str], object]) -> dict[str, int]:
        """Return by speaker the index of the first turn for whose text a test holds."""
        if key not in self._first:
            found: dict[str, int] = {}
            for index, speaker, text in self.texts:
                if speaker not in found and holds(text):
                    found[speaker] = index
            self._first[key] = found
        return self._first[key]

    @cached_property
    def instructions(self) -> str:
        """Text of the system turns before the dialogue."""
        turns = zip(self.talk.turns, unspoken(self.talk.turns), strict=True)
        silent = takewhile(lambda pair: pair[1], turns)
        return "\n".join(turn.text[:READ] for turn, _ in silent)


class Reply:
    """A reply to check; ``text`` is its beginning, as it came."""

    def __init__(self, background: Background, turn: int) -> None:
        self.background = background
        self.talk = background.talk
        self.turn = turn
        self.speaker = self.talk.turns[turn].speaker
        self.whole = self.talk.turns[turn].text
        self.text = self.whole[:READ]

    @cached_property
    def prose(self) -> str:
        """The text with NUL for each character of code between backquotes."""
        prose = self.text
        if "`" in prose:
            for pattern in CODE:
                prose = pattern.sub(lambda code: "\0" * len(code[0]), prose)
        return prose

    def quotes(self, words: str) -> bool:
        """Return whether another speaker used words shortly before the reply."""
        before = self.talk.turns[max(0, self.turn - QUOTED_TURNS) : self.turn]
        return any(words in turn.text[:READ] for turn in before if turn.speaker != self.speaker)

    def after(self, key: Hashable, holds: Callable[[str], object]) -> bool:
        """Return whether a test holds for an earlier turn of another speaker."""
        first = self.background.first(key, holds)
        return any(i < self.turn for speaker, i in first.items() if speaker != self.speaker)

    def asked_for(self, pattern: re.Pattern[str]) -> bool:
        """Return whether another speaker wrote a match before the reply."""
        return self.after(pattern, pattern.search)
