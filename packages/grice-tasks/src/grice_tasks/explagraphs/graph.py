"""Explanation graphs: facts in the order in which they were written, read and written as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import networkx

from grice.data import Triple
from grice.errors import InputError, excerpt
from grice.knowledge.schema import load_schema

if TYPE_CHECKING:
    from networkx import DiGraph

    from grice.knowledge.schema import Schema


class Graph(msgspec.Struct, frozen=True):
    """An explanation graph; every fact counts, repeated and parallel ones too."""

    edges: tuple[Triple, ...]  # head and tail are concepts

    @property
    def concepts(self) -> tuple[str, ...]:
        """The distinct concepts in the order they first appear."""
        return tuple(dict.fromkeys(c for edge in self.edges for c in (edge.head, edge.tail)))

    @property
    def facts(self) -> list[str]:
        """The facts as published scores compare them."""
        return [f"{edge.head}; {edge.relation}; {edge.tail}" for edge in self.edges]

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
    """Return the facts in depth-first order, as the released code; a cycle comes last."""
    links = links_of(graph)
    starts = [concept for concept, count in links.in_degree if not count]
    walk = networkx.edge_dfs(links, [*starts, *links])
    return Graph(
        tuple(Triple(head, links.edges[head, tail]["relation"], tail) for head, tail in walk)
    )


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


ProblemKind: TypeAlias = Literal["brackets", "nested", "text", "spacing", "empty"]
"""``brackets``: a fact is not closed; ``nested`` brackets in a concept; ``text`` that is no fact;
``spacing`` other than one space behind a semicolon; ``empty`` concept, relation or graph."""

_PART = r"(?:[^();]|\([^();]*\))*"  # a concept may hold brackets, not nested ones
# Lookaheads make the parts atomic: possessive quantifiers match wrongly before Python 3.11.4.
FACT = re.compile(rf"\((?=({_PART}))\1;(?=({_PART}))\2;(?=({_PART}))\3(\)|(?=\()|$)")
SHOWN = 60


class Problem(msgspec.Struct, frozen=True):
    """Something in the text that is not as a written graph should be."""

    kind: ProblemKind
    start: int
    end: int
    message: str


class Reading(msgspec.Struct, frozen=True):
    """Content of a text."""

    graph: Graph
    starts: tuple[int, ...]  # where each fact starts in the text
    problems: tuple[Problem, ...]


def read_graph(text: str) -> Reading:
    """Return the facts of a written graph and every problem with its position.

    >>> reading = read_graph("(zoos; is a; place)(place;has context; city")
    >>> [edge.tail for edge in reading.graph.edges]
    ['place', 'city']
    >>> [(problem.kind, problem.start) for problem in reading.problems]
    [('brackets', 19), ('spacing', 26)]
    """
    facts = list(FACT.finditer(text))
    edges = [Triple(fact[1].strip(), fact[2].strip(), fact[3].strip()) for fact in facts]
    problems = []
    if not facts:
        message = "no fact in the form (concept; relation; concept)"
        problems.append(Problem("empty", 0, len(text), message))
    ends = [0, *(fact.end() for fact in facts)]
    starts = [*(fact.start() for fact in facts), len(text)]
    for end, start in zip(ends, starts, strict=True):
        stray = text[end:start]
        if stray.strip():
            message = f"text that is no fact (concept; relation; concept): {_shown(stray)}"
            problems.append(Problem("text", end, start, message))
        elif stray:
            problems.append(Problem("spacing", end, start, "nothing stands between ')' and '('"))
    for fact in facts:
        problems += _problems_of(fact)
    problems.sort(key=lambda problem: problem.start)
    return Reading(Graph(tuple(edges)), tuple(starts[:-1]), tuple(problems))


def _problems_of(fact: re.Match[str]) -> list[Problem]:
    problems = []
    if not fact[4]:
        start = fact.start()
        message = f"the '(' at {start} is never closed"
        problems.append(Problem("brackets", start, start + 1, message))
    for number, lead in ((1, ""), (2, " "), (3, " ")):
        part, start, end = fact[number], fact.start(number), fact.end(number)
        if "(" in part:
            at = start + part.index("(")
            problems.append(Problem("nested", at, at + 1, "brackets inside a concept"))
        if not part.strip():
            problems.append(Problem("empty", start - 1, end, "an empty concept or relation"))
        elif part != lead + part.strip():
            message = "one space stands behind a semicolon and none elsewhere at the ends of"
            problems.append(Problem("spacing", start, end, f"{message} {_shown(part)}"))
    return problems


def write_graph(graph: Graph) -> str:
    """Return the written form, which :func:`read_graph` reads as the same graph."""
    for number, edge in enumerate(graph.edges):
        for side in ("head", "relation", "tail"):
            part = getattr(edge, side)
            if part != part.strip() or not re.fullmatch(_PART, part):
                raise InputError(
                    f"fact {number}: {side} {part!r} cannot be written: no semicolon, no "
                    "unbalanced or nested bracket and no space at the ends may be in it"
                )
    return "".join(f"({fact})" for fact in graph.facts)


def _shown(text: str) -> str:
    return repr(excerpt(text, SHOWN))
