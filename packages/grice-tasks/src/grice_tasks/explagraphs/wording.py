"""How graphs are put to the encoder, and the phrases of a text that may become concepts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from grice_tasks.explagraphs.baselines import STOP_WORDS
from grice_tasks.explagraphs.graph import graph_schema
from grice_tasks.tokens import PLAIN_COMPOUNDS

if TYPE_CHECKING:
    from grice.records import Triple

LONGEST = 3
"""Most words of a concept."""


@cache
def relation_names() -> tuple[str, ...]:
    """Return the 28 relations in the order of the schema."""
    return tuple(graph_schema().relations)


def is_negative(relation: str) -> bool:
    """Return whether a relation denies; an unknown one does not."""
    known = graph_schema().relations.get(relation)
    return known is not None and known.negative


def opposite(relation: str) -> str:
    """Return the relation that denies this one; an unknown one stays."""
    known = graph_schema().relations.get(relation)
    return relation if known is None or known.negation is None else known.negation


def fact_text(fact: Triple) -> str:
    """Return a fact as a sentence.

    >>> from grice.records import Triple
    >>> fact_text(Triple("zoos", "not used for", "fun"))
    'zoos is not used for fun'
    """
    known = graph_schema().relations.get(fact.relation)
    return f"{fact.head} {fact.relation if known is None else known.gloss} {fact.tail}"


def phrases(text: str) -> list[str]:
    """Return the phrases of one to three words that neither start nor end with an empty word.

    They are in lower case, in the order of the text, each once, and do not cross punctuation.

    >>> phrases("Zoos should be abolished.")
    ['zoos', 'abolished']
    """
    lowered = text.lower()
    words = [(m.start(), m.end()) for m in PLAIN_COMPOUNDS.finditer(lowered)]
    spans = []
    for first, (start, _) in enumerate(words):
        for last in range(first, min(first + LONGEST, len(words))):
            end = words[last][1]
            phrase = lowered[start:end]
            inside = PLAIN_COMPOUNDS.sub("", phrase)
            if inside.strip() or inside != " " * (last - first):
                break
            parts = phrase.split(" ")
            if parts[0] not in STOP_WORDS and parts[-1] not in STOP_WORDS:
                spans.append(phrase)
    return list(dict.fromkeys(spans))
