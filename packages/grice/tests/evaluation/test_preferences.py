"""Preference pairs out of ranked candidates."""

from __future__ import annotations

from collections import Counter

import pytest

from grice.errors import InputError
from grice.evaluation.rerank import Candidate, Filters, Ranked, preferences
from grice.records import Score, Turn


def candidate(text, value, *, vetoed=(), **scores):
    listed = tuple(
        Score("c", 1, name, figure, "ok", None, (), (), "") for name, figure in scores.items()
    )
    return Candidate(0, text, value, vetoed, listed)


TURNS = (Turn("A", "Hi."), Turn("B", "Hello."), Turn("A", "And?"))


def ranked(*candidates, turns=TURNS):
    return Ranked("c", turns, candidates, 1, {}, {})


GOOD, BAD = candidate("Four words are here.", 0.8, one=0.8), candidate("Two words.", 0.1, one=0.1)


def test_the_best_and_the_worst_make_a_pair_as_trainers_read_it():
    middle = candidate("Between.", 0.5, one=0.5)
    [pair] = preferences([ranked(GOOD, middle, BAD)], Filters(), Counter())
    assert pair.chosen == [{"role": "assistant", "content": "Four words are here."}]
    assert pair.rejected == [{"role": "assistant", "content": "Two words."}]
    assert pair.margin == pytest.approx(0.7)
    assert (pair.chosen_scores, pair.rejected_scores) == ({"one": 0.8}, {"one": 0.1})
    assert [message["role"] for message in pair.prompt] == ["user", "assistant", "user"]


def test_roles_of_a_chat_stay():
    turns = (Turn("s", "Be kind.", "system"), Turn("u", "Hi.", "user"), Turn("m", "Yes?", "model"))
    [pair] = preferences([ranked(GOOD, BAD, turns=turns)], Filters(), Counter())
    assert [message["role"] for message in pair.prompt] == ["system", "user", "assistant"]


@pytest.mark.parametrize(
    ("filters", "candidates", "why"),
    [
        (Filters(margin=0.9), (GOOD, BAD), "too close"),
        (Filters(margin=0.0), (GOOD, candidate("Same.", 0.8, one=0.8)), "too close"),
        (Filters(length_ratio=1.5), (GOOD, BAD), "lengths too different"),
        (Filters(agreement=True), (GOOD, candidate("x", 0.1, one=0.9)), "metrics disagree"),
        (Filters(), (GOOD, candidate("Four  words are here.", 0.1)), "the same text"),
        (Filters(), (GOOD, candidate("", None)), "fewer than two candidates, or all vetoed"),
        (
            Filters(),
            (candidate("a", 0.8, vetoed=("one",)), candidate("b", 0.1, vetoed=("one",))),
            "fewer than two candidates, or all vetoed",
        ),
    ],
)
def test_pairs_that_do_not_hold_are_left_out_and_counted(filters, candidates, why):
    refused = Counter()
    assert not list(preferences([ranked(*candidates)], filters, refused))
    assert refused == {why: 1}


def test_a_vetoed_candidate_may_be_rejected():
    vetoed = candidate("Two words.", 0.5, vetoed=("one",), one=0.5)
    [pair] = preferences([ranked(GOOD, vetoed)], Filters(), Counter())
    assert pair.rejected[0]["content"] == "Two words."


@pytest.mark.parametrize("filters", [Filters(margin=-1.0), Filters(length_ratio=0.5)])
def test_filters_that_mean_nothing_are_refused(filters):
    with pytest.raises(InputError):
        list(preferences([], filters, Counter()))
