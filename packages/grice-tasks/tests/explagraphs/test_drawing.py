from __future__ import annotations

from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Triple
from grice.errors import InputError
from grice_tasks.explagraphs.drawing import draw_graph
from grice_tasks.explagraphs.graph import Graph, read_graph

GRAPH = read_graph("(zoos; is a; place)(place; causes; harm)(zoos; is a; harm)(harm; causes; zoos)")


def classes(svg, tag):
    elements = minidom.parseString(svg).getElementsByTagName(tag)
    return [element.getAttribute("class") for element in elements if element.getAttribute("class")]


def test_external_concepts_and_facts_against_the_direction_are_marked():
    svg = draw_graph(GRAPH.graph, "Zoos do harm.", "They are sad.", "support")
    assert sorted(classes(svg, "rect")) == ["external", "internal", "internal"]
    assert sorted(classes(svg, "path")) == ["fact", "fact", "fact", "fact back"]
    for label in ("Belief: Zoos do harm.", "Stance: support", ">place<", ">causes<"):
        assert label in svg


TEXT = st.text(alphabet="ab<&\"'\x00\ud800é ", max_size=6)


@given(st.lists(st.builds(Triple, TEXT, TEXT, TEXT), max_size=6), TEXT)
def test_any_graph_gives_well_formed_svg(edges, belief):
    graph = Graph(tuple(edges))
    svg = draw_graph(graph, belief)
    svg.encode("utf-8")
    assert len(minidom.parseString(svg).getElementsByTagName("rect")) == len(graph.concepts) + 1


def test_too_many_facts_are_refused():
    edges = tuple(Triple(f"n{i}", "is a", f"n{i + 1}") for i in range(201))
    with pytest.raises(InputError, match="at most 200 can be drawn"):
        draw_graph(Graph(edges))
