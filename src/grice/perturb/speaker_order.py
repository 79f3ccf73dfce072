"""The turns of one speaker in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb._orders import mixed, moved
from grice.perturb.declaration import perturbation

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

SOURCE = (
    "even utterance ordering, Mesgar et al. 2020; speaker-level shuffling, DynaEval (Zhang et al. "
    "2021)"
)


@perturbation("speaker-order", "text", SOURCE)
def speaker_order(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Put the turns of one speaker into another order; the others' stay."""
    texts = [turn.text for turn in conversation.turns]
    speakers = sorted({turn.speaker for turn in conversation.turns})
    draw.shuffle(speakers)
    for speaker in speakers:
        places = [i for i, turn in enumerate(conversation.turns) if turn.speaker == speaker]
        order = mixed(places, texts, draw)
        if order is not None:
            what = f"{len(places)} turns of {speaker} shuffled"
            return moved(conversation, "speaker-order", places, order, what)
    return None
