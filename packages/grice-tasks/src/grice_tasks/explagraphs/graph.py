"""The graph: facts in the order they were written."""

from __future__ import annotations

import re
from itertools import pairwise
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

    edges: tuple[Triple, ...]  # the facts

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


ProblemKind: TypeAlias = Literal["brackets", "semicolons", "nested", "text", "spacing", "empty"]
"""``brackets`` opened and not closed or the other way round; ``semicolons`` too few or too many,
so that there is no fact; ``nested`` brackets inside a concept; ``text`` outside of the
brackets; ``spacing`` other than one space behind a semicolon; ``empty`` concept, relation or
graph."""

PLAIN = re.compile(r"\(([^();]+); ([^();]+); ([^();]+)\)")
MARK = re.compile(r"[();]")
OUTSIDE = re.compile(r"[^()]*")
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
    reader = _Reader(text)
    position = 0
    while position < len(text):
        plain = PLAIN.match(text, position)
        if plain and (parts := plain.groups()) == tuple(part.strip() for part in parts):
            reader.edges.append(Triple(parts[0], parts[1], parts[2]))
            reader.starts.append(position)
            position = plain.end()
        elif text[position] == "(":
            position = reader.edge(position)
        else:
            position = reader.outside(position)
    if not reader.edges:
        reader.add("empty", 0, len(text), "no fact in the form (concept; relation; concept)")
    problems = sorted(reader.problems, key=lambda problem: problem.start)
    return Reading(Graph(tuple(reader.edges)), tuple(reader.starts), tuple(problems))


class _Reader:
    """Facts and problems of one text so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.edges: list[Triple] = []
        self.starts: list[int] = []
        self.problems: list[Problem] = []

    def add(self, kind: ProblemKind, start: int, end: int, message: str) -> None:
        self.problems.append(Problem(kind, start, end, message))

    def outside(self, start: int) -> int:
        """Read what stands between facts; return where to go on."""
        if self.text[start] == ")":
            self.add("brackets", start, start + 1, f"the ')' at {start} closes nothing")
            return start + 1
        match = OUTSIDE.match(self.text, start)
        end = start if match is None else match.end()
        stray = self.text[start:end]
        if stray.strip():
            self.add("text", start, end, f"text outside of brackets: {_shown(stray)}")
        else:
            self.add("spacing", start, end, "nothing stands between ')' and '('")
        return end

    def edge(self, start: int) -> int:
        """Read a fact that is not plain; return where to go on.

        A bracket inside that holds a semicolon opens the next fact: the one before it lacks
        its own closing bracket. Any other bracket belongs to a concept.
        """
        opened = [start]
        cuts = [start]
        nested: list[int] = []
        for mark in MARK.finditer(self.text, start + 1):
            at = mark.start()
            if mark[0] == "(":
                opened.append(at)
                nested.append(at)
            elif mark[0] == ")":
                opened.pop()
                if not opened:
                    self._finish([*cuts, at], nested)
                    return at + 1
            elif len(opened) == 1:
                cuts.append(at)
            else:
                self._unclosed(start)
                self._finish(
                    [*cuts, opened[1]], [bracket for bracket in nested if bracket < opened[1]]
                )
                if opened[1] < opened[-1]:
                    stray = self.text[opened[1] : opened[-1]]
                    self.add("text", opened[1], opened[-1], f"no fact: {_shown(stray)}")
                return opened[-1]
        self._unclosed(start)
        self._finish([*cuts, len(self.text)], nested)
        return len(self.text)

    def _unclosed(self, start: int) -> None:
        self.add("brackets", start, start + 1, f"the '(' at {start} is never closed")

    def _finish(self, cuts: list[int], nested: list[int]) -> None:
        """Take the text between the cuts as the parts of one fact."""
        start, end = cuts[0], cuts[-1]
        written = [self.text[a + 1 : b] for a, b in pairwise(cuts)]
        if len(written) != 3:
            count = len(written) - 1
            self.add(
                "semicolons",
                start,
                end,
                f"{count} semicolons instead of 2, so no fact: {_shown(self.text[start:end])}",
            )
            return
        head, relation, tail = (part.strip() for part in written)
        self.edges.append(Triple(head, relation, tail))
        self.starts.append(start)
        for at in nested:
            self.add("nested", at, at + 1, "brackets inside a concept")
        for cut, part, lead in zip(cuts, written, ("", " ", " "), strict=False):
            if not part.strip():
                self.add("empty", cut, cut + 1 + len(part), "an empty concept or relation")
            elif part != lead + part.strip():
                self.add(
                    "spacing",
                    cut + 1,
                    cut + 1 + len(part),
                    "one space stands behind a semicolon and none elsewhere at the ends "
                    f"of {_shown(part)}",
                )


def write_graph(graph: Graph) -> str:
    """Return the written form, which :func:`read_graph` reads as the same graph.

    >>> write_graph(Graph((Triple("zoos", "is a", "place"),)))
    '(zoos; is a; place)'
    """
    for number, edge in enumerate(graph.edges):
        for side in ("head", "relation", "tail"):
            part = getattr(edge, side)
            if ";" in part or part != part.strip() or not _balanced(part):
                raise InputError(
                    f"fact {number}: {side} {part!r} cannot be written: no semicolon, no "
                    "unbalanced bracket and no space at the ends may be in it"
                )
    return "".join(f"({edge.head}; {edge.relation}; {edge.tail})" for edge in graph.edges)


def _balanced(part: str) -> bool:
    depth = 0
    for mark in MARK.findall(part):
        depth += 1 if mark == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def _shown(text: str) -> str:
    return repr(excerpt(text, SHOWN))
