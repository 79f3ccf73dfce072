"""A turn of another conversation in the place of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb._elsewhere import other_text
from grice.perturb.declaration import Change, Perturbed, perturbation, said

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material
    from grice.records import Conversation

SOURCE = "utterance replacement, Mesgar et al. 2020 and DynaEval (Zhang et al. 2021)"


@perturbation("turn-replacement", "text", SOURCE)
def turn_replacement(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Replace one turn by one of another conversation."""
    text = other_text(conversation, draw, material)
    if text is None or len(conversation.turns) < 2:
        return None
    place = draw.randrange(len(conversation.turns))
    before = conversation.turns[place].text
    change = Change("turn-replacement", (place,), "from another conversation", before, text)
    return Perturbed(said(conversation, {place: text}), (change,))
