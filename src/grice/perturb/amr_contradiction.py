"""A speaker says the opposite of what he meant before, on AMR graphs."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING

from grice.perturb._amr import concept, finish, joined, nodes, parts, read_graphs
from grice.perturb.declaration import perturbation
from grice.perturb.wording import antonyms

if TYPE_CHECKING:
    from random import Random

    from grice.perturb._amr import Node
    from grice.perturb.declaration import Material, Perturbed
    from grice.perturb.wording import Kind
    from grice.records import Conversation

SHARE, NEGATED, REPLACED = 0.1, 0.7, 0.5
"""Share of the turns; of a turn's sentences, negated; of its words with an antonym, replaced."""
SOURCE = "contradiction, DEAM (Ghazarian et al. 2022)"
PREDICATE = re.compile(r"[a-z]+(?:-[a-z]+)*-\d\d")
KINDS: tuple[Kind, ...] = ("verb", "adjective", "noun")


@perturbation("amr-contradiction", "amr", SOURCE)
def amr_contradiction(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Append a negated copy of a turn's graph, or one with antonyms, to a later turn."""
    graphs = read_graphs(conversation, material)
    if graphs is None:
        return None
    able = [i for i, tree in enumerate(graphs.trees[:-2]) if tree and _predicates(tree)]
    draw.shuffle(able)
    done: dict[int, list[str]] = {}
    for place in able[: max(1, int(SHARE * len(able)))]:
        later = [
            i
            for i in range(place + 1, len(graphs.trees))
            if graphs.trees[i]
            and conversation.turns[i].speaker == conversation.turns[place].speaker
        ]
        tree = graphs.trees[place]
        if not later or tree is None:
            continue
        copy = deepcopy(tree)
        notes = (_replaced(copy, draw) if draw.random() < 0.5 else []) or _negated(copy)
        host = draw.choice(later)
        into = graphs.trees[host]
        assert into is not None
        graphs.trees[host] = joined([*parts(into), *parts(copy)])
        done.setdefault(host, []).append(f"turn {place} again with {', '.join(notes)}")
    return finish(conversation, graphs, "amr-contradiction", done)


def _predicates(tree: Node) -> list[Node]:
    return [node for _, node in nodes(tree) if PREDICATE.fullmatch(concept(node))]


def _negated(tree: Node) -> list[str]:
    wanted = max(1, int(NEGATED * len(parts(tree))))
    notes = []
    for node in _predicates(tree)[:wanted]:
        denied = [branch for branch in node[1] if branch[0] == ":polarity" and branch[1] == "-"]
        if denied:
            node[1].remove(denied[0])
        else:
            node[1].insert(1, (":polarity", "-"))
        notes.append(f"{concept(node)} {'no longer ' if denied else ''}negated")
    return notes


def _replaced(tree: Node, draw: Random) -> list[str]:
    able = []
    for _, node in nodes(tree):
        lemma = re.sub(r"-\d\d$", "", concept(node))
        found = sorted({other for kind in KINDS for other in antonyms(lemma, kind)})
        if found:
            able.append((node, found))
    if not able:
        return []
    notes = []
    for node, found in draw.sample(able, max(1, int(REPLACED * len(able)))):
        old, new = concept(node), draw.choice(found)
        ending = "-01" if PREDICATE.fullmatch(old) else ""
        place = next(i for i, branch in enumerate(node[1]) if branch[0] == "/")
        node[1][place] = ("/", new + ending)
        notes.append(f"{old} to {new}{ending}")
    return notes
