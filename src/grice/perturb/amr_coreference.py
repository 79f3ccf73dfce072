"""Pronouns that point to somebody else, on AMR graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb._amr import concept, finish, nodes, read_graphs
from grice.perturb.declaration import perturbation
from grice.perturb.wording import lemma, words

if TYPE_CHECKING:
    from random import Random

    from grice.perturb.declaration import Material, Perturbed
    from grice.records import Conversation

SHARE = 0.2
"""Share of the distinct pronouns, at least one."""
SOURCE = "coreference inconsistency, DEAM (Ghazarian et al. 2022)"
PRONOUNS = ("i", "you", "he", "she", "it", "we", "they")


@perturbation("amr-coreference", "amr", SOURCE)
def amr_coreference(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Replace a pronoun's nodes in a turn by another pronoun or a noun of the conversation."""
    graphs = read_graphs(conversation, material)
    if graphs is None:
        return None
    held: dict[str, list[int]] = {}
    for place, tree in enumerate(graphs.trees):
        for pronoun in {concept(node) for _, node in nodes(tree)} if tree else ():
            if pronoun in PRONOUNS:
                held.setdefault(pronoun, []).append(place)
    if not held:
        return None
    nouns = sorted(
        {
            lemma(word.lower, "noun")
            for turn in conversation.turns
            for word in words(turn.text)
            if word.kind == "noun"
        }
    )
    chosen = draw.sample(sorted(held), max(1, int(SHARE * len(held))))
    others = [pronoun for pronoun in PRONOUNS if pronoun not in chosen]
    done: dict[int, list[str]] = {}
    for pronoun in chosen:
        new = draw.choice(nouns if nouns and draw.random() < 0.5 else others)
        place = draw.choice(held[pronoun])
        tree = graphs.trees[place]
        assert tree is not None
        for _, node in nodes(tree):
            if concept(node) == pronoun:
                i = next(i for i, branch in enumerate(node[1]) if branch[0] == "/")
                node[1][i] = ("/", new)
        done.setdefault(place, []).append(f"{pronoun} to {new}")
    return finish(conversation, graphs, "amr-coreference", done)
