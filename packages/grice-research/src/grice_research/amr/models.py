"""Models that read AMR graphs and write them, as the sequences that amrlib's T5 models use.

A generator reads a graph in PENMAN notation, on one line. A parser writes it without variables: a
concept stands for its node, numbered where several nodes have it, and without brackets where the
node stood before.

>>> tree = read_graph("(l / love-01 :ARG0 (d / dog) :ARG1 (d2 / dog :poss d))")
>>> sequence_of(tree)
'( love-01 :ARG0 ( dog_0 ) :ARG1 ( dog_1 :poss dog_0 ) )'
>>> " ".join(written(tree_of(sequence_of(tree))).split())
'(l / love-01 :ARG0 (d / dog) :ARG1 (d2 / dog :poss d))'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from grice.errors import InputError
from grice_research.amr.graphs import Node, concept, nodes, read_graph, written
from grice_research.published_models.seq2seq import Search, Seq2Seq

PARSING = Search(beams=4, returned=4, max_pieces=512)
"""As amrlib's parser: four graphs, of which the first that can be read counts."""
GENERATION = Search(beams=1, returned=1, max_pieces=90)
TOKENS = re.compile(r'"[^"]*"|[()]|[^\s()]+')
ROLE, CONCEPT = re.compile(r':[^:/~"]+'), re.compile(r'[^:/~"()]+')
VALUES = re.compile(r'".*"|[-+]|[-+]?\d[\d.,-]*')
MODES = frozenset(["expressive", "imperative", "interrogative"])
"""Values of ``:mode``, which is no concept."""


def generator_input(graph: str) -> str:
    """Return what a generator reads of a graph in PENMAN notation."""
    return " ".join(graph.split())


def sequence_of(tree: Node) -> str:
    """Return what a parser writes of a graph."""
    every = [node for _, node in nodes(tree)]
    several = {name for name, count in Counter(map(concept, every)).items() if count > 1}
    names: dict[str, str] = {}
    given: Counter[str] = Counter()
    for node in every:
        name = concept(node)
        names[node[0]] = f"{name}_{given[name]}" if name in several else name
        given[name] += 1

    def tokens(node: Node) -> Iterator[str]:
        yield from ("(", names[node[0]])
        for role, target in node[1]:
            if role == "/":
                continue
            yield role
            if isinstance(target, tuple):
                yield from tokens(target)
            else:
                yield names.get(target, target)
        yield ")"

    return " ".join(tokens(tree))


def tree_of(sequence: str) -> Node:
    """Return the graph that a parser wrote; brackets may be missing at its end."""
    return _Reader(TOKENS.findall(sequence)).tree()


class _Reader:
    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = iter(tokens)
        self._variables: dict[str, str] = {}
        self._taken: Counter[str] = Counter()
        self._bare: dict[str, tuple[Node, int]] = {}
        """Nodes that stood without brackets so far: above which node, behind which branch."""

    def tree(self) -> Node:
        if self._next() != "(":
            raise InputError("not an AMR graph: it begins without a bracket")
        return self._node()

    def _next(self) -> str:
        return next(self._tokens, ")")

    def _node(self) -> Node:
        name = self._next()
        if name in self._bare:
            above, place = self._bare.pop(name)
            role, (variable, branches) = above[1][place]
            above[1][place] = (role, variable)
            node: Node = (variable, branches)
        else:
            node = self._new(name)
        while (role := self._next()) != ")":
            target = self._next()
            if not ROLE.fullmatch(role) or target == ")":
                raise InputError(f"not an AMR graph: {role} {target} is no role with its target")
            node[1].append(
                (role, self._node() if target == "(" else self._target(node, role, target))
            )
        return node

    def _target(self, above: Node, role: str, name: str) -> str | Node:
        """Return a value, a variable, or a node that has no brackets, at least not yet."""
        if VALUES.fullmatch(name) or (role == ":mode" and name in MODES):
            return name
        if name in self._variables:
            return self._variables[name]
        self._bare[name] = above, len(above[1])
        return self._new(name)

    def _new(self, name: str) -> Node:
        if not CONCEPT.fullmatch(name):
            raise InputError(f"not an AMR graph: {name} is no concept")
        letter = name[0].lower() if name[0].isalpha() and name[0].isascii() else "x"
        self._taken[letter] += 1
        count = self._taken[letter]
        variable = letter if count == 1 else f"{letter}{count}"
        self._variables[name] = variable
        return variable, [("/", re.sub(r"_\d+$", "", name))]


def parsed_texts(parser: Seq2Seq, texts: Iterable[str], search: Search = PARSING) -> dict[str, str]:
    """Return graphs in PENMAN notation by text; a text of which none can be read is left out."""
    distinct = list(dict.fromkeys(texts))
    graphs = {}
    for text, candidates in zip(distinct, parser.write(distinct, search), strict=True):
        for candidate in candidates:
            try:
                graph = written(tree_of(candidate.text))
                read_graph(graph)
            except InputError:
                continue
            graphs[text] = graph
            break
    return graphs


def generated_texts(generator: Seq2Seq, graphs: Iterable[str]) -> list[str]:
    """Return the texts of graphs in PENMAN notation."""
    answers = generator.write([generator_input(graph) for graph in graphs], GENERATION)
    return [best.text.strip() for (best,) in answers]
