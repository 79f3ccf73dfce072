from __future__ import annotations

import numpy as np
import pytest

from grice.errors import ModelFolderError
from grice.models.folder import open_folder, write_card
from grice.models.loader import read_settings
from grice.models.mlp import Mlp
from grice.models.protocols import Pair, PairClassifier
from grice_research.metrics.rating_models import (
    CountedEdges,
    JoinedTexts,
    Regressor,
    RegressorSettings,
    read_edges,
    write_edges,
)

EDGES = {("dog", "bark"), ("bark", "tree"), ("cat", "dog")}


class Letters:
    """A vector that tells the first letter."""

    identity = "letters"

    def encode(self, texts):
        return [np.eye(26, dtype=np.float32)[ord((text or "z")[0].lower()) - 97] for text in texts]

    def truncated(self, texts):
        return [len(text) > 9 for text in texts]


def regressor(directory, reads, inputs):
    layers = [(np.full((inputs, 1), 0.1, np.float32), np.zeros(1, np.float32))]
    Mlp(layers).save(directory / "head.npz")
    write_edges(directory / "edges.txt.gz", EDGES)
    facts = {
        "name": "tiny",
        "kind": "rating-regressor",
        "version": "1",
        "summary": "-",
        "licence": "-",
    }
    write_card(directory, facts, {}, {"reads": reads}, files=("edges.txt.gz", "head.npz"))
    folder = open_folder(directory)
    return Regressor(folder, read_settings(folder, RegressorSettings), Letters())


def test_edges_come_back_in_both_directions(tmp_path):
    write_edges(tmp_path / "edges.txt.gz", EDGES)
    near = read_edges(tmp_path / "edges.txt.gz")
    assert near["dog"] == {"bark", "cat"}
    assert near["tree"] == {"bark"}
    before = (tmp_path / "edges.txt.gz").read_bytes()
    write_edges(tmp_path / "edges.txt.gz", {(b, a) for a, b in EDGES})
    assert (tmp_path / "edges.txt.gz").read_bytes() == before


@pytest.mark.parametrize(
    ("before", "reply", "counted"),
    [
        ("My dog", "it barks", (1, 0, 2)),
        ("My cat", "it barks", (0, 1, 2)),
        ("My dog", "a dog", (0, 0, 2)),
        ("", "it barks", (0, 0, 2)),
        ("My dog and my cat", "it barks at dogs", (2, 1, 4)),
    ],
)
def test_pairs_of_words_are_counted_by_edges(tmp_path, before, reply, counted):
    write_edges(tmp_path / "edges.txt.gz", EDGES)
    read = CountedEdges(read_edges(tmp_path / "edges.txt.gz"))
    features = read([Pair((before,), reply)])
    assert np.expm1(features[0]).round().tolist() == list(counted)


def test_history_and_reply_are_read_apart_and_together():
    (features,) = JoinedTexts(Letters())([Pair(("ant", "bee"), "cow")])
    history, reply, both, product = features.reshape(4, 26)
    assert (history.argmax(), reply.argmax(), both.argmax()) == (0, 2, 0)
    assert not product.any()


@pytest.mark.parametrize(("reads", "inputs"), [("texts", 104), ("edges", 3)])
def test_a_rating_lies_from_0_to_1_and_an_empty_reply_in_the_middle(tmp_path, reads, inputs):
    model = regressor(tmp_path, reads, inputs)
    assert isinstance(model, PairClassifier)
    long = Pair(("dog",), "bark " * 10**6)
    values = model.classify([Pair(("dog",), "bark"), Pair(("dog",), " "), long])
    assert values[1] == 0.5
    assert all(0 <= value <= 1 for value in values)
    assert model.classify([]) == []
    assert model.truncated(["a" * 20]) == [reads == "texts"]


def test_another_reading_is_refused(tmp_path):
    with pytest.raises(ModelFolderError, match=r"settings\.reads: invalid enum value 'stars'"):
        regressor(tmp_path, "stars", 3)
