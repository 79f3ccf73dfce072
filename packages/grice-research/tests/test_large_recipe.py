"""Relevance with a language model beside it: how parts become scores, and what is read."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy", reason="the recipes need scipy")


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Measurements of replies in a work folder of the test's own."""
    from grice_research.recipes.relevance import measured

    monkeypatch.setattr(measured, "WORK", tmp_path)
    return measured.Kept


REPLIES = [(("Do you like tea?",), "I do."), (("Where is it?",), "Over there, on the table.")]


def whole(models):
    from grice_research.recipes.relevance.large import Scaled, Whole

    parts = 1 + 2 * models
    curves = Scaled(np.array([2.0]), 0.0), Scaled(np.array([0.5, 1.0]), 0.0)
    return Whole(np.zeros(parts), np.ones(parts), *curves)


def test_numbers_of_replies_are_found_again_and_missing_ones_named(kept):
    kept("small").add(REPLIES[:1], [[-3.0, -4.0, 2]])
    again = kept("small")
    assert again.of(REPLIES[:1]).tolist() == [[-3.0, -4.0, 2.0]]
    assert again.missing([*REPLIES, REPLIES[1]]) == [REPLIES[1]]


def test_parts_are_the_head_the_mean_likelihood_and_what_the_history_adds(kept):
    from grice_research.recipes.relevance.large import parts_of

    kept("small").add(REPLIES, [[-4.0, -6.0, 2], [-6.0, -12.0, 6]])
    kept("head").add(REPLIES, [[1.5], [-0.5]])
    kept("engagement").add(REPLIES, [[0.1], [0.2]])
    parts, length = parts_of(REPLIES, "small")
    assert parts.tolist() == [[1.5, -2.0, 1.0], [-0.5, -1.0, 1.0]]
    assert length.tolist() == [0.1, 0.2]


def test_two_models_weigh_no_more_than_one():
    column = np.array([[1.0, 2.0, 6.0]])
    two = np.array([[1.0, 1.0, 4.0, 3.0, 8.0]])
    assert whole(1).fit(column) == pytest.approx([3.0])
    assert whole(2).fit(two) == pytest.approx([3.0])


def test_a_long_reply_that_does_not_fit_engages_less_than_one_that_does():
    parts = np.array([[-3.0, -3.0, -3.0], [3.0, 3.0, 3.0]])
    scores = whole(1).scores(parts, length=np.array([2.0, 2.0]))
    assert scores["relevance"][0] < 0.5 < scores["relevance"][1]
    both = scores["relevance+engagement"]
    assert both == pytest.approx(np.sqrt(scores["relevance"] * scores["engagement"]))
    assert both[0] < both[1]


def test_the_curve_lies_between_true_and_mismatched_pairs():
    from grice_research.recipes.relevance.large import regression

    columns = np.array([[1.0], [2.0], [-1.0], [-2.0], [-1.5], [-2.5]])
    curve = regression(columns, np.array([True, True, False, False, False, False]))
    assert curve(np.array([[-4.0]])) < 0.1
    assert curve(np.array([[4.0]])) > 0.9


def test_the_reply_is_the_one_of_who_did_not_speak_last_in_every_layout():
    from grice_research.recipes.relevance.likelihoods import LAYOUTS

    before = {name: layout.before(["Hello.", "Hi!"]) for name, layout in LAYOUTS.items()}
    assert before["lines"] == "A: Hello.\nB: Hi!\nA:"
    assert before["titled"] == "A conversation between two friends:\n\nA: Hello.\nB: Hi!\nA:"
    assert before["quoted"] == "“Hello.”\n\n“Hi!”\n\n“"
    assert LAYOUTS["lines"].before(["Hi!"]) == "B: Hi!\nA:"
    assert LAYOUTS["lines"].before([]) == "A:"
