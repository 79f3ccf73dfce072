"""Turns that ask nothing and say little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb.declaration import Change, Perturbed, perturbation, some_turns
from grice.perturb.wording import sentences, words
from grice.text.wordlists import PREPOSITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from grice.perturb.declaration import Material
    from grice.records import Conversation

SHARE = 0.2
"""Share of the turns, at least one (DEAM)."""
SOURCE = "decreased engagement, DEAM (Ghazarian et al. 2022), on the words instead of AMR"
PARTICLES = frozenset(["up", "out", "off", "on", "down", "over"])


@perturbation("decreased-engagement", "semantic", SOURCE)
def decreased_engagement(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Take out a question, the most detailed sentence and what follows it, or a detail."""

    def change(place: int) -> Change | None:
        before = conversation.turns[place].text
        ways = list(_shorter(before))
        if not ways:
            return None
        what, after = draw.choice(ways)
        return Change("decreased-engagement", (place,), what, before, after)

    return some_turns(conversation, draw, SHARE, change)


def _shorter(text: str) -> Iterator[tuple[str, str]]:
    """Yield what can be taken out, in words, and what is left."""
    spans = sentences(text)
    if len(spans) == 1:
        yield from _detail(text)
        return
    questions = [(start, end) for start, end in spans if text[start:end].endswith("?")]
    if questions:
        start, end = questions[-1]
        left = f"{text[:start].rstrip()} {text[end:].lstrip()}".strip()
        yield f'question "{text[start:end]}" taken out', left
    if spans:
        longest = max(spans, key=lambda span: span[1] - span[0])
        start = longest[0] if longest != spans[0] else spans[1][0]
        yield f'"{text[start:]}" taken out', text[:start].rstrip()


def _detail(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentence without its last prepositional phrase."""
    context = words(text)
    for i in range(len(context) - 1, 2, -1):
        word = context[i].lower
        if word in PREPOSITIONS - PARTICLES and context[i - 1].kind in (
            "noun",
            "name",
            "adjective",
        ):
            ends = [other for other in context[i:] if not other.text.isalnum()]
            end = ends[0].start if ends else len(text)
            if end - context[i].start > len(word) + 1:
                detail = text[context[i].start : end].rstrip()
                blank = " " if text[end : end + 1] not in {".", ",", "!", "?", ";"} else ""
                left = f"{text[: context[i - 1].end]}{blank}{text[end:]}".rstrip()
                yield f'"{detail}" taken out', left
            return
