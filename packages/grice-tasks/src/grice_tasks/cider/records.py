"""The nouns of this room: dialogues with their annotated triplets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from grice.knowledge.schema import load_schema

if TYPE_CHECKING:
    from grice.knowledge.schema import Schema

Place: TypeAlias = tuple[int, int]
"""``text[start:end]``; always into a text that is named beside it."""


class Annotated(msgspec.Struct, frozen=True):
    """A triplet as it was annotated.

    Attributes:
        head_at: Where the head stands in the dialogue's ``text``; None if it does not.
        latent: Whether at least one span does not stand in the text.
    """

    head: str
    relation: str
    tail: str
    head_at: Place | None
    tail_at: Place | None
    latent: bool = False


class Dialogue(msgspec.Struct, frozen=True):
    """A dialogue with its triplets.

    Attributes:
        fold: The released test fold, 1 to 5; None if it takes no part.
        text: Turns with their speakers, as one text; what offsets count in.
        context: The text that released task files use: without speakers; None if unused.
        appended: What the released task files paste behind the context, with its spans that do
            not stand in the text; None where no question is asked.
    """

    id: str
    source: str
    fold: int | None
    text: str
    triplets: tuple[Annotated, ...]
    context: str | None = None
    appended: str | None = None


def cider_schema() -> Schema:
    """Return CIDER's 31 relations."""
    return load_schema(Path(__file__).with_name("relations.toml"))
