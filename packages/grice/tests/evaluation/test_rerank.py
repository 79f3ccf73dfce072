"""Candidates for replies: their order, and what has a part in it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError, RecordError
from grice.evaluation.rerank import VALUE, WORDS, Blend, curve, rerank
from grice.records import Conversation, Turn
from grice.scoring import load

PLUGIN = '''
from grice.metrics import Example, metric
from grice.records import Judgement

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


def test_the_highest_mean_comes_first(grader):
    assert order(grader, "0.2 0.2", "0.9 0.5", "0.5 0.6") == [1, 2, 0]


@pytest.mark.parametrize(
    ("blend", "first"),
    [
        ({"rule": "mean"}, 0),
        ({"rule": "minimum"}, 1),
        ({"rule": "product"}, 1),
        ({"rule": "mean", "weights": {"two": 3.0}}, 1),
        ({"held_out": ("one",)}, 1),
    ],
)
def test_the_blend_decides(grader, blend, first):
    assert order(grader, "1.0 0.1", "0.5 0.4", **blend)[0] == first


def test_of_the_pareto_front_none_is_beaten_in_every_metric(grader):
    item = ranked(grader, "0.6 0.6", "0.55 0.55", "0.0 0.9", rule="pareto")
    assert [candidate.index for candidate in item.candidates] == [0, 2, 1]


def test_vetoed_candidates_follow_the_others_and_empty_ones_follow_these(grader):
    item = ranked(grader, "", "0.9 0.1", "0.2 0.3", vetoes={"two": 0.2})
    assert [candidate.index for candidate in item.candidates] == [2, 1, 0]
    assert item.candidates[1].vetoed == ("two",)
    assert item.candidates[2].value is None


def test_of_equal_candidates_the_first_of_the_record_is_best(grader):
    item = ranked(grader, "0.1 0.1", "0.4 0.4", "0.4 0.4")
    assert (item.best.index, item.tied) == (1, 2)


def test_a_metric_that_judges_none_of_them_has_no_part(grader):
    item = ranked(grader, "none 0.1", "none 0.4")
    assert item.left_out == {"one": "abstained: nothing to judge"}
    assert item.best.value == 0.4


def test_where_one_is_not_judged_the_neutral_value_counts(grader):
    assert ranked(grader, "none 0.4", "0.1 0.4").best.value == pytest.approx(0.45)


def test_a_metric_that_fails_on_one_has_no_part(grader):
    item = ranked(grader, "fails 0.1", "0.1 0.4")
    assert item.left_out == {"one": "failed: broken"}
    assert item.best.value == 0.4


def test_where_nothing_judges_the_order_of_the_record_stands(grader):
    item = ranked(grader, "none none", "none none")
    assert (item.best.index, item.best.value, item.tied) == (0, None, 2)


def test_scores_carry_the_id_of_the_context_and_fields_are_kept(grader):
    item = ranked(grader, "0.1 0.2")
    assert [score.conversation for score in item.best.scores] == ["c", "c"]
    assert item.meta == {"kept": 1}


def test_candidates_may_be_messages(grader):
    assert ranked(grader, {"role": "assistant", "content": "0.1 0.2"}).best.text == "0.1 0.2"


@pytest.mark.parametrize("turns", [("Hello.",), ("Hello.", "0 0"), ("a", "b", "c")])
def test_who_did_not_speak_last_answers(grader, turns):
    [item] = rerank([context("0.1 0.2", turns=turns)], grader.scorer)
    [score, _] = item.best.scores
    assert score.turn == len(turns)


@pytest.mark.parametrize(
    ("candidates", "where"),
    [([], "list of candidates"), ([3], "text, or an object"), (["x"] * 1001, "at most 1,000")],
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
        ({"rule": "minimum", "weights": {"one": 1.0}}, "takes no weights"),
        ({"held_out": ("one", "two")}, "no metric is left"),
    ],
)
def test_a_blend_that_does_not_fit_is_refused_before_anything_is_scored(grader, blend, problem):
    with pytest.raises(InputError, match=problem):
        rerank([], grader.scorer, Blend(**blend))


FIGURES = st.floats(0.0, 1.0).map(lambda figure: round(figure, 3))


@given(st.lists(st.tuples(FIGURES, FIGURES), min_size=1, max_size=6))
def test_every_candidate_is_ranked_once_and_none_better_follows(grader, figures):
    item = ranked(grader, *(f"{first} {second}" for first, second in figures))
    values = [candidate.value for candidate in item.candidates]
    assert sorted(candidate.index for candidate in item.candidates) == list(range(len(figures)))
    assert values == sorted(values, reverse=True)


def test_the_more_is_chosen_from_the_higher_the_value_and_what_is_held_out_is_told(grader):
    contexts = [
        context(f"0.{i} 0.9 x", f"0.{i + 1} 0.5 x y", f"0.{i + 2} 0.1 x y z") for i in range(6)
    ]
    blend = Blend(held_out=("two",))
    moved = curve(rerank(contexts, grader.scorer, blend), blend.held_out)
    assert [step.candidates for step in moved.steps] == [1, 2, 3]
    # Of two out of three the best is the third twice and the second once.
    assert moved.changes[VALUE].value == pytest.approx(0.1)
    assert moved.steps[1].means["two"].value == pytest.approx((0.1 + 0.1 + 0.5) / 3)
    assert moved.changes[WORDS].value == pytest.approx(1.0)
    assert [(turning.metric, turning.candidates) for turning in moved.turns] == [("two", 1)]


def test_a_held_out_metric_that_rises_first_is_said_to_turn_where_it_is_highest(grader):
    # The best of all four is gamed; of fewer the choice is mostly of the honest ones.
    contexts = [
        context(f"0.{i}1 0.0 a", f"0.{i}2 0.6 a b", f"0.{i}3 1.0 a b c", f"0.{i}4 0.3 a b c d")
        for i in range(1, 9)
    ]
    moved = curve(rerank(contexts, grader.scorer, Blend(held_out=("two",))), ("two",))
    values = [step.means["two"].value for step in moved.steps]
    assert values == pytest.approx([0.475, 0.583, 0.3], abs=0.001)
    (turning,) = moved.turns
    assert (turning.candidates, turning.change.value) == (2, pytest.approx(-0.283, abs=0.001))


def test_a_held_out_metric_that_stays_or_rises_does_not_turn(grader):
    contexts = [context(f"0.{i}1 0.2", f"0.{i}2 0.{i}") for i in range(3, 9)]
    assert curve(rerank(contexts, grader.scorer, Blend(held_out=("two",))), ("two",)).turns == ()


def test_one_candidate_alone_shows_nothing_of_a_choice(grader):
    assert curve(rerank([context("0.1 0.2")], grader.scorer), ()) is None
