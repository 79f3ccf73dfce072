"""Fixtures of the tests of metrics: the metric that a module names as METRIC, loaded once."""

import pytest

import grice
from grice.data import Conversation, Turn


@pytest.fixture(scope="module")
def grader(request):
    with grice.load(request.module.METRIC) as loaded:
        yield loaded


@pytest.fixture
def judged(grader):
    """Return a function that scores the last turn after the others."""

    def score(*texts, speakers="AB"):
        turns = tuple(Turn(speakers[i % len(speakers)], text) for i, text in enumerate(texts))
        [last] = grader.score(Conversation("c", turns, targets=(len(turns) - 1,)))
        return last

    return score
