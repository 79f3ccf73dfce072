"""The second half before the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb._orders import moved
from grice.perturb.declaration import perturbation

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

FEWEST = 4


@perturbation("half-swap", "text", "swap of first and second half, Vakulenko et al. 2018")
def half_swap(conversation: Conversation, _: Random, __: Material) -> Perturbed | None:
    """Swap the first and the second half; who speaks when stays."""
    count = len(conversation.turns)
    if count < FEWEST:
        return None
    # An even cut keeps the texts with their speakers where two take an even number of turns.
    cut = count // 2 + (count // 2) % 2
    order = [*range(cut, count), *range(cut)]
    perturbed = moved(
        conversation, "half-swap", range(count), order, f"turns from {cut} on put first"
    )
    return perturbed if perturbed.changes[0].turns else None
