"""The graph: facts in the order they were written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import networkx

from grice.errors import InputError
from grice.knowledge.schema import load_schema
from grice.records import Triple

if TYPE_CHECKING:
    from networkx import DiGraph

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


def links_of(graph: Graph) -> DiGraph:
    """Return the concepts and their links, each with its ``relation``.

    Of several relations between one ordered pair the last one stays, as in the released code.
    """
    links = networkx.DiGraph()
    for edge in graph.edges:
        links.add_edge(edge.head, edge.tail, relation=edge.relation)
    return links


def find_cycle(links: DiGraph) -> tuple[str, ...]:
    """Return the concepts of one directed cycle, the first one again at the end; empty if none."""
    try:
        cycle = networkx.find_cycle(links)
    except networkx.NetworkXNoCycle:
        return ()
    return (*(head for head, _ in cycle), cycle[0][0])


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
    starts = [concept for concept, count in links.in_degree if not count]
    walk = networkx.edge_dfs(links, [*starts, *links])
    return Graph(
        tuple(Triple(head, links.edges[head, tail]["relation"], tail) for head, tail in walk)
    )


def topological(graph: Graph) -> Graph:
    """Return the facts in topological order of their heads, repeated and parallel ones too.

    Concepts come in generations: first those without incoming fact, then those whose
    predecessors have all come; within one generation in the order they became free.
    """
    links = links_of(graph)
    if cycle := find_cycle(links):
        raise InputError(f"a graph with a cycle has no topological order: {' → '.join(cycle)}")
    rank = {concept: place for place, concept in enumerate(networkx.topological_sort(links))}
    return Graph(tuple(sorted(graph.edges, key=lambda edge: rank[edge.head])))


def depth(graph: Graph) -> int:
    """Return the number of facts on the longest directed path of a graph without a cycle."""
    return int(networkx.dag_longest_path_length(links_of(graph), weight=None))


def is_linear(graph: Graph) -> bool:
    """Return whether the graph is one chain: connected, and no concept has two of a side."""
    links = links_of(graph)
    return (
        bool(links)
        and networkx.is_arborescence(links)
        and all(count <= 1 for _, count in links.out_degree)
    )
