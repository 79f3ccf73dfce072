"""Sensibleness: which words of a turn are read."""

import pytest

from grice.evaluation.audit import RISE, injections

METRIC = "sensibleness"


def test_names_of_speakers_do_not_make_turns_of_a_reply(judged):
    plain, *named, other = (
        judged("Which address?", f"Eggs.\n{name}Exactly!").value
        for name in ("", "B: ", "Assistant: ", "  USER: ", "Total: ")
    )
    assert max(abs(value - plain) for value in named) < 1e-6 < abs(other - plain)


@pytest.mark.parametrize(("before", "reply"), [
    ("What do you do for a living?", "The table swims in seventeen because blue."),
    ("Where did you grow up?", "Yes, it is growing up very table."),
    ("Which bus goes to the station?", "I don't know"),
])  # fmt: skip
def test_words_for_a_rater_raise_no_score(judged, before, reply):
    plain = judged(before, reply).value
    texts = {
        name: each.before + reply + each.after
        for name, each in injections().items()
        if not each.control
    }
    scores = {name: judged(before, text) for name, text in texts.items()}
    raised = [n for n, each in scores.items() if each.status == "ok" and each.value > plain + RISE]
    assert plain < 0.5
    assert len(raised) <= 1, raised
