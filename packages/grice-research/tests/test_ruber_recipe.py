"""The grid of RUBER's networks: losses by hand, and a cell of each kind that learns."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the recipes need torch: pip install grice[train]")
pytest.importorskip("scipy")

torch.set_num_threads(1)


def made(n, seed):
    """Replies that hold their query's first vector somewhere."""
    rng = np.random.default_rng(seed)
    queries, replies = [], []
    for _ in range(n):
        kind = np.eye(4, dtype=np.float32)[rng.integers(4)]
        noise = rng.standard_normal((2, 3, 4)).astype(np.float32) * 0.1
        queries.append(noise[0] + kind)
        replies.append(noise[1] + kind)
    return queries, replies


def test_the_grid_is_that_of_the_thesis():
    from grice_research.recipes.ruber.config import GRID

    assert len(GRID) == 12
    assert len({cell.name for cell in GRID}) == 12


@pytest.mark.parametrize("summary", ["bi-rnn", "max", "mean"])
@pytest.mark.parametrize("loss", ["ranking", "cross-entropy"])
def test_every_cell_learns_what_goes_together(summary, loss):
    from grice_research.recipes.ruber.config import Configuration
    from grice_research.recipes.ruber.model import fit, score

    cell = Configuration(
        "static", summary, loss, hidden=(16,), units=8, learning_rate=0.05, batch=100, epochs=8
    )
    fitted = fit(made(300, 0), made(100, 1), cell, seed=0)
    queries, replies = made(200, 2)
    true = score(fitted.network, (queries, replies), cell)
    false = score(fitted.network, (queries, replies[1:] + replies[:1]), cell)
    assert (true >= 0).all()
    assert (true <= 1).all()
    assert true.mean() > false.mean() + 0.1
    assert min(fitted.losses) < fitted.losses[0] or len(fitted.losses) == 1


def test_the_ranking_loss_and_the_quadratic_feature_of_the_worked_case():
    from grice_research.recipes.ruber.config import Configuration
    from grice_research.recipes.ruber.model import Unreferenced

    network = Unreferenced(2, Configuration("static", "mean", "ranking"))
    network.matrix.data = torch.tensor([[0.5, -1.0], [0.0, 0.25]])
    q, r = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, -1.0]])
    assert ((q @ network.matrix) * r).sum().item() == pytest.approx(2.0)


def test_vectors_of_a_text_file_with_or_without_its_first_line(tmp_path):
    from grice_research.recipes.ruber.words import read_vectors

    path = tmp_path / "vectors.txt"
    path.write_text("2 3\ntea 1 2 3\ncup 0 0 1\n")
    vectors = read_vectors(path, {"tea"})
    assert vectors["tea"].tolist() == [1, 2, 3]
    assert set(vectors) == {"tea"}
    path.write_text("tea 1 2 3\ncup 0 0\n")
    with pytest.raises(ValueError, match=":2: 2 values, the lines above 3"):
        read_vectors(path, {"tea"})


def test_words_that_stand_together_get_like_vectors():
    from grice_research.recipes.ruber.words import learn_vectors

    texts = ["the cat drinks milk", "the dog drinks milk", "a train leaves at nine",
             "a bus leaves at nine"] * 5  # fmt: skip
    vectors = learn_vectors(texts, dimensions=4)
    assert vectors["cat"] @ vectors["dog"] > vectors["cat"] @ vectors["train"] + 0.2
