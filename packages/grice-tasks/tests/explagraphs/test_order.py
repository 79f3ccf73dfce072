from __future__ import annotations

import hashlib

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError
from grice.records import Triple
from grice_tasks.explagraphs.graph import (
    Graph,
    depth,
    depth_first,
    is_linear,
    links_of,
    topological,
)
from grice_tasks.explagraphs.reader import read_graph, write_graph
from grice_tasks.explagraphs.samples import read_samples

CONCEPT = st.sampled_from("abcdef")
GRAPHS = st.lists(
    st.builds(Triple, CONCEPT, st.sampled_from(["is a", "causes"]), CONCEPT), min_size=1, max_size=9
).map(lambda edges: Graph(tuple(edges)))


def simple(graph):
    made = networkx.DiGraph()
    for edge in graph.edges:
        made.add_edge(edge.head, edge.tail, relation=edge.relation)
    return made


@given(GRAPHS)
def test_depth_first_is_the_order_of_networkx(graph):
    peer = simple(graph)
    sources = [node for node in peer if not peer.in_degree(node)]
    walked = list(networkx.edge_dfs(peer, sources)) if sources else []
    order = [(edge.head, edge.tail) for edge in depth_first(graph).edges]
    assert order[: len(walked)] == walked
    assert sorted(order) == sorted(peer.edges)


@given(GRAPHS)
def test_topological_is_the_order_of_networkx(graph):
    peer = simple(graph)
    if not networkx.is_directed_acyclic_graph(peer):
        with pytest.raises(InputError, match=r"has no topological order: . → "):
            topological(graph)
        return
    rank = {node: place for place, node in enumerate(networkx.topological_sort(peer))}
    assert list(topological(graph).edges) == sorted(graph.edges, key=lambda e: rank[e.head])
    assert depth(graph) == networkx.dag_longest_path_length(peer)


@given(GRAPHS)
def test_linear_is_one_chain(graph):
    peer = simple(graph)
    chain = networkx.is_weakly_connected(peer) and networkx.is_directed_acyclic_graph(peer)
    chain = chain and all(peer.in_degree(n) <= 1 and peer.out_degree(n) <= 1 for n in peer)
    assert is_linear(graph) == chain


def test_small_depth_first_cases(golden):
    for case in golden("explagraphs_cases")["dfs_order_small"]:
        assert write_graph(depth_first(read_graph(case["graph"]).graph)) == case["dfs"]


@pytest.mark.parametrize("split", ["train", "dev"])
def test_orders_and_shapes_of_the_released_graphs(golden, graphs_folder, split):
    stats = golden("explagraphs_stats")
    texts = [sample.graphs[0] for sample in read_samples(graphs_folder / f"{split}.jsonl.gz")]
    graphs = [read_graph(text).graph for text in texts]
    assert [write_graph(graph) for graph in graphs] == texts
    ordered = [write_graph(depth_first(graph)) for graph in graphs]
    digest = hashlib.sha256("".join(f"{text}\n" for text in ordered).encode()).hexdigest()
    assert digest == stats["orderings"][split]["dfs_order_sha256"]
    # The recorded count takes one relation per pair of concepts.
    single = [
        Graph(tuple(Triple(a, relation, b) for a, tails in links_of(graph).items()
                    for b, relation in tails.items()))
        for graph in graphs
    ]  # fmt: skip
    same = sum(
        write_graph(topological(tree)) == text for tree, text in zip(single, texts, strict=True)
    )
    assert same == stats["orderings"][split]["string_equals_node_topological_emission"]
    table = stats["table3_recomputed"][split]
    mean = table["depth_min_max_mean"][2]
    assert sum(map(depth, graphs)) / len(graphs) == pytest.approx(mean, abs=1e-6)
    bent = 100 - 100 * sum(map(is_linear, graphs)) / len(graphs)
    assert bent == pytest.approx(table["percent_non_linear"], abs=1e-6)
