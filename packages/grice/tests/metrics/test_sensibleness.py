"""The metric ``sensibleness`` with a stub model: which flaw it names, and when none."""

import math

import numpy as np
import pytest

from grice.data import Response, Turn
from grice.metrics.sensibleness import MARGIN, sensibleness

FLAWS = ("any", "contradiction", "repetition", "unanswered", "nonsense", "dull")


class Known:
    """Answers with the log odds that it is told, 0 for a flaw that is not named."""

    identity = "known"
    flaws = FLAWS

    def __init__(self, **odds):
        self.odds = odds

    def log_odds(self, responses):
        row = [self.odds.get(flaw, 0.0) for flaw in FLAWS]
        return np.array([row for _ in responses], np.float32)

    def truncated(self, texts):
        return [False for _ in texts]


def judged(speakers, **odds):
    """Return the judgement of a reply by the last of some speakers."""
    history = tuple(Turn(speaker, "We have two dogs.") for speaker in speakers[:-1])
    turn = len(history)
    reply = Response("c", turn, "They are brown.", speakers[-1], history, tuple(range(turn)))
    (judgement,) = sensibleness.function([reply], model=Known(**odds))
    return judgement


def test_a_cause_is_named_where_it_stands_out():
    named = judged("aba", any=2, nonsense=MARGIN + 0.1)
    assert named.reason == f"most likely flaw: nonsense ({1 / (1 + math.exp(-MARGIN - 0.1)):.2f})"
    assert " or " in judged("aba", any=2, nonsense=MARGIN - 0.1).reason
    both = judged("aba", any=2, nonsense=6, dull=5)
    assert both.reason == "most likely flaw: nonsense (1.00) or dull (0.99)"


@pytest.mark.parametrize("odds", [-3.0, 0.0])
def test_a_reply_that_is_not_bad_is_not_accused(odds):
    assert judged("aba", any=odds, nonsense=9).reason.startswith("probability of a flaw: 0.")
    assert judged("aba", any=0.1, nonsense=9).reason.startswith("most likely flaw: nonsense")


def test_who_said_nothing_before_does_not_repeat():
    first, later = judged("ab", any=3, repetition=9), judged("aba", any=3, repetition=9)
    assert "repetition" not in {piece.name for piece in first.evidence}
    assert " or " in first.reason
    assert later.evidence[0].name == "repetition"
    assert later.reason == "most likely flaw: repetition (1.00)"
    assert first.value == later.value, "the masked flaw still counts in the value"
    assert "unanswered" in judged("ab", any=3, repetition=9, unanswered=5).reason


def test_who_speaks_alone_leaves_no_question():
    alone = judged("aaa", any=3, unanswered=9)
    assert "unanswered" not in {piece.name for piece in alone.evidence}
    assert judged("baa", any=3, unanswered=9).evidence[0].name == "unanswered"


def test_a_first_reply_can_contradict_its_partner():
    assert judged("ab", any=3, contradiction=9).evidence[0].name == "contradiction"


def test_odds_beyond_what_a_probability_holds_name_a_cause():
    assert judged("aba", any=40, dull=40).reason == "most likely flaw: dull (1.00)"
