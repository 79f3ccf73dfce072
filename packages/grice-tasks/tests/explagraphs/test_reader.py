from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Triple
from grice.errors import InputError
from grice_tasks.explagraphs.graph import Graph, graph_schema, read_graph, write_graph

GOOD = "(zoos; has property; small cages)(small cages; causes; suffering)"


def test_a_plain_graph_reads_without_problem_and_writes_back():
    reading = read_graph(GOOD)
    assert reading.problems == ()
    assert reading.starts == (0, GOOD.index("(small"))
    assert write_graph(reading.graph) == GOOD


@pytest.mark.parametrize(
    ("text", "flaws", "facts"),
    [
        ("(a; b; c", [("brackets", 0)], 1),
        ("(a; b; c(d; e; f)", [("brackets", 0)], 2),
        ("a; b; c)(d; e; f)", [("text", 0), ("brackets", 7)], 1),
        ("(a; b; c))(d; e; f)", [("brackets", 9)], 2),
        ("(a; b)(d; e; f)", [("semicolons", 0)], 1),
        ("(a; b; c; d)(d; e; f)", [("semicolons", 0)], 1),
        ("(a (of b); c; d)", [("nested", 3)], 1),
        ("(a;b; c)", [("spacing", 3)], 1),
        ("(a; b; c) (d; e; f)", [("spacing", 9)], 2),
        ("(a; b; )", [("empty", 5)], 1),
        ("", [("empty", 0)], 0),
        ("()", [("empty", 0), ("semicolons", 0)], 0),
        ("((a; b; c)", [("brackets", 0), ("semicolons", 0)], 1),
    ],
)
def test_each_flaw_is_named_with_its_position(text, flaws, facts):
    reading = read_graph(text)
    assert sorted((problem.kind, problem.start) for problem in reading.problems) == sorted(flaws)
    assert len(reading.graph.edges) == facts


@given(st.text(alphabet="ab;() ç\n", max_size=60))
def test_nothing_of_any_text_is_lost(text):
    reading = read_graph(text)
    covered = " ".join(text[problem.start : problem.end] for problem in reading.problems)
    for edge in reading.graph.edges:
        covered += f" {edge.head} {edge.relation} {edge.tail}"
    assert {*text} - {*" ();\n"} <= {*covered}
    assert sum(map(covered.count, "abç")) >= sum(map(text.count, "abç"))
    if not reading.problems:
        assert write_graph(reading.graph) == text


PART = st.text(alphabet="ab ();", max_size=8)


@given(st.lists(st.builds(Triple, PART, PART, PART), min_size=1, max_size=5))
def test_what_is_written_reads_as_the_same_graph(edges):
    graph = Graph(tuple(edges))
    try:
        text = write_graph(graph)
    except InputError:
        return
    assert read_graph(text).graph == graph


@pytest.mark.parametrize("part", ["a; b", "a)", "(a", ")(", " a"])
def test_what_could_not_be_read_back_is_not_written(part):
    with pytest.raises(InputError, match=r"tail .* cannot be written"):
        write_graph(Graph((Triple("a", "is a", part),)))


def test_explagraphs_has_its_relations_in_pairs_of_opposites():
    schema = graph_schema()
    assert len(schema.relations) == 28
    assert schema["is a"].negation == "is not a"
    assert schema["antonym of"].negation == "synonym of"
    for relation in schema.relations.values():
        assert relation.negation is not None
        assert relation.negative is not schema[relation.negation].negative
