"""Turns, or who says them, in another order; turns of other conversations in their place."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from grice.data import Conversation
from grice.perturb import Change, Material, Perturbed, perturbation, with_texts

TRIES = 20
FEWEST_TO_MOVE, FEWEST_TO_HALVE = 3, 4
TURN_ORDER = "turn order, Vakulenko et al. 2018; utterance ordering, Mesgar et al. 2020"
SPEAKER_ORDER = (
    "even utterance ordering, Mesgar et al. 2020; speaker-level shuffling, DynaEval (Zhang et al. "
    "2021)"
)
FEWEST_TO_REPLACE = 4
REPLACEMENT = "utterance replacement, Mesgar et al. 2020 and DynaEval (Zhang et al. 2021)"


@perturbation("turn-order", "text", TURN_ORDER)
def turn_order(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Shuffle the texts of all turns; the order of speakers stays."""
    texts = [turn.text for turn in conversation.turns]
    places = range(len(texts))
    order = _mixed(places, texts, draw) or places
    return _moved(conversation, "turn-order", places, order, f"{len(texts)} turns shuffled")


@perturbation("turn-insertion", "text", "utterance insertion, Mesgar et al. 2020")
def turn_insertion(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Move one turn to another position; those between move up."""
    count = len(conversation.turns)
    if count < FEWEST_TO_MOVE:
        return None
    taken = draw.randrange(count)
    order = [i for i in range(count) if i != taken]
    place = draw.choice(order)
    order.insert(place, taken)
    what = f"turn {taken} said at {place}"
    return _moved(conversation, "turn-insertion", range(count), order, what)


@perturbation("half-swap", "text", "swap of first and second half, Vakulenko et al. 2018")
def half_swap(conversation: Conversation, _: Random, __: Material) -> Perturbed | None:
    """Swap the first and the second half; the order of speakers stays."""
    count = len(conversation.turns)
    if count < FEWEST_TO_HALVE:
        return None
    # An even cut keeps the texts with their speakers where two take an even number of turns.
    cut = count // 2 + (count // 2) % 2
    order = [*range(cut, count), *range(cut)]
    what = f"turns from {cut} on put first"
    return _moved(conversation, "half-swap", range(count), order, what)


@perturbation("speaker-order", "text", SPEAKER_ORDER)
def speaker_order(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Shuffle the turns of one speaker; the others stay."""
    texts = [turn.text for turn in conversation.turns]
    speakers = sorted({turn.speaker for turn in conversation.turns})
    draw.shuffle(speakers)
    for speaker in speakers:
        places = [i for i, turn in enumerate(conversation.turns) if turn.speaker == speaker]
        if order := _mixed(places, texts, draw):
            what = f"{len(places)} turns of {speaker} shuffled"
            return _moved(conversation, "speaker-order", places, order, what)
    return None


@perturbation("speaker-sequence", "text", "speaker sequence, Vakulenko et al. 2018")
def speaker_sequence(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Shuffle the speakers of the turns; the texts stay."""
    speakers = [turn.speaker for turn in conversation.turns]
    order = _mixed(range(len(speakers)), speakers, draw)
    if order is None:
        return None
    turns = tuple(
        replace(turn, speaker=speakers[other])
        for turn, other in zip(conversation.turns, order, strict=True)
    )
    places = tuple(i for i, turn in enumerate(turns) if turn.speaker != speakers[i])
    change = Change("speaker-sequence", places, f"{len(places)} turns said by another speaker")
    return Perturbed(replace(conversation, turns=turns), (change,))


def _mixed(places: Sequence[int], texts: Sequence[str], draw: Random) -> list[int] | None:
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


def _moved(
    conversation: Conversation, kind: str, places: Sequence[int], order: Sequence[int], what: str
) -> Perturbed | None:
    """Put the texts of ``order`` into ``places``; None if that changes nothing."""
    texts = {
        place: conversation.turns[other].text
        for place, other in zip(places, order, strict=True)
        if conversation.turns[place].text != conversation.turns[other].text
    }
    change = Change(kind, tuple(sorted(texts)), what)
    return Perturbed(with_texts(conversation, texts), (change,)) if texts else None


@perturbation("turn-replacement", "text", REPLACEMENT)
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
    """Replace two or more consecutive turns, up to half, by turns of another conversation."""
    count = len(conversation.turns)
    if count < FEWEST_TO_REPLACE:
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
