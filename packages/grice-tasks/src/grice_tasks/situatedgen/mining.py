"""Pairs of statements that say the like of different places or times.

Masked sentences are compared by their vectors, all of them with all, block by block.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError, did_you_mean
from grice_tasks.situatedgen.marking import MASK
from grice_tasks.situatedgen.records import CONTEXTS, Marked, MinedPair, context_of
from grice_tasks.situatedgen.words import find_run, lemmas

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]
    from grice_tasks.situatedgen.records import MinedPair

THRESHOLD = 0.8
FEWEST, MOST = 2, 5
"""Marks that a masked sentence may have."""
BLOCK = 2048
Refusal: TypeAlias = Literal["keywords", "contained", "shared entity", "no shared context"]
Likeness: TypeAlias = "tuple[int, int, float]"


class RuleSet(msgspec.Struct, frozen=True):
    """Conditions on a pair.

    Attributes:
        every_label: Whether a shared entity of any label refuses a pair, or of context alone.
        inflected: Whether an entity is found in another form of its words too, or only as it is
            spelt, then also inside of longer words.
        contained: Whether a statement may not hold the other one whole.
    """

    every_label: bool
    inflected: bool
    contained: bool


RULES = {
    "paper": RuleSet(every_label=True, inflected=True, contained=False),
    "released": RuleSet(every_label=False, inflected=False, contained=True),
}


def refusal(first: Marked, second: Marked, rules: str = "paper") -> Refusal | None:
    """Return why two statements are no pair; None if they may be one."""
    if rules not in RULES:
        raise InputError(f"rules={rules!r}{did_you_mean(rules, RULES)}")
    wanted = RULES[rules]
    if any(not FEWEST <= statement.masked.count(MASK) <= MOST for statement in (first, second)):
        return "keywords"
    mine, other = first.statement.lower(), second.statement.lower()
    if wanted.contained and (mine in other or other in mine):
        return "contained"
    if not context_of(first.entities) & context_of(second.entities):
        return "no shared context"
    for statement, text in ((first, second.statement), (second, first.statement)):
        for entity in statement.entities:
            if not wanted.every_label and entity.label not in CONTEXTS:
                continue
            shared = (
                find_run(_content(entity.text), lemmas(text)) >= 0
                if wanted.inflected
                else entity.text.lower() in text.lower()
            )
            if shared:
                return "shared entity"
    return None


def _content(entity: str) -> tuple[str, ...]:
    return lemmas(re.sub(r"^(?:the|an?)\s+", "", entity, flags=re.IGNORECASE))


def mine_pairs(
    marked: Sequence[Marked],
    likenesses: Iterable[Likeness],
    rules: str = "paper",
) -> tuple[list[MinedPair], dict[str, int]]:
    """Return the pairs that the rules let pass, and how many each rule refused."""
    pairs: list[MinedPair] = []
    refused: dict[str, int] = {}
    for i, j, score in likenesses:
        first, second = marked[min(i, j)], marked[max(i, j)]
        why = refusal(first, second, rules)
        if why:
            refused[why] = refused.get(why, 0) + 1
            continue
        context = context_of(first.entities) & context_of(second.entities)
        pairs.append(MinedPair((first.id, second.id), round(score, 4), tuple(sorted(context))))
    return pairs, refused


def alike(vectors: Array, *, threshold: float = THRESHOLD) -> Iterator[Likeness]:
    """Yield every two rows with a cosine from the threshold on, each pair once."""
    for begin in range(0, len(vectors), BLOCK):
        rows = vectors[begin : begin + BLOCK]
        for start in range(begin, len(vectors), BLOCK):
            cosines = rows @ vectors[start : start + BLOCK].T
            for i, j in np.argwhere(cosines >= threshold):
                if begin + i < start + j:
                    yield begin + int(i), start + int(j), float(cosines[i, j])


TEST, DEV = 0.25, 0.15
"""Largest shares of the pairs, as published."""


def split_pairs(
    pairs: Sequence[MinedPair], *, seed: int = 17
) -> tuple[dict[str, list[MinedPair]], int]:
    """Return the pairs of ``train``, ``dev`` and ``test``, and how many fell between communities.

    The graph's nodes are statements, its edges pairs. Its connected components will not do: one
    holds nearly all. Louvain's communities (Blondel et al. 2008) are shuffled, and each goes to
    test if test then has no more than a quarter of the pairs, else to dev if that then has no more
    than 15 %, else to train.
    """
    import networkx

    if not pairs:
        raise InputError("no pair to split: the statements have no likeness above the threshold")
    graph = networkx.Graph()
    graph.add_nodes_from(sorted({name for pair in pairs for name in pair.ids}))
    graph.add_edges_from(sorted(pair.ids for pair in pairs))
    communities = networkx.community.louvain_communities(graph, seed=seed)
    home = {name: k for k, group in enumerate(communities) for name in group}
    inside: dict[int, list[MinedPair]] = {}
    for pair in pairs:
        first, second = (home[name] for name in pair.ids)
        if first == second:
            inside.setdefault(first, []).append(pair)
    total = sum(map(len, inside.values()))
    order = sorted(inside)
    random.Random(seed).shuffle(order)
    splits: dict[str, list[MinedPair]] = {"train": [], "dev": [], "test": []}
    for community in order:
        group = inside[community]
        for name, share in (("test", TEST), ("dev", DEV), ("train", 1.0)):
            if len(splits[name]) + len(group) <= share * total:
                splits[name] += group
                break
    return splits, len(pairs) - total
