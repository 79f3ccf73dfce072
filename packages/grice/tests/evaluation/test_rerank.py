"""Candidates for replies: their order, and what has a part in it."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Conversation, Score, Turn
from grice.errors import InputError, RecordError
from grice.evaluation.rerank import Blend, Candidate, Ranked, preferences, rerank
from grice.scoring import load

PLUGIN = '''
from grice.metrics import Example, metric
from grice.data import Judgement

EXAMPLE = Example(["Hi.", "x"], 0.0, 1.0)


def _number(reply, place):
    """Return the figure that a reply states for a metric: "0.3 0.9 words"."""
    stated = reply.split()[place]
    if stated == "none":
        return Judgement(0.5, "abstained", "nothing to judge")
    return Judgement(None, "failed", "broken") if stated == "fails" else Judgement(float(stated))


@metric("one", version="1", summary="The first figure.", judges="response", source="Ours.",
        example=EXAMPLE)
def one(responses):
    """Return the first figure of a reply."""
    return (_number(response.text, 0) if response.text.strip() else
            Judgement(0.5, "abstained", "empty") for response in responses)


@metric("two", version="1", summary="The second figure.", judges="response", source="Ours.",
        example=EXAMPLE)
def two(responses):
    """Return the second figure of a reply."""
    return (_number(response.text, 1) if response.text.strip() else
            Judgement(0.5, "abstained", "empty") for response in responses)
'''


@pytest.fixture(scope="module")
def grader(tmp_path_factory):
    path = tmp_path_factory.mktemp("plugin") / "figures.py"
    path.write_text(PLUGIN, "utf-8")
    with load("one", "two", plugins=[path]) as grader:
        yield grader


def context(*candidates, turns=("Hello.",)):
    spoken = tuple(Turn("AB"[place % 2], text) for place, text in enumerate(turns))
    return Conversation("c", spoken, meta={"candidates": list(candidates), "kept": 1})


def ranked(grader, *candidates, **blend):
    [item] = rerank([context(*candidates)], grader.scorer, Blend(**blend))
    return item


def order(grader, *candidates, **blend):
    return [candidate.index for candidate in ranked(grader, *candidates, **blend).candidates]


@pytest.mark.parametrize(
    ("blend", "first"),
    [
        ({"rule": "mean"}, 0),
        ({"rule": "min"}, 1),
        ({"rule": "geometric"}, 1),
        ({"rule": "mean", "weights": {"two": 3.0}}, 1),
        ({"held_out": ("one",)}, 1),
    ],
)
def test_the_blend_decides(grader, blend, first):
    assert order(grader, "1.0 0.1", "0.5 0.4", **blend)[0] == first


def test_vetoed_candidates_follow_the_others_and_empty_ones_follow_these(grader):
    item = ranked(grader, "", "0.9 0.1", "0.2 0.3", vetoes={"two": 0.2})
    assert [candidate.index for candidate in item.candidates] == [2, 1, 0]
    assert item.candidates[1].vetoed == ("two",)
    assert item.candidates[2].value is None


def test_of_equal_candidates_the_first_of_the_record_is_best(grader):
    item = ranked(grader, "0.1 0.1", "0.4 0.4", "0.4 0.4")
    assert (item.best.index, item.tied) == (1, 2)


@pytest.mark.parametrize(
    ("candidates", "value", "left_out"),
    [
        (("none 0.1", "none 0.4"), 0.4, {"one": "abstained: nothing to judge"}),
        (("none 0.4", "0.1 0.4"), 0.45, {}),  # the neutral value counts
        (("fails 0.1", "0.1 0.4"), 0.4, {"one": "failed: broken"}),
    ],
)
def test_a_metric_counts_unless_it_abstains_on_all_or_fails_on_one(
    grader, candidates, value, left_out
):
    item = ranked(grader, *candidates)
    assert item.left_out == left_out
    assert item.best.value == pytest.approx(value)


def test_without_a_value_the_order_of_the_record_stays(grader):
    item = ranked(grader, "none none", "none none")
    assert (item.best.index, item.best.value, item.tied) == (0, None, 2)


def test_scores_carry_the_id_of_the_context_and_fields_are_kept(grader):
    item = ranked(grader, "0.1 0.2")
    assert [score.conversation for score in item.best.scores] == ["c", "c"]
    assert item.meta == {"kept": 1}


@pytest.mark.parametrize("turns", [("Hello.",), ("Hello.", "0 0"), ("a", "b", "c")])
def test_who_did_not_speak_last_answers(grader, turns):
    [item] = rerank([context("0.1 0.2", turns=turns)], grader.scorer)
    [score, _] = item.best.scores
    assert score.turn == len(turns)


@pytest.mark.parametrize(
    ("candidates", "where"),
    [([], "at least one candidate"), ([3], "text, or an object"), (["x"] * 1001, "at most 1,000")],
)
def test_unusable_candidates_are_an_error_of_their_record(grader, candidates, where):
    good = context("0.1 0.2")
    broken, item = rerank([context(*candidates), good], grader.scorer)
    assert isinstance(broken, RecordError)
    assert where in str(broken)
    assert item.best.index == 0


def test_a_record_without_candidates_names_the_fields_that_it_has(grader):
    talk = Conversation("c", (Turn("A", "Hi."),), meta={"replies": []})
    [error] = rerank([talk], grader.scorer)
    assert str(error) == "c: candidates: missing; the record has replies"


@pytest.mark.parametrize(
    ("blend", "problem"),
    [
        ({"rule": "median"}, "no blend 'median'"),
        ({"weights": {"three": 1.0}}, "three is not run"),
        ({"weights": {"one": 0.0}}, "above 0"),
        ({"weights": {"one": 1.0}, "held_out": ("one",)}, "takes no weight"),
        ({"vetoes": {"one": math.nan}}, "finite"),
        ({"rule": "min", "weights": {"one": 1.0}}, "takes no weights"),
        ({"held_out": ("one", "two")}, "no metric is left"),
    ],
)
def test_a_blend_that_does_not_fit_is_refused_before_anything_is_scored(grader, blend, problem):
    with pytest.raises(InputError, match=problem):
        list(rerank([], grader.scorer, Blend(**blend)))


FIGURES = st.floats(0.0, 1.0).map(lambda figure: round(figure, 3))


@given(st.lists(st.tuples(FIGURES, FIGURES), min_size=1, max_size=6))
def test_every_candidate_is_ranked_once_and_none_better_follows(grader, figures):
    item = ranked(grader, *(f"{first} {second}" for first, second in figures))
    values = [candidate.value for candidate in item.candidates]
    assert sorted(candidate.index for candidate in item.candidates) == list(range(len(figures)))
    assert values == sorted(values, reverse=True)


def candidate(text, value, *, vetoed=(), **scores):
    listed = tuple(
        Score("c", 1, name, figure, "ok", None, (), (), "") for name, figure in scores.items()
    )
    return Candidate(0, text, value, vetoed, listed)


TURNS = (Turn("A", "Hi."), Turn("B", "Hello."), Turn("A", "And?"))


def ranking(*candidates, turns=TURNS):
    return Ranked("c", turns, candidates, 1, {}, {})


GOOD, BAD = candidate("Four words are here.", 0.8, one=0.8), candidate("Two words.", 0.1, one=0.1)


def test_the_best_and_the_worst_make_a_pair_as_trainers_read_it():
    middle = candidate("Between.", 0.5, one=0.5)
    [pair] = preferences([ranking(GOOD, middle, BAD)], Counter())
    assert pair.chosen == [{"role": "assistant", "content": "Four words are here."}]
    assert pair.rejected == [{"role": "assistant", "content": "Two words."}]
    assert pair.margin == pytest.approx(0.7)
    assert (pair.chosen_scores, pair.rejected_scores) == ({"one": 0.8}, {"one": 0.1})
    assert [message["role"] for message in pair.prompt] == ["user", "assistant", "user"]


def test_roles_of_a_chat_stay():
    turns = (Turn("s", "Be kind.", "system"), Turn("u", "Hi.", "user"), Turn("m", "Yes?", "model"))
    [pair] = preferences([ranking(GOOD, BAD, turns=turns)], Counter())
    assert [message["role"] for message in pair.prompt] == ["system", "user", "assistant"]


@pytest.mark.parametrize(
    ("filters", "candidates", "why"),
    [
        ({"margin": 0.9}, (GOOD, BAD), "too close"),
        ({"margin": 0.0}, (GOOD, candidate("Same.", 0.8, one=0.8)), "too close"),
        ({"length_ratio": 1.5}, (GOOD, BAD), "lengths too different"),
        ({"agreement": True}, (GOOD, candidate("x", 0.1, one=0.9)), "metrics disagree"),
        ({}, (GOOD, candidate("Four  words are here.", 0.1)), "the same text"),
        ({}, (GOOD, candidate("", None)), "fewer than two candidates, or all vetoed"),
        (
            {},
            (candidate("a", 0.8, vetoed=("one",)), candidate("b", 0.1, vetoed=("one",))),
            "fewer than two candidates, or all vetoed",
        ),
    ],
)
def test_pairs_that_do_not_hold_are_left_out_and_counted(filters, candidates, why):
    refused = Counter()
    assert not list(preferences([ranking(*candidates)], refused, **filters))
    assert refused == {why: 1}


@pytest.mark.parametrize("filters", [{"margin": -1.0}, {"length_ratio": 0.5}])
def test_filters_out_of_range_are_refused(filters):
    with pytest.raises(InputError):
        list(preferences([], Counter(), **filters))
