from __future__ import annotations

import numpy as np
import pytest

from grice.graphs.graph import Graph
from grice.graphs.reader import read_graph
from grice.graphs.substance import (
    fact_logits,
    substance_parts,
    substance_value,
)
from grice.graphs.wording import relation_names
from grice.knowledge.plausibility import Bilinear
from grice.records import Triple

BELIEF, ARGUMENT = "Zoos should be banned.", "Animals suffer."
WEIGHTS = np.array([1, 1, 1, -1, -1], np.float32)


def graph(text):
    return read_graph(text).graph


def parts(text, plausible):
    return substance_parts(graph(text), BELIEF, ARGUMENT, np.array(plausible, np.float32))


def test_the_connection_is_the_weakest_fact_of_the_best_path():
    chain = "(zoos; causes; harm)(harm; part of; animals)"
    assert parts(chain, [0.9, 0.3])[2] == pytest.approx(0.3)
    around = chain + "(zoos; causes; pain)(animals; desires; pain)"
    assert parts(around, [0.9, 0.3, 0.8, 0.7])[2] == pytest.approx(0.7)


def test_without_a_path_nothing_is_connected():
    assert parts("(zoos; is a; place)(animals; is a; being)", [0.9, 0.9])[2] == 0
    assert parts("(place; is a; being)", [0.9])[2] == 0


def test_a_graph_without_facts_has_no_substance():
    found = substance_value(Graph(()), BELIEF, ARGUMENT, np.zeros(0, np.float32), WEIGHTS)
    assert found == (0.0, (), 0.0)


def test_more_plausible_facts_give_more_substance():
    text = graph("(zoos; causes; harm)(harm; part of; animals)")
    values = [
        substance_value(text, BELIEF, ARGUMENT, np.array([a, b], np.float32), WEIGHTS).value
        for a, b in ((0.1, 0.1), (0.9, 0.1), (0.9, 0.9))
    ]
    assert values == sorted(values)
    assert 0 < values[0] < values[-1] < 1


def test_an_unknown_relation_scores_as_the_worst_known_one():
    n = len(relation_names())
    form = Bilinear(
        np.zeros((3, n), np.float32), np.zeros((3, n), np.float32),
        cosine=np.zeros(n, np.float32), scale=np.ones(n, np.float32),
        bias=np.arange(n, dtype=np.float32) - 4, shared=0,
    )  # fmt: skip
    vectors = {"a": np.zeros(2, np.float32), "b": np.ones(2, np.float32)}
    facts = [Triple("a", relation_names()[5], "b"), Triple("a", "resembles", "b")]
    assert fact_logits(form, vectors, facts).tolist() == [1, -4]
