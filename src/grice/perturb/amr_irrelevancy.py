"""Concepts of a turn that belong to another turn, on AMR graphs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.perturb._amr import concept, finish, is_a_word, nodes, read_graphs
from grice.perturb.amr_contradiction import PREDICATE
from grice.perturb.declaration import perturbation

if TYPE_CHECKING:
    from random import Random

    from grice.perturb._amr import Node
    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

SHARE, REPLACED = 0.1, 0.5
"""Share of the turns, and of the concepts of such a turn, at least one each."""
SOURCE = "irrelevancy, DEAM (Ghazarian et al. 2022)"
KEPT = frozenset({"amr-unknown", "multi-sentence", "name", "and", "or"})


@perturbation("amr-irrelevancy", "amr", SOURCE)
def amr_irrelevancy(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Replace predicates, arguments, operands and modifiers by those of other turns."""
    graphs = read_graphs(conversation, material)
    if graphs is None:
        return None
    pool: dict[str, set[str]] = {}
    for tree in graphs.trees:
        for kind, node in _items(tree):
            pool.setdefault(kind, set()).add(concept(node))
    places = [
        i
        for i, tree in enumerate(graphs.trees)
        if any(len(pool[kind]) > 1 for kind, _ in _items(tree))
    ]
    done: dict[int, list[str]] = {}
    for place in draw.sample(places, min(len(places), max(1, int(SHARE * len(graphs.trees))))):
        able = [(kind, node) for kind, node in _items(graphs.trees[place]) if len(pool[kind]) > 1]
        for kind, node in draw.sample(able, max(1, int(REPLACED * len(able)))):
            old = concept(node)
            new = draw.choice(sorted(pool[kind] - {old}))
            i = next(i for i, branch in enumerate(node[1]) if branch[0] == "/")
            node[1][i] = ("/", new)
            done.setdefault(place, []).append(f"{old} to {new}")
    return finish(conversation, graphs, "amr-irrelevancy", done)


def _items(tree: Node | None) -> list[tuple[str, Node]]:
    """Return the nodes of a graph by kind: predicate, else ``arg``, ``op`` or ``mod`` by role."""
    items = []
    for role, node in nodes(tree) if tree else ():
        if concept(node) in KEPT or not is_a_word(node):
            continue
        name = re.match(r":(arg|op|mod)", role, re.IGNORECASE)
        if PREDICATE.fullmatch(concept(node)):
            items.append(("predicate", node))
        elif name:
            items.append((name[1].lower(), node))
    return items
