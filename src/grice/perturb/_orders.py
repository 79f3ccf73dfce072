"""New orders of turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb.declaration import Change, Perturbed, said

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from grice.records import Conversation

__all__ = ["mixed", "moved"]

TRIES = 20


def mixed(places: Sequence[int], texts: Sequence[str], draw: Random) -> list[int] | None:
    """Return the places in another order, one that changes what is read; None if none does."""
    if len({texts[place] for place in places}) < 2:
        return None
    order = list(places)
    for _ in range(TRIES):
        draw.shuffle(order)
        if any(texts[a] != texts[b] for a, b in zip(places, order, strict=True)):
            return order
    # Two texts of which one is rare: turn the places round by one until something differs.
    order = [*places[1:], places[0]]
    return order if any(texts[a] != texts[b] for a, b in zip(places, order, strict=True)) else None


def moved(
    conversation: Conversation, kind: str, places: Sequence[int], order: Sequence[int], what: str
) -> Perturbed:
    """Put the texts of ``order`` into ``places``; who speaks when stays as it was."""
    texts = {
        place: conversation.turns[other].text
        for place, other in zip(places, order, strict=True)
        if conversation.turns[place].text != conversation.turns[other].text
    }
    change = Change(kind, tuple(sorted(texts)), what)
    return Perturbed(said(conversation, texts), (change,))
