"""All turns in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb._orders import mixed, moved
from grice.perturb.declaration import perturbation

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

SOURCE = "turn order, Vakulenko et al. 2018; utterance ordering, Mesgar et al. 2020"


@perturbation("turn-order", "text", SOURCE)
def turn_order(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Put all turns into another order; who speaks when stays."""
    texts = [turn.text for turn in conversation.turns]
    places = range(len(texts))
    order = mixed(places, texts, draw)
    if order is None:
        return None
    return moved(conversation, "turn-order", places, order, f"{len(texts)} turns shuffled")
