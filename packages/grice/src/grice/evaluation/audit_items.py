"""What ships for audits: rated replies, and what replies may hold to deceive a judge."""

from __future__ import annotations

import tomllib
from importlib import resources

import msgspec
from msgspec.structs import replace

from grice.errors import InputError
from grice.records import Conversation, Turn

SOURCE = "ConTurE (Ghazarian et al. 2022), CC BY 4.0: people's rating of a reply, 0 to 2"
BASELINE = "log_length"
"""The metric that is the trivial baseline: the length of a reply."""
PADDING = (
    " Well, that is what I would say about it, to be quite honest with you, all things considered, "
    "and I do not think that there is very much more to be said about it at the moment."
)
"""Words that say nothing: no metric should score a reply higher for them."""


class RatedReply(msgspec.Struct, frozen=True):
    """A conversation whose last turn people have rated."""

    id: str
    turns: tuple[Turn, ...]
    rating: float

    @property
    def conversation(self) -> Conversation:
        """The conversation, of which the last turn is judged."""
        return Conversation(self.id, self.turns, targets=(len(self.turns) - 1,))

    @property
    def reply(self) -> str:
        """The text that was rated."""
        return self.turns[-1].text


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in front of a reply or behind it to deceive who judges it.

    Attributes:
        control: It deceives nobody: a score that rises by it rises by length.
    """

    before: str = ""
    after: str = ""
    control: bool = False
    name: str = ""

    def applied(self, text: str) -> str:
        """Return a reply with it."""
        return f"{self.before}{text}{self.after}"


def rated_replies(most: int | None = None) -> tuple[RatedReply, ...]:
    """Return the rated replies that ship, or the first of them.

    Raises:
        InputError: If fewer ship than are asked for.
    """
    lines = _data("items.jsonl").splitlines()
    if most is not None and not 0 < most <= len(lines):
        raise InputError(f"{most} rated replies: 1 to {len(lines)} ship")
    decode = msgspec.json.Decoder(RatedReply).decode
    return tuple(decode(line) for line in lines[:most])


def injections() -> tuple[Injection, ...]:
    """Return the injections that ship."""
    stated = msgspec.convert(tomllib.loads(_data("injections.toml")), dict[str, Injection])
    return tuple(replace(injection, name=name) for name, injection in stated.items())


def with_reply(item: RatedReply, text: str, number: int) -> Conversation:
    """Return the conversation of an item with another reply in its place."""
    conversation = item.conversation
    turns = (*conversation.turns[:-1], replace(conversation.turns[-1], text=text))
    return replace(conversation, id=f"{item.id}/{number}", turns=turns)


def _data(name: str) -> str:
    return (resources.files("grice") / "data" / "audit" / name).read_text("utf-8")
