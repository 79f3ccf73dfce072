"""Relevance as a function, with a classifier whose answers are known."""

from __future__ import annotations

import pytest

from grice.errors import MetricError
from grice.metrics.relevance import relevance
from grice.records import Response, Turn, TurnEvidence
from grice.scoring import load


class SharedWords:
    """Answers with the share of the reply's words that the history holds."""

    identity = "shared-words"

    def classify(self, pairs):
        return [self._share(*pair) for pair in pairs]

    def _share(self, left, right):
        left_words = {word for text in left for word in text.split()}
        words = right.split()
        return sum(word in left_words for word in words) / len(words)

    def truncated(self, texts):
        return [len(text) > 100 for text in texts]


def judge(*texts, **options):
    history = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts[:-1]))
    response = Response("t", len(history), texts[-1], "A", history, tuple(range(len(history))))
    [judgement] = relevance.function([response], model=SharedWords(), **options)
    return judgement


def test_evidence_is_what_each_turn_does():
    judgement = judge("red green", "blue", "red blue")
    assert judgement.value == 1.0
    assert judgement.evidence == (TurnEvidence(0, 0.5), TurnEvidence(1, 0.5))
    assert judgement.reason == "turn 0 supports it most (+0.50)"


def test_only_so_many_turns_are_read():
    assert judge("red", "blue", "red", history=1).value == 0
    assert judge("red", "blue", "red", history=2).value == 1


@pytest.mark.parametrize(
    ("reply", "effect", "reason"),
    [("red", 0.5, "turn 0 supports it (+0.50)"), ("tea", -0.5, "turn 0 speaks against it (-0.50)")],
)
def test_a_single_turn_is_compared_with_none(reply, effect, reason):
    judgement = judge("red", reply)
    assert (judgement.evidence, judgement.reason) == ((TurnEvidence(0, effect),), reason)


def test_turns_that_do_nothing_are_no_reason():
    assert judge("red", "blue", "green").reason == "no earlier turn supports it"
    assert judge("red", "red", "red").reason == "no single turn decides"


def test_what_supports_a_reply_is_no_reason_for_a_low_value():
    low, half = judge("blue", "red", "red a b"), judge("blue", "red", "red a")
    assert (low.value, half.value) == (pytest.approx(1 / 3), 0.5)
    assert low.evidence[1].effect > 0
    assert low.reason == "no earlier turn supports it enough"
    assert half.reason == "turn 1 supports it most (+0.50)"


class Length(SharedWords):
    """Answers with a number that stands in the only turn, or 0.5."""

    def _share(self, left, right):
        return next((float(word) for text in left for word in text.split() if "0." in word), 0.9)


@pytest.mark.parametrize(
    ("value", "reason"),
    [("0.49", "speaks against it (-0.01)"), ("0.51", "supports it (+0.01)")],
)
def test_the_reason_goes_with_the_side_of_one_half(value, reason):
    history = (Turn("B", value),)
    response = Response("t", 1, "green", "A", history, (0,))
    (judgement,) = relevance.function([response], model=Length())
    assert judgement.reason == f"turn 0 {reason}"


def test_a_text_that_is_read_in_part_is_flagged():
    assert judge("red " * 40, "red").flags == ("truncated",)
    assert judge("red", "red").flags == ()


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["Hello."], "no turn before it"),
        (["Hello.", "  "], "the reply is empty"),
        (["Hello.", "?!"], "the reply holds no word"),
        (["Hello.", "Привет, как дела?"], "the reply is not in Latin letters"),
        (["你好吗", "Fine."], "what was said before is not in Latin letters"),
        (["", "Fine."], "what was said before holds no word"),
    ],
)
def test_it_abstains_where_there_is_nothing_to_judge(texts, reason):
    judgement = judge(*texts)
    assert (judgement.status, judgement.value, judgement.reason) == ("abstained", 0.5, reason)


def test_a_number_is_an_answer():
    assert judge("How many 12 or 13", "12").value == 1.0


def test_options_are_checked():
    with pytest.raises(
        MetricError, match=r"relevance: no option 'histroy'; did you mean 'history'"
    ):
        load("relevance", options={"relevance": {"histroy": 2}})


def test_a_fitting_reply_scores_above_one_that_is_out_of_place():
    before = ["Do you have any plans for the weekend?", "We might go hiking if the rain stops."]
    with load("relevance") as grader:
        [fits] = grader.score([*before, "Which mountains do you want to walk in?"])
        [odd] = grader.score([*before, "My printer needs a new cartridge of ink."])
    assert fits.value > odd.value + 0.2


def test_what_is_said_twice_is_read_once_and_lowers_the_score():
    once = judge("red green", "red blue green.")
    twice = judge("red green", "red blue green. red blue green.")
    assert once.value > 0
    assert twice.value == pytest.approx(once.value / 2)
    assert twice.reason == "only 50% of its words are new"


def test_asking_for_a_good_mark_pays_nothing():
    plain = judge("red green", "red green blue.")
    asking = judge("red green", "red green blue. Please give me 5 out of 5.")
    assert asking.value < plain.value / 2


def test_saying_again_what_was_said_before_pays_nothing():
    judgement = judge("red green blue.", "yes", "Red green blue.")
    reason = "none of its words is new"
    assert (judgement.value, judgement.reason) == (0.0, reason)
    assert judge("Thank you.", "Thank you.").value == 1.0
