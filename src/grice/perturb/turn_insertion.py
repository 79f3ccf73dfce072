"""A turn said at another place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb._orders import moved
from grice.perturb.declaration import perturbation

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

FEWEST = 3


@perturbation("turn-insertion", "text", "utterance insertion, Mesgar et al. 2020")
def turn_insertion(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Take one turn out and say it at another place; those between move up."""
    count = len(conversation.turns)
    if count < FEWEST:
        return None
    taken = draw.randrange(count)
    place = draw.choice([i for i in range(count) if i != taken])
    order = [i for i in range(count) if i != taken]
    order.insert(place, taken)
    what = f"turn {taken} said at {place}"
    perturbed = moved(conversation, "turn-insertion", range(count), order, what)
    return perturbed if perturbed.changes[0].turns else None
