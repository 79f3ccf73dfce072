"""Context and keywords of statements, and the masked sentences by which pairs are found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.situated.records import Entity, Marked, Statement, context_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.runtime.protocols import TaggedSpan
    from grice.situated.tagger import Tagger

__all__ = ["MASK", "keywords_of", "mark_statements", "mask"]

MASK = "[UNK]"
ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)


def mark_statements(
    statements: Iterable[Statement], tagger: Tagger
) -> tuple[list[Marked], list[Statement]]:
    """Return the statements that have context, with keywords and mask, and those that have none.

    Args:
        statements: Sentences that hold.
        tagger: Finds entities and nouns.
    """
    given = [Statement(one.id, one.statement.strip()) for one in statements]
    kept, left = [], []
    for one, found in zip(given, tagger.find([one.statement for one in given]), strict=True):
        entities = tuple(
            Entity(one.statement[span.start : span.end], span.label) for span in found.entities
        )
        if not context_of(entities):
            left.append(one)
            continue
        keywords = keywords_of(one.statement, found.entities, found.nouns)
        masked = mask(one.statement, keywords)
        kept.append(Marked(one.id, one.statement, entities, keywords, masked))
    return kept, left


def keywords_of(
    text: str, entities: Sequence[TaggedSpan], nouns: Sequence[TaggedSpan]
) -> tuple[str, ...]:
    """Return the entities in order, then the nouns outside of them, each spelling once."""
    free = [
        noun
        for noun in nouns
        if not any(one.start < noun.end and noun.start < one.end for one in entities)
    ]
    found = (text[span.start : span.end] for span in (*entities, *free))
    return tuple(dict.fromkeys(found))


def mask(text: str, keywords: Sequence[str]) -> str:
    """Return a sentence with a mark for every keyword, as whole words, wherever it stands.

    >>> mask("July is hot in Spain, not in Spanish Fork.", ["Spain", "July"])
    '[UNK] is hot in [UNK], not in Spanish Fork.'
    """
    for keyword in keywords:
        text = re.sub(rf"(?<![\w\[]){re.escape(keyword)}(?!\w)", MASK, text)
    return text
