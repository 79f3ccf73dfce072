"""A reply with its conversation, as input of the rules."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from grice.readers.roles import USER, roles_of, unspoken, user_turns
from grice.text.content import content_words
from grice.text.markup import CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from grice.data import Conversation, Span
    from grice.detectors.calls import Call
    from grice.detectors.language import Tongue
    from grice.readers.roles import Role

READ = 20_000  # characters of a turn that are read from its beginning, and from its end
WORD = re.compile("[a-z]+")
DIGIT = re.compile(r"\d")
QUOTED_TURNS = 6  # turns before a reply that it may quote


def squash(text: str) -> str:
    """Return the letters and digits of a text, in lower case.

    >>> squash("FH-20 931")
    'fh20931'
    """
    return "".join(filter(str.isalnum, text)).lower()


def plain(text: str) -> str:
    """Return a text in lower case, without double blanks and marks at its ends."""
    return " ".join(text.lower().split()).strip(" .!?…")


def beginnings(text: str) -> frozenset[str]:
    """Return the first five letters of each word, in lower case.

    A pattern whose matches all have one of some words need not be searched where none is.
    """
    return frozenset(word[:5] for word in WORD.findall(text.lower()))


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
        self._words: dict[int, frozenset[str]] = {}
        self.tongues: dict[str, tuple[int, Tongue] | None] = {}
        self.calls: list[Call] | None = None

    @cached_property
    def texts(self) -> tuple[tuple[int, str, str], ...]:
        """Index, speaker and text of each dialogue turn, without system and tool turns."""
        turns = enumerate(zip(self.talk.turns, self.silent, strict=True))
        return tuple((i, t.speaker, t.text[:READ]) for i, (t, silent) in turns if not silent)

    @cached_property
    def roles(self) -> list[Role | None]:
        """The role of each turn, None where it is not known."""
        return roles_of(self.talk.turns)

    def may_have(self, turn: int, words: frozenset[str]) -> bool:
        """Return whether a turn has one of some words, as their :func:`beginnings` tell."""
        if turn not in self._words:
            self._words[turn] = beginnings(self.talk.turns[turn].text[:READ])
        return not self._words[turn].isdisjoint(words)

    @cached_property
    def said(self) -> dict[str, dict[str, int]]:
        """The first turn in which each speaker has each content word."""
        first: dict[str, dict[str, int]] = {}
        for turn, speaker, text in self.texts:
            for word in content_words(text):
                first.setdefault(word.text, {}).setdefault(speaker, turn)
        return first

    def user_before(self, turn: int) -> int:
        """Return the last turn of a user before a turn, else -1."""
        return next((i for i in range(turn - 1, -1, -1) if self.roles[i] == USER), -1)

    @cached_property
    def users(self) -> list[bool]:
        """Of each turn whether it is the user's."""
        return user_turns(self.talk.turns)

    @cached_property
    def silent(self) -> list[bool]:
        """Of each turn whether it is a system turn or traffic of tools."""
        return unspoken(self.talk.turns)

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
    def verbatim(self) -> dict[tuple[str, str], int]:
        """The first turn with the words of a speaker."""
        first: dict[tuple[str, str], int] = {}
        for index, speaker, text in self.texts:
            first.setdefault((speaker, plain(text)), index)
        return first

    @cached_property
    def squashed(self) -> list[str]:
        """Letters and digits of each turn, its calls of tools included."""
        return [squash(f"{turn.text[:READ]} {turn.meta or ''}") for turn in self.talk.turns]

    @cached_property
    def instructions(self) -> str:
        """Text of the system turns before the dialogue."""
        turns = zip(self.talk.turns, self.silent, strict=True)
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
    def has_digits(self) -> bool:
        """Whether the text has a digit, as numbers and passwords do."""
        return DIGIT.search(self.text) is not None

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

    def was_given(self, words: str) -> bool:
        """Return whether letters and digits of words are in a turn before the reply."""
        wanted = squash(words)
        return any(wanted in text for text in self.background.squashed[: self.turn])

    def _nearest(self, turns: Iterable[int], *, own: bool) -> int | None:
        silent = self.background.silent
        texts = self.talk.turns
        spoken = (i for i in turns if not silent[i])
        return next((i for i in spoken if (texts[i].speaker == self.speaker) == own), None)

    @cached_property
    def last_of_other(self) -> int | None:
        """The nearest turn of another speaker before the reply."""
        return self._nearest(range(self.turn - 1, -1, -1), own=False)

    def other_before(self, turn: int) -> int | None:
        """Return the nearest turn of another speaker before a turn."""
        return self._nearest(range(turn - 1, -1, -1), own=False)

    def own_before(self, turn: int) -> int | None:
        """Return the nearest turn of the speaker before a turn."""
        return self._nearest(range(turn - 1, -1, -1), own=True)

    def own_after(self, turn: int) -> int | None:
        """Return the nearest turn of the speaker after a turn."""
        return self._nearest(range(turn + 1, len(self.talk.turns)), own=True)

    @cached_property
    def next_of_user(self) -> int | None:
        """The next turn if it is the user's and the reply is not."""
        users, silent = self.background.users, self.background.silent
        for turn in range(self.turn + 1, len(self.talk.turns)):
            if not silent[turn]:
                return turn if users[turn] and not users[self.turn] else None
        return None

    def asked_for(self, pattern: re.Pattern[str]) -> bool:
        """Return whether another speaker wrote a match before the reply."""
        return self.after(pattern, pattern.search)
