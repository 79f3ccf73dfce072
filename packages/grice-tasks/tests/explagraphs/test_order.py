from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Triple
from grice.errors import InputError
from grice_tasks.explagraphs.graph import (
    Graph,
    depth,
    depth_first,
    find_cycle,
    is_linear,
    links_of,
    read_graph,
    topological,
    write_graph,
)
from grice_tasks.explagraphs.samples import read_samples

CONCEPT = st.sampled_from("abcdef")
GRAPHS = st.lists(
    st.builds(Triple, CONCEPT, st.sampled_from(["is a", "causes"]), CONCEPT), min_size=1, max_size=9
).map(lambda edges: Graph(tuple(edges)))


@given(GRAPHS)
def test_a_topological_order_puts_every_head_before_its_tail(graph):
    if find_cycle(links_of(graph)):
        with pytest.raises(InputError, match=r"has no topological order: . → "):
            topological(graph)
        return
    heads = [edge.head for edge in topological(graph).edges]
    assert sorted(heads) == sorted(edge.head for edge in graph.edges)
    behind = {(a, b) for place, a in enumerate(heads) for b in heads[place + 1 :]}
    assert not any((edge.tail, edge.head) in behind for edge in graph.edges)


@pytest.mark.parametrize(
    ("text", "longest", "linear"),
    [
        ("(a; is a; b)(b; is a; c)", 2, True),
        ("(a; is a; b)(a; is a; c)", 1, False),
        ("(a; is a; c)(b; is a; c)", 1, False),
        ("(a; is a; b)(c; is a; d)", 1, False),
        ("(a; is a; b)(b; is a; c)(a; is a; c)", 2, False),
    ],
)
def test_depth_and_chains(text, longest, linear):
    graph = read_graph(text).graph
    assert (depth(graph), is_linear(graph)) == (longest, linear)


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
        Graph(tuple(Triple(a, relation, b)
                    for a, b, relation in links_of(graph).edges(data="relation")))
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
