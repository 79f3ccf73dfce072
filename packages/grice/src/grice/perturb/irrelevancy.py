"""Words of a turn that belong to another turn of the same conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb.declaration import Change, Perturbed, perturbation, some_turns
from grice.perturb.wording import agreeing, lemma, replace, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from grice.perturb.declaration import Material
    from grice.perturb.wording import Word
    from grice.records import Conversation

SHARE, REPLACED = 0.1, 0.5
"""Share of the turns, and of the words of such a turn, at least one each (DEAM)."""
SOURCE = "irrelevancy, DEAM (Ghazarian et al. 2022), on the words instead of AMR"


@perturbation("irrelevancy", "semantic", SOURCE)
def irrelevancy(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Replace words of a turn by words of the same kind from other turns."""
    texts = [turn.text for turn in conversation.turns]
    words_of = [words(text) for text in texts]
    return some_turns(
        conversation, draw, SHARE, lambda place: exchanged(texts, words_of, place, draw)
    )


def exchanged(
    texts: Sequence[str], words_of: Sequence[Sequence[Word]], place: int, draw: Random
) -> Change | None:
    """Replace words of one turn by words of the others; None if none can take another's place."""
    own = {(word.kind, base(word)) for word in words_of[place] if word.kind}
    pool: dict[tuple[str, str], list[str]] = {}
    for i, others in enumerate(words_of):
        for word in others:
            if i != place and word.kind and (word.kind, base(word)) not in own:
                bases = pool.setdefault(placeholder(word), [])
                if base(word) not in bases:
                    bases.append(base(word))
    able = [i for i, word in enumerate(words_of[place]) if word.kind and placeholder(word) in pool]
    if not able:
        return None
    chosen = draw.sample(able, max(1, int(REPLACED * len(able))))
    edits, pairs = {}, []
    for i in sorted(chosen):
        word = words_of[place][i]
        new = agreeing(draw.choice(pool[placeholder(word)]), words_of[place], i)
        edits[word.start, word.end] = new
        pairs.append(f"{word.text} to {new}")
    text = texts[place]
    return Change("irrelevancy", (place,), "; ".join(pairs), text, replace(text, edits))


def base(word: Word) -> str:
    """Return the lemma of a word that has a kind."""
    assert word.kind is not None
    return lemma(word.lower if word.kind != "name" else word.text, word.kind)


def placeholder(word: Word) -> tuple[str, str]:
    """Return what a word can take the place of: the same kind, and of verbs the same frame."""
    assert word.kind is not None
    return word.kind, word.frame if word.kind == "verb" else ""
