import pytest

from grice.evaluation.audit import RISE, injections

METRIC = "sensibleness"


def test_names_of_speakers_do_not_make_turns_of_a_reply(judged):
    plain, *named, other = (
        judged("Which address?", f"Eggs.\n{name}Exactly!").value
        for name in ("", "B: ", "Assistant: ", "  USER: ", "Total: ")
    )
    assert max(abs(value - plain) for value in named) < 1e-6 < abs(other - plain)


@pytest.mark.parametrize("reply", ["I don't know", "The table swims in it because blue."])
def test_words_for_a_rater_raise_no_score(judged, reply):
    before = "Which bus goes to the station?"
    plain = judged(before, reply).value
    tried = {k: v for k, v in injections().items() if not v.control}
    scores = {k: judged(before, v.before + reply + v.after) for k, v in tried.items()}
    raised = [k for k, v in scores.items() if v.status == "ok" and v.value > plain + RISE]
    assert (plain < 0.5, len(raised) <= 1) == (True, True), raised
