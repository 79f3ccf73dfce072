"""A speaker says the opposite of what he said before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb.declaration import Change, Perturbed, perturbation, with_texts
from grice.perturb.negation import negated
from grice.perturb.wording import agreeing, antonyms, replace, sentences, words

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material
    from grice.records import Conversation

SHARE = 0.1
"""Share of the turns that are contradicted, at least one (DEAM)."""
SOURCE = "contradiction, DEAM (Ghazarian et al. 2022), on the words instead of AMR"


@perturbation("contradiction", "semantic", SOURCE)
def contradiction(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Let a speaker add, in a later turn, the opposite of what he said: negated or by antonym."""
    places = list(range(len(conversation.turns) - 2))
    draw.shuffle(places)
    wanted = max(1, int(SHARE * len(places)))
    broken, changes = conversation, []
    for place in places:
        change = _contradict(broken, conversation, place, draw)
        if change is not None:
            broken = with_texts(broken, {change.turns[0]: change.after})
            changes.append(change)
        if len(changes) == wanted:
            break
    return Perturbed(broken, tuple(changes)) if changes else None


def _contradict(
    broken: Conversation, conversation: Conversation, place: int, draw: Random
) -> Change | None:
    turn = conversation.turns[place]
    later = [
        i
        for i in range(place + 1, len(conversation.turns))
        if conversation.turns[i].speaker == turn.speaker
    ]
    texts = [turn.text[start:end] for start, end in sentences(turn.text)]
    draw.shuffle(texts)
    by_antonym = draw.random() < 0.5
    for indirect in (by_antonym, not by_antonym):
        for text in texts:
            other = opposite(text, draw) if indirect else negated(text)
            if other is not None and later:
                host = draw.choice(later)
                before = broken.turns[host].text
                what = f'says "{other}" after "{text}" in turn {place}'
                return Change("contradiction", (host,), what, before, _joined(before, other))
    return None


def opposite(sentence: str, draw: Random) -> str | None:
    """Return a statement with one word turned into its antonym; None if none has one."""
    context = () if sentence.endswith("?") else words(sentence)
    places = [i for i, word in enumerate(context) if word.kind and antonyms(word.lower, word.kind)]
    if not places:
        return None
    i = draw.choice(places)
    word = context[i]
    assert word.kind is not None
    other = draw.choice(antonyms(word.lower, word.kind))
    return replace(sentence, {(word.start, word.end): agreeing(other, context, i)})


def _joined(text: str, sentence: str) -> str:
    lead = text.rstrip()
    sentence = sentence[0].upper() + sentence[1:] if lead[-1:] in ".!?" else sentence
    stop = "" if sentence[-1] in ".!" else "."
    mark = "" if not lead or lead[-1] in ".!?,;:" else "."
    if mark:
        sentence = sentence[0].upper() + sentence[1:]
    return f"{lead}{mark} {sentence}{stop}".strip()
