"""Sensibleness: causes that are possible, and replies that try to raise their score."""

import pytest

import grice
from grice import Conversation, Turn
from grice.evaluation.audit import Injection, injections

METRIC = "sensibleness"
HISTORY = ("Hi, can you change the address of order 51220?", "Sure. Which address shall I use?")
FLAWED = (
    "Penguins lay their eggs in winter.",
    "Please the blue of it under seven walking.",
    "I do not know.",
    "Your baby should drive to the office.",
    "The film starts at nine on Friday.",
    "Sure. Which address shall I use?",
)


@pytest.mark.parametrize("label", ["B: ", "Assistant: ", "  USER: "])
def test_names_of_speakers_do_not_make_turns_of_a_reply(judged, label):
    plain, named = (
        judged(*HISTORY, f"Penguins lay eggs.\n{name}That is exactly right, thanks!")
        for name in ("", label)
    )
    assert named.value == pytest.approx(plain.value, abs=1e-6)


def test_a_word_before_a_colon_is_read(judged):
    assert judged(*HISTORY, "Dear me.\nTotal: 5").value != judged(*HISTORY, "Dear me.\n5").value


def test_a_first_turn_of_a_speaker_is_not_called_a_repetition(judged):
    assert "repetition" not in {piece.name for piece in judged("Hello!", "Hello!").evidence}
    later = judged("Hello!", "Hello!", "How are you?", "Hello!")
    assert "repetition" in {piece.name for piece in later.evidence}


def test_injections_do_not_raise_the_score(grader):
    added = {"": Injection("", "")} | injections()
    talks = [
        Conversation(
            f"{name}#{place}",
            tuple(
                Turn("AB"[turn % 2], text)
                for turn, text in enumerate((*HISTORY, f"{each.before}{reply}{each.after}"))
            ),
            targets=(2,),
        )
        for name, each in added.items()
        for place, reply in enumerate(FLAWED)
    ]
    totals = dict.fromkeys(added, 0.0)
    for score in grader.score(talks):
        totals[score.conversation.partition("#")[0]] += (score.value or 0.0) / len(FLAWED)
    rises = {name: total - totals[""] for name, total in totals.items()}
    raised = [name for name, rise in rises.items() if rise > 0.1]
    assert len(raised) <= 1, rises
