"""Task 2 without a network that reads answers: the best tail among the stretches of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_tasks.cider.find import candidates_of
from grice_tasks.cider.heads import span_vectors
from grice_tasks.cider.span_candidates import Joined, informative
from grice_tasks.cider.structure import layout_of, locate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.cider.models import TripletModels
    from grice_tasks.cider.reading import TextReading

__all__ = ["best_tails"]

OPTION = 1
"""The number that says how good a tail is among several."""


def best_tails(
    reading: TextReading, asked: Sequence[tuple[str, str]], models: TripletModels
) -> list[str]:
    """Return the event or thing that answers each head and relation best.

    An answer is empty where a text has no other event or thing than the head, where the models
    have no tagger that finds them, or no head that reads spans in their text alone.

    Args:
        reading: The text, without turns: sentences are tagged one by one.
        asked: Heads and relations.
        models: The heads.

    Raises:
        InputError: If a relation is none of CIDER's.
    """
    text, layout, links = reading.text, layout_of(reading.text), models.links.in_context()
    if links is None:
        return [""] * len(asked)
    starts = [0, *(mark + 2 for mark in layout.marks if mark + 2 < len(text))]
    telling = [
        candidate.place
        for candidate in candidates_of(Joined(text, tuple(starts)), reading, models)
        if informative(text, candidate)
    ]
    answers = []
    for head, relation in asked:
        number, at = links.index(relation), locate(text, head)
        places = [
            stretch
            for stretch in telling
            if at is None or stretch[1] <= at[0] or at[1] <= stretch[0]
        ]
        if not places:
            answers.append("")
            continue
        spans = [head, *(text[slice(*place)] for place in places)]
        sides = span_vectors(
            reading, layout, spans, alone=models.encoder.encode, both=False, places=[at, *places]
        )
        good = links(sides, [(0, i) for i in range(1, len(spans))])
        best = int(good[:, OPTION, number].argmax())
        answers.append(spans[1 + best])
    return answers
