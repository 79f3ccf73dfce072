from __future__ import annotations

import pytest

from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import open_folder, shipped_models
from grice_tasks.explagraphs.embedding import TokenLikeness, facts_to_encode
from grice_tasks.explagraphs.samples import Prediction, Sample
from grice_tasks.explagraphs.scores import score_sample

GOLD = "(zoos; is a; place)(place; causes; harm)(harm; not desires; bad)"


@pytest.fixture(scope="module")
def likeness():
    encoder = EmbeddedEncoder(open_folder(shipped_models()["encoder"]), mode="exact", threads=1)
    sample = Sample("1", "Zoos are bad.", "Zoos do harm.", "support", (GOLD,))
    return TokenLikeness(encoder, facts_to_encode([sample], []))


def test_the_same_fact_is_fully_alike_and_a_near_one_nearer_than_another(likeness):
    assert likeness("zoos; is a; place", "zoos; is a; place") == pytest.approx(1)
    near = likeness("a zoo; is a; location", "zoos; is a; place")
    far = likeness("music; causes; headache", "zoos; is a; place")
    assert 0 <= far < near < 1
    assert likeness("zoos; is a; place", "a zoo; is a; location") == pytest.approx(near)
    assert likeness("; ; ", "zoos; is a; place") == 0


def test_it_is_one_more_measure(likeness):
    sample = Sample("1", "Zoos are bad.", "Zoos do harm in a place.", "support", (GOLD,))
    score = score_sample(sample, Prediction("1", "support", GOLD),
                         likeness={"g_embedding": likeness})  # fmt: skip
    assert score.values["g_embedding"] == pytest.approx(1)
