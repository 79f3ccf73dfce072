import pytest

from grice_tasks.explagraphs.graph import read_graph
from grice_tasks.explagraphs.wording import relation_names

pytest.importorskip("torch", reason="torch is not installed (grice-research[train])")

from grice_research.recipes.graphs.making import template_of

BELIEF, ARGUMENT = "Zoos should be banned.", "Animals in zoos suffer."
TEXT = "(zoos; causes; suffer)(suffer; is a; harm)(harm; desires; banned)"


def graph(text):
    return read_graph(text).graph


def number(name):
    return relation_names().index(name)


def test_a_case_keeps_where_concepts_come_from_and_forgets_what_they_are():
    template = template_of(graph(TEXT), BELIEF, ARGUMENT, "support")
    assert [slot.origin for slot in template.slots] == ["both", "argument", "outside", "belief"]
    assert [slot.concept for slot in template.slots] == ["", "", "harm", ""]
    assert template.facts[0] == (0, number("causes"), 1)
    assert 0.6 < template.slots[3].start < template.slots[3].end < 1


def test_facts_are_put_so_that_each_touches_an_earlier_one():
    template = template_of(graph("(a; is a; b)(c; is a; d)(b; is a; c)"), "a b", "c d", "support")
    reached = set(template.facts[0][::2])
    for head, _, tail in template.facts[1:]:
        assert reached & {head, tail}
        reached |= {head, tail}


@pytest.mark.parametrize("text", ["", "(a; is a; b)(c; is a; d)", "(a; resembles; b)"])
def test_what_is_no_pattern_gives_none(text):
    assert template_of(graph(text), "a b", "c d", "support") is None
