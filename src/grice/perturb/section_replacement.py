"""A stretch of another conversation in the place of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb._elsewhere import other_conversation
from grice.perturb.declaration import Change, Perturbed, perturbation, said

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material
    from grice.records import Conversation

FEWEST = 4


@perturbation("section-replacement", "text", "section swap, Vakulenko et al. 2018")
def section_replacement(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Replace two turns or more in a row, up to half, by a stretch of another conversation."""
    count = len(conversation.turns)
    if count < FEWEST:
        return None
    length = draw.randint(2, max(2, count // 2))
    other = other_conversation(conversation, draw, material, turns=length)
    if other is None:
        return None
    place = draw.randrange(count - length + 1)
    start = draw.randrange(len(other.turns) - length + 1)
    texts = {place + i: other.turns[start + i].text for i in range(length)}
    if any(text == conversation.turns[i].text for i, text in texts.items()):
        return None
    what = f"{length} turns from another conversation"
    change = Change("section-replacement", tuple(texts), what)
    return Perturbed(said(conversation, texts), (change,))
