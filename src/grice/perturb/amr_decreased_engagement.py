"""Turns that ask nothing and say little, on AMR graphs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.perturb._amr import children, concept, finish, joined, nodes, parts, read_graphs, written
from grice.perturb.declaration import perturbation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from grice.perturb._amr import Node
    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

SHARE = 0.2
"""Share of the turns, at least one."""
SOURCE = "decreased engagement, DEAM (Ghazarian et al. 2022)"
DETAIL = re.compile(r":(?:ARG|op)[1-9]\d*")


@perturbation("amr-decreased-engagement", "amr", SOURCE)
def amr_decreased_engagement(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Take out a question, the most detailed sentence and what follows, or an argument."""
    graphs = read_graphs(conversation, material)
    if graphs is None:
        return None
    places = [i for i, tree in enumerate(graphs.trees) if tree]
    draw.shuffle(places)
    wanted = max(1, int(SHARE * len(graphs.trees)))
    done: dict[int, list[str]] = {}
    for place in places:
        tree = graphs.trees[place]
        ways = list(_ways(tree, draw)) if tree else []
        if ways:
            what, graphs.trees[place] = draw.choice(ways)
            done[place] = [what]
        if len(done) == wanted:
            break
    return finish(conversation, graphs, "amr-decreased-engagement", done)


def _ways(tree: Node, draw: Random) -> Iterator[tuple[str, Node]]:
    """Yield what can be taken out of a graph, in words, with what is left."""
    sentences = parts(tree)
    if len(sentences) == 1:
        yield from _detail(tree, draw)
        return
    asking = [
        i
        for i, sentence in enumerate(sentences)
        if any(concept(node) == "amr-unknown" for _, node in nodes(sentence))
    ]
    if asking:
        left = [sentence for i, sentence in enumerate(sentences) if i != asking[-1]]
        yield f"question, sentence {asking[-1] + 1}, taken out", joined(left)
    lines = [written(sentence).count("\n") for sentence in sentences]
    cut = lines.index(max(lines)) or 1
    what = f"sentence {cut + 1} and what follows it taken out"
    yield what, joined(sentences[:cut])


def _detail(tree: Node, draw: Random) -> Iterator[tuple[str, Node]]:
    able = [
        (node, place, role, child)
        for _, node in nodes(tree)
        for place, role, child in children(node)
        if DETAIL.fullmatch(role) and not _held_elsewhere(tree, child)
    ]
    if able:
        node, place, role, child = draw.choice(able)
        del node[1][place]
        yield f"{role} {concept(child)} taken out", tree


def _held_elsewhere(tree: Node, part: Node) -> bool:
    """Return whether a variable of a part is used outside it: then it cannot be taken out."""
    inside = {node[0] for _, node in nodes(part)}
    within = {id(node) for _, node in nodes(part)}
    return any(
        target in inside
        for _, node in nodes(tree)
        if id(node) not in within
        for role, target in node[1]
        if role != "/" and isinstance(target, str)
    )
