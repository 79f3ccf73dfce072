"""The graph: facts in the order they were written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

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
