"""Turns that other speakers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from grice.perturb._orders import mixed
from grice.perturb.declaration import Change, Perturbed, perturbation

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material
    from grice.records import Conversation


@perturbation("speaker-sequence", "text", "speaker sequence, Vakulenko et al. 2018")
def speaker_sequence(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Shuffle who says the turns; the texts stay where they are."""
    speakers = [turn.speaker for turn in conversation.turns]
    order = mixed(range(len(speakers)), speakers, draw)
    if order is None:
        return None
    turns = tuple(
        replace(turn, speaker=speakers[other])
        for turn, other in zip(conversation.turns, order, strict=True)
    )
    places = tuple(i for i, turn in enumerate(turns) if turn.speaker != speakers[i])
    change = Change("speaker-sequence", places, f"{len(places)} turns said by another speaker")
    return Perturbed(replace(conversation, turns=turns), (change,))
