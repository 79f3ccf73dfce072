import pytest

from grice.data import Conversation, Turn
from grice.metrics.coherence import coherence
from grice.scoring import load


class StubReader:
    identity = "stub"

    def read(self, threads):
        return [(0.4, tuple(0.1 if "odd" in text else 0.8 for text in thread.texts))
                for thread in threads]  # fmt: skip

    def truncated(self, texts):
        return [len(text) > 100 for text in texts]


def conversation(*texts):
    return Conversation("c", tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts)))


def judge(*conversations):
    return list(coherence.function(conversations, model=StubReader()))


def test_the_turn_that_breaks_the_thread_is_named():
    [score] = judge(conversation("Hi.", "Hello.", "", "odd", "Fine."))
    assert score.value == 0.4
    [evidence] = score.evidence
    assert (evidence.turn, evidence.effect) == (3, pytest.approx(-0.7))
    assert score.reason == "turn {turn} is 0.70 below the median turn"


def test_nothing_to_judge_is_said():
    short, empty, foreign, half, fine = judge(
        conversation("Hi."), conversation("", " "), conversation("Привет", "Как дела"),
        conversation("Hi.", "Привет"), conversation("Hi.", "Hello."),
    )  # fmt: skip
    assert short.reason == empty.reason == "fewer than two turns contain text"
    assert foreign.status == half.status == "abstained"
    assert half.reason == "only one turn can be read; another is not in Latin letters"
    assert fine.status == "ok"
    assert fine.reason.startswith("no turn is below the median turn (0.")


def test_a_turn_too_long_to_be_read_whole_is_flagged():
    [score] = judge(conversation("Hi.", "long " * 40))
    assert score.flags == ("truncated",)


def test_five_thousand_turns_are_judged():
    with load("coherence") as grader:
        texts = [f"It was fine on day {i % 40}." for i in range(5000)]
        [score] = grader.score([conversation(*texts)])
    assert score.status == "ok"
