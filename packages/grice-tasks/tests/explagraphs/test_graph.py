import hashlib
import re
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Triple
from grice.errors import InputError
from grice_tasks.explagraphs.drawing import draw_graph, draw_page
from grice_tasks.explagraphs.graph import (
    Graph,
    depth,
    depth_first,
    graph_schema,
    is_linear,
    read_graph,
    write_graph,
)
from grice_tasks.explagraphs.samples import Sample, SampleGraph, read_samples


@pytest.mark.parametrize(
    ("text", "problems", "facts"),
    [("(a; b c; d)(d; e; f)", [], 2), ("(a; b; c", [("brackets", 0)], 1),
     ("(a; b; c(d; e; f)", [("brackets", 0)], 2),
     ("a; b; c)(d; e; f)", [("text", 0)], 1), ("(a; b; c))(d; e; f)", [("text", 9)], 2),
     ("(a; b)(d; e; f)", [("text", 0)], 1), ("(a; b; c; d)(d; e; f)", [("text", 0)], 1),
     ("(a (of b); c; d)", [("nested", 3)], 1), ("(a;b; c)", [("spacing", 3)], 1),
     ("(a; b; c) (d; e; f)", [("spacing", 9)], 2), ("(a; b; )", [("empty", 5)], 1),
     ("", [("empty", 0)], 0), ("()", [("empty", 0), ("text", 0)], 0),
     ("((a; b; c)", [("text", 0)], 1)],
)  # fmt: skip
def test_each_problem_is_named_with_its_position(text, problems, facts):
    reading = read_graph(text)
    assert sorted((problem.kind, problem.start) for problem in reading.problems) == problems
    assert len(reading.graph.edges) == facts


@given(st.text(alphabet="ab;() ç\n", max_size=60))
def test_nothing_of_any_text_is_lost(text):
    reading = read_graph(text)
    covered = " ".join(text[problem.start : problem.end] for problem in reading.problems)
    for edge in reading.graph.edges:
        covered += f" {edge.head} {edge.relation} {edge.tail}"
    assert all(covered.count(letter) >= text.count(letter) for letter in "abç")
    if not reading.problems:
        assert write_graph(reading.graph) == text


PART = st.text(alphabet="ab ();", max_size=8)


@given(st.lists(st.builds(Triple, PART, PART, PART), min_size=1, max_size=5))
def test_a_written_graph_reads_as_the_same_graph(edges):
    graph = Graph(tuple(edges))
    try:
        text = write_graph(graph)
    except InputError:
        return
    assert read_graph(text).graph == graph


@pytest.mark.parametrize("part", ["a; b", "a)", "(a", ")(", " a"])
def test_a_graph_that_could_not_be_read_back_is_not_written(part):
    with pytest.raises(InputError, match=r"tail .* cannot be written"):
        write_graph(Graph((Triple("a", "is a", part),)))


def test_relations_come_in_pairs_of_opposites():
    schema = graph_schema()
    assert (len(schema.relations), schema["is a"].negation) == (28, "is not a")
    assert schema["antonym of"].negation == "synonym of"
    for relation in schema.relations.values():
        assert relation.negative is not schema[relation.negation].negative


@pytest.mark.parametrize(
    ("text", "longest", "linear"),
    [("(a; is a; b)(b; is a; c)", 2, True), ("(a; is a; b)(a; is a; c)", 1, False),
     ("(a; is a; c)(b; is a; c)", 1, False), ("(a; is a; b)(c; is a; d)", 1, False),
     ("(a; is a; b)(b; is a; c)(a; is a; c)", 2, False)],
)  # fmt: skip
def test_depth_and_chains(text, longest, linear):
    graph = read_graph(text).graph
    assert (depth(graph), is_linear(graph)) == (longest, linear)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_the_depth_first_order_of_small_cases_and_released_graphs(golden, graphs_folder, split):
    for case in golden("explagraphs_cases")["dfs_order_small"]:
        assert write_graph(depth_first(read_graph(case["graph"]).graph)) == case["dfs"]
    texts = [sample.graphs[0] for sample in read_samples(graphs_folder / f"{split}.jsonl.gz")]
    graphs = [read_graph(text).graph for text in texts]
    assert [write_graph(graph) for graph in graphs] == texts
    ordered = "".join(f"{write_graph(depth_first(graph))}\n" for graph in graphs)
    recorded = golden("explagraphs_stats")["orderings"][split]["dfs_order_sha256"]
    assert hashlib.sha256(ordered.encode()).hexdigest() == recorded


CYCLE = "(zoos; is a; place)(place; causes; harm)(zoos; is a; harm)(harm; causes; zoos)"


def test_external_concepts_and_facts_against_the_direction_are_marked():
    svg = draw_graph(read_graph(CYCLE).graph, "Zoos do harm.", "They are sad.", "support")
    document = minidom.parseString(svg)
    classes = [
        sorted(filter(None, (each.getAttribute("class") for each in elements)))
        for elements in map(document.getElementsByTagName, ("rect", "path"))
    ]
    assert classes[0] == ["external", "internal", "internal"]
    assert classes[1] == ["fact", "fact", "fact", "fact back"]
    for label in ("Belief: Zoos do harm.", "Stance: support", ">place<", ">causes<"):
        assert label in svg


TEXT = st.text(alphabet="ab<&\"'\x00\ud800é ", max_size=6)


@given(st.lists(st.builds(Triple, TEXT, TEXT, TEXT), max_size=6), TEXT)
def test_any_graph_gives_well_formed_svg(edges, belief):
    graph = Graph(tuple(edges))
    svg = draw_graph(graph, belief)
    svg.encode("utf-8")
    assert len(minidom.parseString(svg).getElementsByTagName("rect")) == len(graph.concepts) + 1


def test_a_page_shows_every_graph_and_loads_nothing():
    graph = "(zoos; is a; place)(place; causes; <harm>)"
    large = "".join(f"(n{i}; is a; n{i + 1})" for i in range(10_000))
    shown = [SampleGraph(Sample(f"g{i}", "Zoos <b>", "&"), graph) for i in range(3)]
    page = draw_page([*shown, SampleGraph(Sample("large", "b", "a"), large)])
    assert re.findall(r'<g class="node" data-node="(\d+)"', page) == ["0", "1", "2"] * 3
    assert re.findall(r'<g class="link" data-ends="([\d ]+)"', page) == ["0 1", "1 2"] * 3
    assert not re.search(r"<[^>]*\s(?:src|href)=", page)
    assert "<harm>" not in page
    assert "min_facts: 2 facts, at least 3 are needed" in page
    assert re.findall("not drawn: [^;]*", page) == ["not drawn: 10,000 facts"]
    assert page.count("<section>") == 4
