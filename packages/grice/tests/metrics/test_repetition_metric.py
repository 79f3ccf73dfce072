"""The metric ``repetition``: what a speaker repeats, and the earlier turn."""

import json
from pathlib import Path

import pytest

from grice.data import Conversation, FeatureEvidence, Turn, TurnEvidence

METRIC = "repetition"

SEA = "I grew up near the sea."


def test_the_evidence_points_at_both_turns_and_at_the_words(judged):
    texts = ["Hi there, how are you?", "Fine.", SEA, "How nice!", "Well. I grew up by the sea."]
    score = judged(*texts)
    (earlier,) = [piece for piece in score.evidence if isinstance(piece, TurnEvidence)]
    assert (earlier.turn, earlier.effect < 0) == (2, True)
    spans = {
        piece.name: texts[piece.span.turn][piece.span.start : piece.span.end]
        for piece in score.evidence
        if isinstance(piece, FeatureEvidence)
    }
    assert (spans["repeated span"], spans["earlier span"]) == ("I grew up by the sea.", SEA)
    assert spans["shared word: 'sea'"] == "sea"
    assert score.reason.startswith("repeats turn 2 ")


def test_taking_up_what_the_partner_said_is_no_repetition(judged):
    assert judged("Do you cook?", SEA, "So you grew up near the sea?").value > 0.5


def test_where_nothing_was_said_before_it_abstains(judged):
    assert judged("Hello.", SEA).reason == "no earlier turn by the same speaker"
    short = judged("Yes, I do.", "Really?", "Yes.")
    assert (short.status, short.value) == ("abstained", 1.0)


def test_a_conversation_of_thousands_of_turns_is_judged(grader):
    texts = [f"I have {n} sheep and they all eat grass." for n in range(200)] * 15
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    scores = grader.score(Conversation("long", turns))
    assert len(scores) == 3000
    assert scores[-1].value < 0.1


WRITTEN = Path(__file__).parent / "repairs.jsonl"
FOUR = "I have booked a table for four on Friday at 7 pm."
NO_COMPLAINT = "I see."


def after(judged, complaint, reply, *, said=FOUR):
    return judged("A table for two on Friday.", said, complaint, reply)


def repairs(score):
    return [piece for piece in score.evidence if "repair" in getattr(piece, "name", "")]


@pytest.mark.parametrize(("complaint", "reply"), [
    ("No, two people.", "Sorry about that. I have booked a table for two on Friday at 7 pm."),
    ("That is wrong.", "My mistake, that was another booking. Yours is a table by the window."),
    ("Friday? I said Thursday!", "I have booked a table for four on Thursday at 7 pm."),
    ("Could you say that again?", "I booked a table for four on Friday at 7 pm."),
])  # fmt: skip
def test_a_repair_may_take_up_its_own_words(judged, complaint, reply):
    talk = ["A table for two on Friday.", FOUR, complaint, reply]
    repaired, plain = judged(*talk), after(judged, NO_COMPLAINT, reply)
    assert plain.value < 0.5 <= repaired.value
    chance = f"(probability {repaired.value:.2f})"
    assert repaired.reason == f"repairs turn 1 after the complaint in turn 2 {chance}"
    assert plain.reason.startswith("repeats turn 1 ")
    (evidence,) = repairs(repaired)
    assert (evidence.name, evidence.value) == ("repair after turn 2", repaired.value)
    words = talk[2][evidence.span.start : evidence.span.end]
    assert evidence.span.turn == 2
    assert words == words.strip() != ""


@pytest.mark.parametrize("reply", [
    FOUR, "Sorry, " + FOUR, "My mistake. " + FOUR,
    "I am sorry about the two people. On Friday at 7 pm a table for four is booked.",
])  # fmt: skip
@pytest.mark.parametrize("complaint", ["No, two people.", "You already said that!"])
def test_to_say_the_same_again_after_a_complaint_is_a_repetition(judged, complaint, reply):
    again, plain = after(judged, complaint, reply), after(judged, NO_COMPLAINT, reply)
    assert (again.value, again.reason, repairs(again)) == (plain.value, plain.reason, [])
    assert again.value < 0.1


@pytest.mark.parametrize("answer", ["No, thanks.", "Great, not bad!", "Friday is fine.", "No."])
def test_what_is_no_complaint_changes_nothing(judged, answer):
    reply = "I have booked a table for two on Friday at 7 pm."
    other, plain = after(judged, answer, reply), after(judged, NO_COMPLAINT, reply)
    assert (other.value, repairs(other)) == (plain.value, [])


def test_a_complaint_counts_only_right_before_the_reply(judged):
    reply = "I have booked a table for two on Friday at 7 pm."
    late = judged("Hi.", FOUR, "No, two people.", "One moment.", NO_COMPLAINT, reply)
    own = judged("Hi.", FOUR, "No, two people.", "One moment.", reply, speakers="ABABB")
    assert late.value < 0.5
    assert repairs(own) == []


@pytest.fixture(scope="module")
def written(grader):
    """Return the values of the written replies, by kind: as they stand and with no complaint."""
    talks, kinds = [], []
    for line in WRITTEN.read_text("utf-8").splitlines():
        record = json.loads(line)
        *turns, complaint = (Turn(turn["speaker"], turn["text"]) for turn in record["turns"])
        for kind in sorted({"repair", "repetition", "rewording"} & record.keys()):
            for last in (complaint, Turn(complaint.speaker, NO_COMPLAINT)):
                talk = (*turns, last, Turn("assistant", record[kind]))
                talks.append(Conversation(f"{len(talks)}", talk, targets=(len(talk) - 1,)))
                kinds.append(kind)
    values = {kind: [] for kind in kinds}
    for kind, score in zip(kinds, grader.score(talks), strict=True):
        values[kind].append((score.value, repairs(score)))
    return {kind: (pairs[::2], pairs[1::2]) for kind, pairs in values.items()}


def test_written_repairs_are_told_from_repetitions(written):
    low = {
        kind: [sum(value < 0.5 for value, _ in values) / len(values) for values in pair]
        for kind, pair in written.items()
    }
    assert min(len(pair[0]) for pair in written.values()) >= 80
    now, without_complaint = low["repair"]
    assert now < 0.25 < 0.7 < without_complaint
    assert low["repetition"] == [1.0, 1.0]
    assert low["rewording"][0] > 0.9


def test_values_without_a_repair_are_those_without_a_complaint(written):
    for complained, plain in written.values():
        assert not any(repair for _, repair in plain)
        for (value, repair), (without, _) in zip(complained, plain, strict=True):
            assert value > without if repair else value == without
