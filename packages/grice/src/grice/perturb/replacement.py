"""Turns of another conversation in the place of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb.declaration import Change, Perturbed, perturbation, with_texts

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material
    from grice.records import Conversation

TRIES = 20
FEWEST = 4
SOURCE = "utterance replacement, Mesgar et al. 2020 and DynaEval (Zhang et al. 2021)"


@perturbation("turn-replacement", "text", SOURCE)
def turn_replacement(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Replace one turn by one of another conversation."""
    text = _other_text(conversation, draw, material)
    if text is None or len(conversation.turns) < 2:
        return None
    place = draw.randrange(len(conversation.turns))
    before = conversation.turns[place].text
    change = Change("turn-replacement", (place,), "from another conversation", before, text)
    return Perturbed(with_texts(conversation, {place: text}), (change,))


@perturbation("section-replacement", "text", "section swap, Vakulenko et al. 2018")
def section_replacement(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Replace two turns or more in a row, up to half, by a stretch of another conversation."""
    count = len(conversation.turns)
    if count < FEWEST:
        return None
    length = draw.randint(2, max(2, count // 2))
    other = _other_conversation(conversation, draw, material, turns=length)
    if other is None:
        return None
    place = draw.randrange(count - length + 1)
    start = draw.randrange(len(other.turns) - length + 1)
    texts = {place + i: other.turns[start + i].text for i in range(length)}
    if any(text == conversation.turns[i].text for i, text in texts.items()):
        return None
    what = f"{length} turns from another conversation"
    change = Change("section-replacement", tuple(texts), what)
    return Perturbed(with_texts(conversation, texts), (change,))


def _other_conversation(
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


def _other_text(conversation: Conversation, draw: Random, material: Material) -> str | None:
    """Draw a text of another conversation that this one does not hold."""
    own = {turn.text for turn in conversation.turns}
    for _ in range(TRIES):
        other = _other_conversation(conversation, draw, material)
        if other is None:
            return None
        text = other.turns[draw.randrange(len(other.turns))].text
        if text.strip() and text not in own:
            return text
    return None
