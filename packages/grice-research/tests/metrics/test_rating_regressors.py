from __future__ import annotations

import pytest

from grice.data import Response, Turn
from grice_research.metrics.rating_regressors import cross_encoder, mlp_regressor


class Longest:
    """Rates a reply by the number of turns before it."""

    identity = "longest"

    def classify(self, pairs):
        return [len(pair.left) / 10 for pair in pairs]


def response(text, *history):
    turns = tuple(Turn("AB"[i % 2], utterance) for i, utterance in enumerate(history))
    return Response("c", len(turns), text, "A", turns, tuple(range(len(turns))))


@pytest.mark.parametrize("metric", [cross_encoder, mlp_regressor])
def test_the_value_is_what_the_model_says(metric):
    replies = [response("yes", "a", "b"), response(" ", "a"), response("no", *"abcdef")]
    first, empty, last = metric.function(replies, model=Longest())
    assert (first.value, last.value) == (0.2, 0.4)
    assert (empty.value, empty.status, empty.reason) == (0.5, "abstained", "the reply is empty")
    (short,) = metric.function(replies[2:], model=Longest(), history=1)
    assert short.value == 0.1
