"""The metric ``groundedness``: what a reply says beside the knowledge that it was given."""

import pytest

import grice
from grice.data import Conversation, Response, Turn
from grice.metrics.groundedness import PASSAGE, groundedness
from grice.models.protocols import TaggedSpan

ASKED, SAID = "How tall is the tower?", "The towers were built in 1901 and stand in Lisbon."
KNOWN = "The tower, built in 1901, stands in Porto."


@pytest.fixture(scope="module")
def grader():
    with grice.load("groundedness") as loaded:
        yield loaded


def judged(grader, *turns, **meta):
    (score,) = grader.score(Conversation("c", turns, targets=(len(turns) - 1,), meta=meta))
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


class Model:
    """Answers as a test says, for pairs by their premise and for the tokens of a reply."""

    identity, asked = "made", ()
    truncated = classify = len

    def label_chances(self, label, pairs):
        self.asked = pairs
        return [0.75 if label == "entailment" and "Porto" in pair.left[0] else 0.25
                for pair in pairs]  # fmt: skip


class Spans(Model):
    label_chances = None

    def unsupported(self, replies):
        self.asked = replies
        chances = ((0, 2, 0.1), (3, 9, 0.6), (10, 12, 0.9), (13, 19, 0.2))
        return [[TaggedSpan(a, b, "x", chance) for a, b, chance in chances]] * len(replies)

    def cut(self, replies):
        return [len(reply.knowledge) > 1 for reply in replies]


def by_model(model, *knowledge, said="It stands in Lisbon. It is old."):
    history = (Turn("A", ASKED),)
    [judged] = groundedness.function(
        [Response("c", 1, said, "B", history, (0,), (), knowledge)], model=model
    )
    return judged


def test_a_model_of_entailment_reads_each_sentence_with_each_passage():
    assert by_model(Model(), "Off.", KNOWN).value == 0.75
    assert by_model(Model(), KNOWN).evidence == ()
    judged = by_model(model := Model(), "Lisbon. " * 200)
    assert (judged.value, len(judged.evidence)) == (0.25, 1)
    assert max(len(pair.left[0]) for pair in model.asked) <= PASSAGE
    assert judged.reason == "least supported: 'It stands in Lisbon.' (probability 0.75)"


def test_a_model_of_token_spans_shows_the_spans_with_their_probability():
    judged = by_model(Spans(), KNOWN, said="It stands in Lisbon")
    assert (judged.value, judged.flags) == (pytest.approx(0.1), ())
    (span,) = judged.evidence
    assert (span.span.start, span.span.end, span.value) == (3, 12, 0.9)
    assert by_model(model := Spans(), KNOWN, "More.").flags == ("truncated",)
    assert model.asked[0][:2] == (ASKED, (KNOWN, "More."))
