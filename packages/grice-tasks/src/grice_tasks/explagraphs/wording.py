"""How graphs are put to the encoder, and the phrases of a text that may become concepts."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from grice.data import Triple
from grice.text.tokens import LETTERS
from grice_tasks.explagraphs.graph import Graph, graph_schema, read_graph, write_graph
from grice_tasks.tokens import PLAIN_COMPOUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.explagraphs.samples import Stance


STOP = (
    "a all an and any are as at be because been but by can could did do does for from had has "
    "have he her his if in is it its many may might more most must no not of on or she should so "
    "some than that the their them they this to very was we were what when which who will with "
    "would you"
)
STOP_WORDS = frozenset(STOP.split())
NEGATION = re.compile(r"\b(?:not|no|never|cannot|without|nothing|nobody|none)\b|n't\b")
FILLER = "thing"


def nonsense_graph(belief: str, argument: str) -> str:
    """Return a meaningless chain of three facts over the longest words of both texts."""
    argument_words = content_words(argument)
    ends = _pick(argument_words, (), content_words(belief))
    starts = _pick(
        [word for word in content_words(belief) if word not in ends], ends, argument_words
    )
    (first, last), (middle, other) = starts, ends
    chain = (first, middle, other, last)
    relations = ("capable of", "has context", "causes")
    facts = zip(chain, relations, chain[1:], strict=False)
    return write_graph(Graph(tuple(Triple(*fact) for fact in facts)))


def content_words(text: str) -> list[str]:
    """Return the distinct words that carry meaning, in lower case, the longest first."""
    words = set(LETTERS.findall(text.lower())) - STOP_WORDS
    return sorted(words, key=lambda word: (-len(word), word))


def _pick(words: Sequence[str], taken: Sequence[str], spare: Sequence[str]) -> tuple[str, str]:
    """Return two distinct words that are not taken, of the spare ones if need be."""
    fresh = dict.fromkeys((*words, *spare, FILLER, f"other {FILLER}", f"third {FILLER}", "other"))
    first, second, *_ = (word for word in fresh if word not in taken)
    return first, second


def graph_polarity(graph: str) -> Stance:
    """Return the stance that the number of negating relations of a graph says: even, support."""
    schema = graph_schema()
    negative = {name for name, relation in schema.relations.items() if relation.negative}
    negations = sum(edge.relation in negative for edge in read_graph(graph.lower()).graph.edges)
    return "counter" if negations % 2 else "support"


def word_polarity(belief: str, argument: str) -> Stance:
    """Return ``support`` if the numbers of negating words in both texts are both even or odd."""
    belief_count, argument_count = (
        len(NEGATION.findall(text.lower())) for text in (belief, argument)
    )
    return "counter" if (belief_count - argument_count) % 2 else "support"


LONGEST = 3  # Most words of a concept


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
    """Return a fact as a sentence."""
    known = graph_schema().relations.get(fact.relation)
    return f"{fact.head} {fact.relation if known is None else known.gloss} {fact.tail}"


def phrases(text: str) -> list[str]:
    """Return the phrases of one to three words, in lower case, whose ends are content words."""
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
