"""Orders of the facts, and the shape of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.records import Triple
from grice_tasks.explagraphs.graph import Graph, find_cycle, links_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def depth_first(graph: Graph) -> Graph:
    """Return the facts in depth-first order, the order of the released code and training data.

    From each concept without incoming fact, in order of appearance, facts are walked along the
    first one not yet walked. Of several relations between one ordered pair only the last
    stays, as in the released code. A part without such a concept, a cycle, comes last and
    starts where it was first mentioned; the released code drops it.
    """
    links = links_of(graph)
    entered = {tail for tails in links.values() for tail in tails}
    waiting = {head: iter(tails.items()) for head, tails in links.items()}
    facts = []
    for start in (*(head for head in links if head not in entered), *links):
        path = [start]
        while path:
            step = next(waiting[path[-1]], None)
            if step is None:
                path.pop()
            else:
                facts.append(Triple(path[-1], step[1], step[0]))
                path.append(step[0])
    return Graph(tuple(facts))


def topological(graph: Graph) -> Graph:
    """Return the facts in topological order of their heads, repeated and parallel ones too.

    Concepts come in generations: first those without incoming fact, then those whose
    predecessors have all come; within one generation in the order they became free.

    Raises:
        InputError: If the graph has a cycle; the message names it.
    """
    links = links_of(graph)
    rank = _ranks(links)
    if len(rank) < len(links):
        cycle = " → ".join(find_cycle(links))
        raise InputError(f"a graph with a cycle has no topological order: {cycle}")
    return Graph(tuple(sorted(graph.edges, key=lambda edge: rank[edge.head])))


def _ranks(links: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """Return the place of each concept that is on no cycle and behind none."""
    left = dict.fromkeys(links, 0)
    for tails in links.values():
        for tail in tails:
            left[tail] += 1
    free = [concept for concept, count in left.items() if not count]
    for concept in free:
        for tail in links[concept]:
            left[tail] -= 1
            if not left[tail]:
                free.append(tail)
    return {concept: place for place, concept in enumerate(free)}


def depth(graph: Graph) -> int:
    """Return the number of facts on the longest directed path.

    Raises:
        InputError: If the graph has a cycle.
    """
    longest: dict[str, int] = {}
    for edge in topological(graph).edges:
        reached = longest.get(edge.head, 0) + 1
        longest[edge.tail] = max(longest.get(edge.tail, 0), reached)
    return max(longest.values(), default=0)


def is_linear(graph: Graph) -> bool:
    """Return whether the graph is one chain: connected, and no concept has two of a side."""
    links = links_of(graph)
    tails = [tail for linked in links.values() for tail in linked]
    return (
        all(len(linked) <= 1 for linked in links.values())
        and len(set(tails)) == len(tails)
        and len(tails) == len(links) - 1
        and not find_cycle(links)
    )
