import pytest

from grice.errors import InputError
from grice_tasks.explagraphs.analysis import (
    leaks,
    negation_by_stance,
    relations_by_stance,
    shape_of,
    shapes,
)
from grice_tasks.explagraphs.graph import read_graph
from grice_tasks.explagraphs.samples import Sample, read_samples

CHAIN = "(zoos; is a; place)(place; not causes; harm)(harm; has context; banned)"
FORK = "(zoos; is a; place)(zoos; causes; harm)(harm; antonym of; banned)"


def sample(name, graph, stance="support", belief="Zoos should be banned."):
    return Sample(name, belief, "They do harm.", stance, (graph,))


def test_shapes():
    shape = shape_of(read_graph(CHAIN).graph, "Zoos should be banned.", "They do harm.")
    assert (shape.concepts, shape.facts, shape.external, shape.depth) == (4, 3, 1, 3)
    assert shape.linear
    assert shape.topological
    cyclic = shape_of(read_graph("(a; is a; b)(b; is a; a)").graph, "", "")
    assert (cyclic.depth, cyclic.topological) == (None, False)
    late = shape_of(read_graph("(b; is a; c)(a; is a; b)").graph, "", "")
    assert not late.topological
    assert not late.depth_first


def test_negation_leaves_antonyms_out_and_leaks_need_stance_and_graph():
    shares = negation_by_stance([sample("a", CHAIN), sample("b", FORK, "counter")])
    assert shares == {"support": 1 / 3, "counter": 0}
    assert relations_by_stance([sample("b", FORK, "counter")])["counter"]["antonym of"] == 1
    both = [sample("a", CHAIN), sample("b", FORK)]
    shares = {leak.rule: leak.share.value for leak in leaks(both)}
    assert shares == {"majority": 1, "words": 1, "graph": 0}
    with pytest.raises(InputError, match="both a stance and a graph"):
        leaks([Sample("a", "b", "c")])
    with pytest.raises(InputError, match="no sample has a graph"):
        shapes([Sample("a", "b", "c")])


@pytest.mark.parametrize("name", ["train", "dev"])
def test_statistics_equal_the_recorded_ones(name, golden, graphs_folder):
    stats, samples = golden("explagraphs_stats"), read_samples(graphs_folder / f"{name}.jsonl.gz")
    expected, statistics = stats["table3_recomputed"][name], shapes(samples)
    for part, key in (
        (statistics.concepts, "nodes"),
        (statistics.facts, "edges"),
        (statistics.external, "external_nodes"),
        (statistics.depth, "depth"),
    ):
        least, most, mean = expected[f"{key}_min_max_mean"]
        assert (part.least, part.most) == (least, most)
        assert part.mean == pytest.approx(mean, abs=1e-6)
    assert 100 * statistics.non_linear == pytest.approx(expected["percent_non_linear"], abs=1e-6)
    share = expected["percent_graphs_with_external_node"]
    assert 100 * statistics.with_external == pytest.approx(share, abs=1e-6)
    orders = stats["orderings"][name]
    assert round(statistics.topological * statistics.n) == orders["edge_list_is_topological"]
    assert round(statistics.depth_first * statistics.n) == orders["string_equals_dfs_order"]


def test_relations_and_leaks_equal_the_recorded_ones(golden, graphs_folder):
    stats, dev = golden("explagraphs_stats"), read_samples(graphs_folder / "dev.jsonl.gz")
    both = [*read_samples(graphs_folder / "train.jsonl.gz"), *dev]
    for samples, key in ((dev, "relations_dev"), (both, "relations_train_dev")):
        shares, counts = negation_by_stance(samples), relations_by_stance(samples)
        for stance in ("support", "counter"):
            assert shares[stance] == pytest.approx(stats[key][stance]["negated_share"], abs=1e-6)
            known = {r: n for r, n in stats[key][stance]["counts"].items() if n}
            assert dict(counts[stance]) == known
    values = stats["stance_baselines_dev"]["values"]
    by_rule = {leak.rule: leak.share.value for leak in leaks(dev)}
    assert by_rule["graph"] == pytest.approx(values["gold-graph negation parity"], abs=1e-6)
    assert by_rule["words"] == pytest.approx(values["negation parity rule"], abs=1e-6)
