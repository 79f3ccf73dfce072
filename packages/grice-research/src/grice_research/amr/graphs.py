"""AMR graphs of turns as trees: read, searched, cut and joined (PENMAN notation, by ``penman``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

from grice.data import Conversation
from grice.errors import InputError
from grice.perturb import Change, Material, Perturbed, with_texts

Node: TypeAlias = tuple[str, list[Any]]
"""A variable with its branches, each a role and what it leads to: a node, a variable, a value."""

RELATIONS = frozenset(["contrast-01", "cause-01"])  # predicates that stand for "but" and "because"
INDENT = 6  # blanks a level, as the parsers that DEAM used print


class Graphs(NamedTuple):
    """The graphs of a conversation."""

    trees: list[Node | None]  # of each turn; safe to change
    to_text: Callable[[str], str]  # turns a graph into words


def read_graphs(conversation: Conversation, material: Material) -> Graphs | None:
    """Return the graphs of the turns; None if no turn has one."""
    graph_of, to_text = (material.resources.get(name) for name in ("graphs", "sentences"))
    if not callable(graph_of) or not callable(to_text):
        raise InputError(
            "perturbations of meaning need AMR graphs; give --resource graphs=FILE or "
            "--resource parser=MODEL, or install amrlib with a parser and a generator"
        )
    trees: list[Node | None] = []
    for turn in conversation.turns:
        graph = graph_of(turn.text)
        trees.append(None if graph is None else read_graph(graph))
    return Graphs(trees, to_text) if any(trees) else None


def read_graph(text: str) -> Node:
    """Return a graph as a tree."""
    try:
        import penman
        from penman.exceptions import DecodeError
    except ImportError:
        raise InputError(
            'AMR graphs need penman, which is not installed: pip install "grice-research[amr]"'
        ) from None
    try:
        tree = penman.parse(text)
    except DecodeError as error:
        line, column = (error.lineno or 1), (error.offset or 0)
        shown = error.text or (text.splitlines() or [""])[min(line, text.count("\n") + 1) - 1]
        raise InputError(
            f"not an AMR graph: {error.message or 'it ends too soon'} in line {line}:\n"
            f"  {shown.rstrip()}\n  {' ' * column}^"
        ) from None
    return _plain(tree.node)


def _plain(node: tuple[str, Any]) -> Node:
    return node[0], [
        (role, _plain(target) if isinstance(target, tuple) else target) for role, target in node[1]
    ]


def written(node: Node) -> str:
    """Return a tree in PENMAN notation."""
    import penman

    return str(penman.format(penman.Tree(node), indent=INDENT))


def concept(node: Node) -> str:
    """Return the concept of a node."""
    return next((str(target) for role, target in node[1] if role == "/"), "")


def replace_concept(node: Node, new: str) -> None:
    """Put another concept in the place of a node's own."""
    place = next(i for i, branch in enumerate(node[1]) if branch[0] == "/")
    node[1][place] = ("/", new)


def is_a_word(node: Node) -> bool:
    """Return whether a node is a word of its sentence, not a relation made up for AMR."""
    return not concept(node).endswith("-91") and concept(node) not in RELATIONS


def children(node: Node) -> Iterator[tuple[int, str, Node]]:
    """Yield place, role and node of the branches that lead to nodes."""
    for place, (role, target) in enumerate(node[1]):
        if isinstance(target, tuple):
            yield place, role, target


def nodes(node: Node, role: str = ":top") -> Iterator[tuple[str, Node]]:
    """Yield every node with the role that leads to it, in the order they are written."""
    yield role, node
    for _, below, child in children(node):
        yield from nodes(child, below)


def parts(node: Node) -> list[Node]:
    """Return the sentences of a graph: those of a multi-sentence, or the graph itself.

    Parsers let a sentence refer to a variable of another one; here each stands for itself, the
    concept of such a variable written out.
    """
    if concept(node) != "multi-sentence":
        return [node]
    concepts = {inner[0]: concept(inner) for _, inner in nodes(node)}
    sentences = [
        _by_itself(child, concepts)
        for _, role, child in children(node)
        if re.fullmatch(r":snt\d+", role)
    ]
    return sentences or [node]


def _by_itself(sentence: Node, concepts: dict[str, str]) -> Node:
    named = {node[0] for _, node in nodes(sentence)}

    def copy(node: Node) -> Node:
        branches: list[Any] = []
        for role, target in node[1]:
            if isinstance(target, tuple):
                branches.append((role, copy(target)))
            elif role != "/" and target in concepts and target not in named:
                named.add(target)
                branches.append((role, (target, [("/", concepts[target])])))
            else:
                branches.append((role, target))
        return node[0], branches

    return copy(sentence)


def joined(sentences: Sequence[Node]) -> Node:
    """Return one graph of several sentences, variables renamed where two have the same."""
    if len(sentences) == 1:
        return sentences[0]
    taken = {"m"}
    branches: list[Any] = [("/", "multi-sentence")]
    for number, sentence in enumerate(sentences, 1):
        branches.append((f":snt{number}", renamed(sentence, taken)))
    return "m", branches


def renamed(node: Node, taken: set[str]) -> Node:
    """Return a copy whose variables are not among ``taken``, to which they are added."""
    names: dict[str, str] = {}
    for _, part in nodes(node):
        name, number = part[0], 2
        while name in taken:
            name = f"{part[0].rstrip('0123456789')}{number}"
            number += 1
        names[part[0]] = name
        taken.add(name)

    def copy(part: Any) -> Any:  # noqa: ANN401 - a node, a variable or a value
        if isinstance(part, tuple):
            return names[part[0]], [
                (role, target if role == "/" else copy(target)) for role, target in part[1]
            ]
        return names.get(part, part) if isinstance(part, str) else part

    return copy(deepcopy(node))  # type: ignore[no-any-return]


def finish(
    conversation: Conversation, graphs: Graphs, kind: str, done: dict[int, list[str]]
) -> Perturbed | None:
    """Put the changed graphs of some turns into words; ``done`` says what was done to each."""
    texts, changes = {}, []
    for place, notes in sorted(done.items()):
        tree = graphs.trees[place]
        assert tree is not None
        texts[place] = graphs.to_text(written(tree))
        before = conversation.turns[place].text
        changes.append(Change(kind, (place,), "; ".join(notes), before, texts[place]))
    return Perturbed(with_texts(conversation, texts), tuple(changes)) if changes else None
