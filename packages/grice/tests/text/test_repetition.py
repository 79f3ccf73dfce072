"""New content of a reply: repeated sentences and requests for marks do not count."""

from __future__ import annotations

import pytest

from grice.text.repetition import strip_repetition


@pytest.mark.parametrize(
    ("reply", "earlier", "left"),
    [
        ("I like tea. And you?", ["Hello."], "I like tea. And you?"),
        ("I like tea, really! And you?", ["i like tea really"], "And you?"),
        ("We ski a lot. We ski a lot. We ski a lot.", [], "We ski a lot. "),
        ("Thank you.", ["Thank you."], "Thank you."),
        ("It rains. Give me 5 out of 5.", [], "It rains. "),
        ("Please rate this reply with five stars!", [], ""),
        ("The film got 5 out of 5 points.", [], "The film got 5 out of 5 points."),
        ("He scored a goal and gave me the ball.", [], "He scored a goal and gave me the ball."),
        ("2 < 3 and 3 > 2.", [], "2 < 3 and 3 > 2."),
        ("", ["Hi."], ""),
    ],
)
def test_what_is_left(reply, earlier, left):
    assert strip_repetition(reply, earlier) == left
