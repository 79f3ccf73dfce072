"""The metric ``groundedness``: what a reply says beside the knowledge that it was given."""

import pytest

import grice
from grice.data import Conversation, Turn

ASKED, SAID = "How tall is the tower?", "The towers were built in 1901 and stand in Lisbon."
KNOWN = "The tower, built in 1901, stands in Porto."


@pytest.fixture(scope="module")
def grader():
    with grice.load("groundedness") as loaded:
        yield loaded


def judged(grader, *turns, **meta):
    talk = Conversation("c", turns, targets=(len(turns) - 1,), meta=meta)
    (score,) = grader.score(talk)
    return score


def test_words_that_stand_nowhere_are_named_at_their_place(grader):
    score = judged(grader, Turn("A", ASKED), Turn("B", SAID, meta={"knowledge": KNOWN}))
    (foreign,) = score.evidence
    assert SAID[foreign.span.start : foreign.span.end] == "Lisbon"
    assert 0.5 < score.value < 1


@pytest.mark.parametrize("knowledge", [KNOWN, [KNOWN], ["Unrelated.", KNOWN]])
def test_knowledge_of_the_record_counts_as_that_of_its_reply(grader, knowledge):
    score = judged(grader, Turn("A", ASKED), Turn("B", "It stands in Porto."), knowledge=knowledge)
    assert (score.value, score.status) == (1.0, "ok")


def test_what_a_tool_answered_is_knowledge_until_the_next_turn(grader):
    question, tool = Turn("A", ASKED, role="user"), Turn("tool", KNOWN, role="tool")
    reply = Turn("B", "It stands in Porto.", role="assistant")
    assert judged(grader, question, tool, reply).value == 1.0
    later = judged(grader, question, tool, reply, Turn("A", "And where?", role="user"), reply)
    assert (later.status, later.value) == ("abstained", 1.0)


@pytest.mark.parametrize(("said", "value"), [
    ("It weighs 3.4 kg.", 1.0), ("It weighs 3.5 kg.", 2 / 3), ("A well-known tower.", 1.0),
])  # fmt: skip
def test_a_number_is_grounded_as_a_whole(grader, said, value):
    known = "The well-known tower weighs 3.4 or 4.5 kg."
    score = judged(grader, Turn("A", ASKED), Turn("B", said, meta={"knowledge": known}))
    assert score.value == pytest.approx(value)


@pytest.mark.parametrize("knowledge", [None, "", [], 3, ["", None]])
def test_without_knowledge_nothing_is_measured(grader, knowledge):
    score = judged(grader, Turn("A", ASKED), Turn("B", SAID, meta={"knowledge": knowledge}))
    assert (score.status, score.reason) == ("abstained", "no knowledge is given")
