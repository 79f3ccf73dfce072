"""Turns of other conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material
    from grice.records import Conversation

__all__ = ["other_conversation", "other_text"]

TRIES = 20


def other_conversation(
    conversation: Conversation, draw: Random, material: Material, *, turns: int = 1
) -> Conversation | None:
    """Draw another conversation with enough turns; None if there is none among a few draws."""
    if not material.others:
        return None
    for _ in range(TRIES):
        other = material.others[draw.randrange(len(material.others))]
        if other.id != conversation.id and len(other.turns) >= turns:
            return other
    return None


def other_text(conversation: Conversation, draw: Random, material: Material) -> str | None:
    """Draw a text of another conversation that this one does not hold."""
    own = {turn.text for turn in conversation.turns}
    for _ in range(TRIES):
        other = other_conversation(conversation, draw, material)
        if other is None:
            return None
        text = other.turns[draw.randrange(len(other.turns))].text
        if text.strip() and text not in own:
            return text
    return None
