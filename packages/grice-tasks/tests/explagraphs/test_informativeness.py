from __future__ import annotations

import numpy as np
import pytest

from grice.data import Triple
from grice.knowledge.plausibility import Bilinear
from grice_tasks.explagraphs.features import fact_logits, informativeness_features
from grice_tasks.explagraphs.graph import read_graph
from grice_tasks.explagraphs.wording import relation_names

BELIEF, ARGUMENT = "Zoos should be banned.", "Animals suffer."


def graph(text):
    return read_graph(text).graph


def parts(text, plausible):
    return informativeness_features(BELIEF, ARGUMENT, graph(text), np.array(plausible, np.float32))


def test_the_connection_is_the_weakest_fact_of_the_best_path():
    chain = "(zoos; causes; harm)(harm; part of; animals)"
    assert parts(chain, [0.9, 0.3])[2] == pytest.approx(0.3)
    around = chain + "(zoos; causes; pain)(animals; desires; pain)"
    assert parts(around, [0.9, 0.3, 0.8, 0.7])[2] == pytest.approx(0.7)


def test_without_a_path_nothing_is_connected():
    assert parts("(zoos; is a; place)(animals; is a; being)", [0.9, 0.9])[2] == 0
    assert parts("(place; is a; being)", [0.9])[2] == 0


def test_parts_are_mean_least_connection_and_share_of_doubtful_facts():
    values = parts("(zoos; causes; harm)(harm; part of; animals)", [0.9, 0.3])
    assert values.tolist() == pytest.approx([0.6, 0.3, 0.3, 0.5])
    hidden = informativeness_features(
        BELIEF, None, graph("(zoos; is a; place)"), np.ones(1, np.float32)
    )
    assert hidden.tolist() == [1, 1, 0, 0]


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


def test_a_grid_is_every_head_with_every_tail_and_no_pair_minds_the_others():
    draws = np.random.default_rng(0)
    heads, tails = (draws.standard_normal((n, 7)).astype(np.float32) for n in (3, 4))
    form = Bilinear(
        *(draws.standard_normal((7, 2 + 3 * 2)).astype(np.float32) for _ in "ht"),
        **{name: draws.standard_normal(3).astype(np.float32)
           for name in ("cosine", "scale", "bias")},
        shared=2,
    )  # fmt: skip
    values = form.grid(heads, tails)
    assert values.shape == (3, 4, 3)
    for i in range(3):
        np.testing.assert_allclose(values[i], form(np.repeat(heads[i : i + 1], 4, axis=0), tails),
                                   rtol=1e-4, atol=1e-4)  # fmt: skip
    assert (form.grid(heads[1:2], tails[2:3])[0, 0] == values[1, 2]).all()
