"""A speaker says the opposite of what he meant before, on AMR graphs."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING

from grice.perturb._amr import concept, finish, is_a_word, joined, nodes, parts, read_graphs
from grice.perturb.declaration import perturbation
from grice.perturb.wording import antonyms

if TYPE_CHECKING:
    from random import Random

    from grice.perturb._amr import Node
    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

SHARE, NEGATED, REPLACED = 0.1, 0.7, 0.5
"""Share of the turns; of a turn's sentences, negated; of its words with an antonym, replaced."""
BIDDING = frozenset(["imperative", "interrogative"])
SOURCE = "contradiction, DEAM (Ghazarian et al. 2022)"
PREDICATE = re.compile(r"[a-z]+(?:-[a-z]+)*-\d\d")


@perturbation("amr-contradiction", "amr", SOURCE)
def amr_contradiction(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Append what a turn states, negated or with antonyms, to a later turn of its speaker."""
    graphs = read_graphs(conversation, material)
    if graphs is None:
        return None
    stated = {
        i: statements
        for i, tree in enumerate(graphs.trees[:-2])
        if tree and (statements := [sentence for sentence in parts(tree) if _states(sentence)])
    }
    able = list(stated)
    draw.shuffle(able)
    done: dict[int, list[str]] = {}
    for place in able[: max(1, int(SHARE * len(able)))]:
        later = [
            i
            for i in range(place + 1, len(graphs.trees))
            if graphs.trees[i]
            and conversation.turns[i].speaker == conversation.turns[place].speaker
        ]
        if not later:
            continue
        copy = deepcopy(stated[place])
        notes = (_replaced(copy, draw) if draw.random() < 0.5 else []) or _negated(copy)
        host = draw.choice(later)
        into = graphs.trees[host]
        assert into is not None
        graphs.trees[host] = joined([*parts(into), *copy])
        done.setdefault(host, []).append(f"turn {place} again with {', '.join(notes)}")
    return finish(conversation, graphs, "amr-contradiction", done)


def _states(sentence: Node) -> bool:
    """Return whether a sentence says something that can be denied: it neither asks nor bids."""
    inner = [node for _, node in nodes(sentence)]
    asks = any(concept(node) == "amr-unknown" for node in inner)
    bids = any(role == ":mode" and target in BIDDING for node in inner for role, target in node[1])
    return not asks and not bids and any(map(_denies, inner))


def _denies(node: Node) -> bool:
    """Return whether the sentence is denied where this node is."""
    return PREDICATE.fullmatch(concept(node)) is not None and is_a_word(node)


def _negated(sentences: list[Node]) -> list[str]:
    able = [node for _, node in _nodes(sentences) if _denies(node)]
    notes = []
    for node in able[: max(1, int(NEGATED * len(sentences)))]:
        denied = [branch for branch in node[1] if branch[0] == ":polarity" and branch[1] == "-"]
        if denied:
            node[1].remove(denied[0])
        else:
            node[1].insert(1, (":polarity", "-"))
        notes.append(f"{concept(node)} {'no longer ' if denied else ''}negated")
    return notes


def _replaced(sentences: list[Node], draw: Random) -> list[str]:
    able = [
        (node, opposites)
        for role, node in _nodes(sentences)
        if (opposites := _opposites(role, node))
    ]
    if not able:
        return []
    notes = []
    for node, opposites in draw.sample(able, max(1, int(REPLACED * len(able)))):
        old, new = concept(node), draw.choice(opposites)
        ending = "-01" if PREDICATE.fullmatch(old) else ""
        place = next(i for i, branch in enumerate(node[1]) if branch[0] == "/")
        node[1][place] = ("/", new + ending)
        notes.append(f"{old} to {new}{ending}")
    return notes


def _opposites(role: str, node: Node) -> list[str]:
    """Return antonyms of a verb or adjective; those of nouns are partners, as cat and dog."""
    word = re.sub(r"-\d\d$", "", concept(node))
    if word == concept(node) and role not in (":mod", ":manner", ":degree"):
        return []
    return sorted(antonyms(word, "verb") or antonyms(word, "adjective"))


def _nodes(sentences: list[Node]) -> list[tuple[str, Node]]:
    return [inner for sentence in sentences for inner in nodes(sentence)]
