"""The four incoherences of DEAM (Ghazarian et al. 2022) on AMR graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from random import Random

from grice.data import Conversation
from grice.perturb import Material, Perturbed, mixture, perturbation
from grice.perturb.wording import antonyms, lemma, words
from grice_research.amr.graphs import (
    Node,
    children,
    concept,
    finish,
    is_a_word,
    joined,
    nodes,
    parts,
    read_graphs,
    replace_concept,
    written,
)
from grice_research.amr.sources import open_sources, reusing_graphs

DEAM = "DEAM (Ghazarian et al. 2022)"
CONTRADICTED, NEGATED, OPPOSED = 0.1, 0.7, 0.5
"""Share of the turns; of a turn's sentences, negated; of its words with an antonym, replaced."""
EXCHANGED_PRONOUNS = 0.2  # share of the distinct pronouns, at least one
IRRELEVANT, EXCHANGED = 0.1, 0.5
"""Share of the turns, and of the concepts of such a turn, at least one each."""
SHORTENED = 0.2  # share of the turns, at least one
BIDDING = frozenset(["imperative", "interrogative"])
PRONOUNS = ("i", "you", "he", "she", "it", "we", "they")
STRUCTURAL = frozenset({"amr-unknown", "multi-sentence", "name", "and", "or"})
"""Concepts that stay where they are."""
PREDICATE = re.compile(r"[a-z]+(?:-[a-z]+)*-\d\d")
DETAIL = re.compile(r":(?:ARG|op)[1-9]\d*")


@perturbation("amr-coreference", "amr", f"coreference inconsistency, {DEAM}", open_sources)
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
    spoken = (word for turn in conversation.turns for word in words(turn.text))
    nouns = sorted({lemma(word.lower, "noun") for word in spoken if word.kind == "noun"})
    chosen = draw.sample(sorted(held), max(1, int(EXCHANGED_PRONOUNS * len(held))))
    others = [pronoun for pronoun in PRONOUNS if pronoun not in chosen]
    done: dict[int, list[str]] = {}
    for pronoun in chosen:
        new = draw.choice(nouns if nouns and draw.random() < 0.5 else others)
        place = draw.choice(held[pronoun])
        tree = graphs.trees[place]
        assert tree is not None
        for _, node in nodes(tree):
            if concept(node) == pronoun:
                replace_concept(node, new)
        done.setdefault(place, []).append(f"{pronoun} to {new}")
    return finish(conversation, graphs, "amr-coreference", done)


@perturbation("amr-contradiction", "amr", f"contradiction, {DEAM}", open_sources)
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
    for place in able[: max(1, int(CONTRADICTED * len(able)))]:
        speaker = conversation.turns[place].speaker
        later = [
            i
            for i, turn in enumerate(conversation.turns)
            if i > place and graphs.trees[i] and turn.speaker == speaker
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
    bids = any(role == ":mode" and str(target) in BIDDING for n in inner for role, target in n[1])
    return not _asks(sentence) and not bids and any(map(_denies, inner))


def _asks(sentence: Node) -> bool:
    return any(concept(node) == "amr-unknown" for _, node in nodes(sentence))


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
    every = ((node, _opposites(role, node)) for role, node in _nodes(sentences))
    able = [(node, opposites) for node, opposites in every if opposites]
    if not able:
        return []
    notes = []
    for node, opposites in draw.sample(able, max(1, int(OPPOSED * len(able)))):
        old, new = concept(node), draw.choice(opposites)
        ending = "-01" if PREDICATE.fullmatch(old) else ""
        replace_concept(node, new + ending)
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


@perturbation("amr-irrelevancy", "amr", f"irrelevancy, {DEAM}", open_sources)
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
    able_of = [
        [(kind, node) for kind, node in _items(tree) if len(pool[kind]) > 1]
        for tree in graphs.trees
    ]
    places = [i for i, able in enumerate(able_of) if able]
    done: dict[int, list[str]] = {}
    for place in draw.sample(places, min(len(places), max(1, int(IRRELEVANT * len(graphs.trees))))):
        able = able_of[place]
        for kind, node in draw.sample(able, max(1, int(EXCHANGED * len(able)))):
            old = concept(node)
            new = draw.choice(sorted(pool[kind] - {old}))
            replace_concept(node, new)
            done.setdefault(place, []).append(f"{old} to {new}")
    return finish(conversation, graphs, "amr-irrelevancy", done)


def _items(tree: Node | None) -> list[tuple[str, Node]]:
    """Return the nodes of a graph by kind: predicate, else ``arg``, ``op`` or ``mod`` by role."""
    items = []
    for role, node in nodes(tree) if tree else ():
        if concept(node) in STRUCTURAL or not is_a_word(node):
            continue
        name = re.match(r":(arg|op|mod)", role, re.IGNORECASE)
        if PREDICATE.fullmatch(concept(node)):
            items.append(("predicate", node))
        elif name:
            items.append((name[1].lower(), node))
    return items


@perturbation("amr-decreased-engagement", "amr", f"decreased engagement, {DEAM}", open_sources)
def amr_decreased_engagement(
    conversation: Conversation, draw: Random, material: Material
) -> Perturbed | None:
    """Take out a question, the most detailed sentence and what follows, or an argument."""
    graphs = read_graphs(conversation, material)
    if graphs is None:
        return None
    places = [i for i, tree in enumerate(graphs.trees) if tree]
    draw.shuffle(places)
    wanted = max(1, int(SHORTENED * len(graphs.trees)))
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
    asking = [i for i, sentence in enumerate(sentences) if _asks(sentence)]
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


KINDS = ("amr-coreference", "amr-contradiction", "amr-irrelevancy", "amr-decreased-engagement")
MIXED = ("deam-amr", 4, DEAM, " ".join(KINDS))


@perturbation("deam-amr", "amr", f"{DEAM}, on AMR", open_sources)
def deam_amr(conversation: Conversation, draw: Random, material: Material) -> Perturbed | None:
    """Apply 1 to 4 of the four AMR kinds, as the paper mixes them."""
    return mixture(*MIXED).apply(conversation, draw, reusing_graphs(material))
