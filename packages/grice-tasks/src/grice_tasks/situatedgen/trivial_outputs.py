"""Outputs that need no understanding, and false ones, to stand beside every score."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice_tasks.situatedgen.records import CONTEXTS, Entity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.situatedgen.records import Sample


def halved(keywords: Sequence[str]) -> str:
    """Return the first half of the keywords as one sentence and the rest as another.

    >>> halved(["July", "China", "winter"])
    'July China. winter.'
    """
    half = (len(keywords) + 1) // 2
    return " ".join(keywords[:half]) + ". " + " ".join(keywords[half:]) + "."


def twice(keywords: Sequence[str]) -> str:
    """Return all keywords as one sentence, and again as another."""
    every = " ".join(keywords)
    return f"{every}. {every}."


def swapped(sample: Sample) -> str | None:
    """Return the reference with one context entity exchanged, false by construction.

    None if there is nothing to exchange: no context entity of both stands in the text.
    """
    pair = swap_contexts(sample.statements, sample.entities)
    return None if pair is None else " ".join(pair)


def swap_contexts(
    statements: Sequence[str], entities: Sequence[Sequence[Entity]]
) -> tuple[str, str] | None:
    """Return two statements with the first possible pair of their entities exchanged.

    Both entities give the same kind of context, places first, and stand in one sentence only.

    >>> spain, chile = (Entity("Spain", "GPE"),), (Entity("Chile", "GPE"),)
    >>> swap_contexts(("July is hot in Spain.", "July is cold in Chile."), (spain, chile))
    ('July is hot in Chile.', 'July is cold in Spain.')
    """
    first, second = statements
    for kind in ("GEO", "TEMP"):
        own, others = (
            [entity.text for entity in side if CONTEXTS.get(entity.label) == kind]
            for side in entities
        )
        for mine in own:
            for other in others:
                if mine.lower() in second.lower() or other.lower() in first.lower():
                    continue
                turned = _put(first, mine, other), _put(second, other, mine)
                if turned[0] != first and turned[1] != second:
                    return turned
    return None


def _put(text: str, old: str, new: str) -> str:
    start = text.startswith(old)
    replaced = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)
    return replaced[:1].upper() + replaced[1:] if start else replaced
