"""Context and keywords of statements, and the masked sentences by which pairs are found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice_tasks.situatedgen.records import Entity, Marked, Statement, context_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.models.protocols import TaggedSpan
    from grice_tasks.situatedgen.tagger import Tagger

MASK = "[UNK]"
ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)


def mark_statements(
    statements: Iterable[Statement], tagger: Tagger
) -> tuple[list[Marked], list[Statement]]:
    """Return the statements that have context, with keywords and mask, and those that have none."""
    given = [Statement(statement.id, statement.statement.strip()) for statement in statements]
    marked, left = [], []
    for statement, tagged in zip(
        given, tagger.find([statement.statement for statement in given]), strict=True
    ):
        entities = tuple(
            Entity(statement.statement[span.start : span.end], span.label)
            for span in tagged.entities
        )
        if not context_of(entities):
            left.append(statement)
            continue
        keywords = keywords_of(statement.statement, tagged.entities, tagged.nouns)
        masked = mask(statement.statement, keywords)
        marked.append(Marked(statement.id, statement.statement, entities, keywords, masked))
    return marked, left


def keywords_of(
    text: str, entities: Sequence[TaggedSpan], nouns: Sequence[TaggedSpan]
) -> tuple[str, ...]:
    """Return the entities in order, then the nouns outside of them, each spelling once."""
    free = [
        noun
        for noun in nouns
        if not any(entity.start < noun.end and noun.start < entity.end for entity in entities)
    ]
    spelt = (text[span.start : span.end] for span in (*entities, *free))
    return tuple(dict.fromkeys(spelt))


def mask(text: str, keywords: Sequence[str]) -> str:
    """Return a sentence with a mark for every keyword, as whole words, wherever it stands.

    >>> mask("July is hot in Spain, not in Spanish Fork.", ["Spain", "July"])
    '[UNK] is hot in [UNK], not in Spanish Fork.'
    """
    for keyword in keywords:
        text = re.sub(rf"(?<![\w\[]){re.escape(keyword)}(?!\w)", MASK, text)
    return text
