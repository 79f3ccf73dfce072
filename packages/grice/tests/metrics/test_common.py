"""Replies that metrics abstain on, and texts that they flag."""

import pytest

from grice.data import Judgement, Response, Turn
from grice.metrics.common import flag_truncated, score_or_abstain, unscorable_reply


def response(*texts):
    history = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts[:-1]))
    return Response("t", len(history), texts[-1], "A", history, tuple(range(len(history))))


@pytest.mark.parametrize(("texts", "reason"), [
    (["Hello."], "no turn before the reply"), (["Hello.", "  "], "the reply is empty"),
    (["Hello.", "?!"], "the reply contains no word"),
    (["Hello.", "Привет, как дела?"], "the reply is not in Latin letters"),
    (["Hi.", "Ich weiß nicht, ob das eine gute Idee ist."],
     "the reply is in German, not in English"),
    (["你好吗", "Fine."], "the history is not in Latin letters"),
    (["", "Fine."], "the history contains no word"), (["Hi.", "...", "Fine."], None),
    (["How many?", "12"], None),
])  # fmt: skip
def test_what_cannot_be_scored_is_said(texts, reason):
    assert unscorable_reply(response(*texts)) == reason
    (judgement,) = score_or_abstain(
        [response(*texts)], unscorable_reply, lambda scored: [Judgement(1.0)] * len(scored), 0.5
    )
    expected = Judgement(0.5, "abstained", reason) if reason else Judgement(1.0)
    assert judgement == expected


class Short:
    """Reads texts of ten characters."""

    identity = "short"

    def truncated(self, texts):
        return [len(text) > 10 for text in texts]


def test_a_judgement_is_flagged_if_any_of_its_texts_is_cut():
    texts = [("short", "much too long"), ("short",), ()]
    flagged = flag_truncated([Judgement(0.1)] * 3, texts, Short())
    assert [judgement.flags for judgement in flagged] == [("truncated",), (), ()]
    replies = [response("Hi.", "one " * 9), response("one " * 9, "Hi.")]
    two = [Judgement(1.0)] * 2
    scored = score_or_abstain(replies, unscorable_reply, lambda _: two, 0.5, Short())
    assert [judgement.flags for judgement in scored] == [("truncated",), ()]
