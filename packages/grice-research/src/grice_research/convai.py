"""The conversations of the 2017 ConvAI challenge as predictive engagement used them, and put right.

A rating stands under the id of the participant who *was rated*. The published pipeline took, of a
human and a bot, the entry under the human's id: the bot's rating of the human, always 0. So every
human-bot conversation counted as not engaging. ``corrected`` takes the human's rating instead.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ENGAGING", "Chat", "Labels", "pairs_of", "read_chats", "split_of"]

Labels: TypeAlias = Literal["published", "corrected"]
"""Whose rating a human-bot conversation gets."""

FILE = "convai2017/convai2017.jsonl.gz"
SOURCE = "github.com/deepmipt/turing-data (Apache-2.0)"
ENGAGING = 3
"""Rating from which a conversation counts as engaging."""


class _Turn(msgspec.Struct):
    speaker: str
    text: str


class _Rating(msgspec.Struct):
    engagement: int


class _Meta(msgspec.Struct):
    users: dict[str, Literal["Human", "Bot"]]
    eval: dict[str, _Rating]
    amt50: bool


class _Record(msgspec.Struct):
    id: str
    turns: list[_Turn]
    meta: _Meta


class Chat(NamedTuple):
    """One conversation.

    Attributes:
        id: Its name.
        turns: Texts; messages of one speaker in a row are one turn.
        with_bot: Whether one of the two was a bot.
        published: Engagement as the published pipeline read it, 0 to 5.
        corrected: Engagement as the person in it rated it, 1 to 5; of two people the mean.
    """

    id: str
    turns: tuple[str, ...]
    with_bot: bool
    published: int
    corrected: int

    def rating(self, labels: Labels) -> int:
        """Return the rating under one of the two readings."""
        return self.published if labels == "published" else self.corrected


def read_chats(folder: Path) -> list[Chat]:
    """Return the conversations of two turns or more, without the 50 of the published study.

    Raises:
        InputError: If the file is not there or is another one.
    """
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{path} is not there; the conversations are from {SOURCE}")
    decoder = msgspec.json.Decoder(_Record)
    with gzip.open(path) as lines:
        try:
            chats = [_chat(decoder.decode(line)) for line in lines]
        except (msgspec.DecodeError, OSError) as error:
            raise InputError(f"{path}: {error}") from None
    return [chat for chat in chats if chat is not None]


def _chat(record: _Record) -> Chat | None:
    texts: list[str] = []
    speaker = None
    for turn in record.turns:
        if turn.speaker == speaker:
            texts[-1] += " " + turn.text
        else:
            texts.append(turn.text)
        speaker = turn.speaker
    if len(texts) < 2 or record.meta.amt50:
        return None
    given, users = record.meta.eval, record.meta.users
    bots = [name for name, kind in users.items() if kind == "Bot"]
    people = [name for name, kind in users.items() if kind == "Human"]
    turns = tuple(" ".join(text.split()) for text in texts)
    if bots:
        wrong, right = given[people[0]].engagement, given[bots[0]].engagement
        return Chat(record.id, turns, True, wrong, right)
    # Halves are rounded to even, as the published code does.
    mean = round(sum(rating.engagement for rating in given.values()) / len(given))
    return Chat(record.id, turns, False, mean, mean)


def pairs_of(chat: Chat, labels: Labels) -> list[tuple[str, str]]:
    """Return the pairs of a turn and its reply that a conversation gives.

    As published, an engaging conversation gives all neighbouring turns and another one every
    second pair; of corrected labels both give all: two rules by label would leak the label.
    """
    every = list(zip(chat.turns, chat.turns[1:], strict=False))
    if labels == "published" and chat.published < ENGAGING:
        return every[::2]
    return every


def split_of(chats: list[Chat]) -> dict[str, tuple[int, int]]:
    """Return how many pairs of label 0 and 1 the published split puts in each part.

    60, 20 and 20 in a hundred conversations of each label train, test and validate, in the order
    of the file. The order of the original file is lost, so that the counts come near, not equal.
    """
    splits: dict[str, list[int]] = {"train": [], "test": [], "valid": []}
    for label in (False, True):
        group = [chat for chat in chats if (chat.published >= ENGAGING) == label]
        first, second = int(0.6 * len(group)), int(0.6 * len(group)) + int(0.2 * len(group))
        parts = {"train": group[:first], "test": group[first:second], "valid": group[second:]}
        for name, part in parts.items():
            splits[name].append(sum(len(pairs_of(chat, "published")) for chat in part))
    return {name: (counts[0], counts[1]) for name, counts in splits.items()}
