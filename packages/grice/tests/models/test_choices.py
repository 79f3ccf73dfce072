from __future__ import annotations

from grice.models.choices import Option, option_scores


class Counted:
    """Finds a text as likely as it is short, and twice that after a prompt of its words."""

    identity = "counted"

    def __init__(self):
        self.calls = 0

    def log_probabilities(self, prompts, texts):
        self.calls += 1
        return [
            -len(text) / (2 if text in prompt else 1)
            for prompt, text in zip(prompts, texts, strict=True)
        ]


def test_the_option_that_its_prompt_makes_likely_is_scored_highest():
    scores = option_scores(Counted(), [[Option("yes?", "yes"), Option("yes?", "nay")]])
    assert scores == [[-1.5, -3.0]]


def test_a_neutral_prompt_takes_out_how_usual_the_words_are():
    short, long = Option("certainly?", "no", "?"), Option("certainly?", "certainly", "?")
    assert option_scores(Counted(), [[short, long]]) == [[0.0, 4.5]]
    bare = [option._replace(neutral=None) for option in (short, long)]
    assert option_scores(Counted(), [bare]) == [[-2.0, -4.5]]


def test_all_choices_are_read_in_one_call_and_keep_their_sizes():
    scorer = Counted()
    scores = option_scores(scorer, [[Option("a", "b")], [], [Option("a", "b", "b")] * 3])
    assert scores == [[-1.0], [], [-0.5] * 3]
    assert scorer.calls == 1
