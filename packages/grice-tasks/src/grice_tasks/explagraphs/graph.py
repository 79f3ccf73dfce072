"""The graph: facts in the order they were written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError
from grice.knowledge.schema import load_schema
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grice.knowledge.schema import Schema


class Graph(msgspec.Struct, frozen=True):
    """An explanation graph; every fact counts, repeated and parallel ones too.

    Attributes:
        edges: The facts, head and tail being concepts, in the order they were written.
    """

    edges: tuple[Triple, ...]

    @property
    def concepts(self) -> tuple[str, ...]:
        """The distinct concepts in the order they first appear."""
        return tuple(dict.fromkeys(c for edge in self.edges for c in (edge.head, edge.tail)))

    def lower(self) -> Graph:
        """Return the graph in lower case, as every published score reads it."""
        return Graph(
            tuple(Triple(e.head.lower(), e.relation.lower(), e.tail.lower()) for e in self.edges)
        )


def links_of(graph: Graph) -> dict[str, dict[str, str]]:
    """Return the relation of each linked pair: ``links[head][tail]``; every concept is a key.

    Of several relations between one ordered pair the last one stays, as in the released code.
    """
    links: dict[str, dict[str, str]] = {}
    for edge in graph.edges:
        links.setdefault(edge.head, {})[edge.tail] = edge.relation
        links.setdefault(edge.tail, {})
    return links


def neighbours(links: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the concepts that each is linked with, in either direction: tails, then heads."""
    near = {concept: list(tails) for concept, tails in links.items()}
    for head, tails in links.items():
        for tail in tails:
            near[tail].append(head)
    return near


def find_cycle(links: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Return the concepts of one directed cycle, the first one again at the end; empty if none."""
    done: set[str] = set()
    for start in links:
        if start in done:
            continue
        path = {start: None}
        walks = [iter(links[start])]
        while walks:
            tail = next(walks[-1], None)
            if tail is None:
                walks.pop()
                done.add(path.popitem()[0])
            elif tail in path:
                names = list(path)
                return (*names[names.index(tail) :], tail)
            elif tail not in done:
                path[tail] = None
                walks.append(iter(links[tail]))
    return ()


def graph_schema() -> Schema:
    """Return the 28 relations of explanation graphs."""
    return load_schema(Path(__file__).with_name("relations.toml"))


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
