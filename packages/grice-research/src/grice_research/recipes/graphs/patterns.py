"""The pattern of a graph that people wrote, which the generator fills with other concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_tasks.explagraphs.candidates import origin, place_in
from grice_tasks.explagraphs.templates import Slot, Template
from grice_tasks.explagraphs.wording import relation_names

if TYPE_CHECKING:
    from grice_tasks.explagraphs.graph import Graph


def template_of(graph: Graph, belief: str, argument: str, stance: str) -> Template | None:
    """Return the pattern of a graph; None if a relation is unknown or it is not connected."""
    number = {name: place for place, name in enumerate(relation_names())}
    texts = (belief.lower(), argument.lower())
    slot = {concept: place for place, concept in enumerate(graph.concepts)}
    if not graph.edges or any(fact.relation not in number for fact in graph.edges):
        return None
    left = [(slot[fact.head], number[fact.relation], slot[fact.tail]) for fact in graph.edges]
    facts, reached = [left.pop(0)], {slot[graph.edges[0].head], slot[graph.edges[0].tail]}
    while left:
        fact = next(
            (candidate for candidate in left if candidate[0] in reached or candidate[2] in reached),
            None,
        )
        if fact is None:
            return None
        left.remove(fact)
        facts.append(fact)
        reached |= {fact[0], fact[2]}
    slots = []
    for concept in graph.concepts:
        where = origin(concept, *texts)
        start, end = place_in(concept, texts[where == "argument"])
        fresh = concept if where == "outside" else ""
        slots.append(Slot(where, round(start, 2), round(end, 2), fresh))
    return Template(stance, tuple(slots), tuple(facts))
