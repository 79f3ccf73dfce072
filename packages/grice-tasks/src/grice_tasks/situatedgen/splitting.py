"""Splits that share no statement: communities of the graph of pairs go whole into one split."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from grice.errors import InputError, imported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.situatedgen.records import MinedPair

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

    Raises:
        InputError: If there is no pair.
        GriceError: If networkx is not installed.
    """
    if not pairs:
        raise InputError("no pair to split: the statements have no likeness above the threshold")
    networkx = imported("networkx", "splitting", "graphs")
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
