"""A metric that fails is asked again a few times, and loses as little as that allows."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Conversation, Judgement, Signature, Turn
from grice.errors import ModelError
from grice.metrics import Example, metric
from grice.scoring.loaded import CALLS, Failure, LoadedMetric, answers


class Counting:
    """Squares numbers but for some, and counts the calls."""

    def __init__(self, bad):
        self.bad = frozenset(bad)
        self.calls = []

    def __call__(self, items):
        self.calls.append(len(items))
        if self.bad.intersection(items):
            raise ValueError("odd one")
        return [item**2 for item in items]


@pytest.mark.parametrize("count", [1, 2, 3, 1000, 100_000])
def test_what_always_fails_is_asked_four_times_at_most(count):
    ask = Counting(range(count))
    results = answers(ask, range(count))
    assert len(ask.calls) <= 4
    assert {result.reason for result in results} == {"ValueError: odd one"}
    assert [results[-1].others, results[min(1, count - 1)].others] == [0, (count - 1) * (count > 3)]


@pytest.mark.parametrize(("bad", "most"), [
    (set(), 1), ({0}, 22), ({700}, 22), ({0, 511, 1023}, CALLS), ({1, 2, 700, 701, 702}, CALLS),
])  # fmt: skip
def test_few_items_that_fail_cost_no_other(bad, most):
    ask = Counting(bad)
    results = answers(ask, range(1024))
    assert len(ask.calls) <= most
    assert {i for i, result in enumerate(results) if isinstance(result, Failure)} == bad
    assert all(results[i].others == 0 for i in bad)


def test_what_fails_once_only_loses_nothing():
    failures = [TimeoutError()]

    def ask(items):
        if failures:
            raise failures.pop()
        return list(items)

    assert (answers(ask, range(100)), answers(ask, [])) == (list(range(100)), [])


@given(st.sets(st.integers(0, 299)), st.integers(1, 300))
def test_calls_are_bounded_and_answers_are_right(bad, count):
    ask = Counting(bad)
    results = answers(ask, range(count))
    assert len(ask.calls) <= CALLS
    for item, result in enumerate(results):
        if isinstance(result, Failure):
            assert item in bad or result.others > 0
        else:
            assert result == item**2


def judged(function, texts):
    declared = metric("trial", version="1", summary="Trial.", judges="response", source="none",
                      example=Example(["a", "b"], 0.0, 1.0))(function)  # fmt: skip
    talks = [Conversation(str(i), (Turn("A", text),)) for i, text in enumerate(texts)]
    loaded = LoadedMetric(declared, Signature("trial", "1"), {})
    return [scores[0] for scores in loaded.score(talks)]


def test_a_failed_score_says_how_many_were_judged_with_it():
    def broken(responses):
        raise ModelError("the endpoint does not answer")

    scores = judged(broken, ["a"] * 10)
    assert {score.status for score in scores} == {"failed"}
    assert scores[0].reason == "the endpoint does not answer"
    assert scores[1].reason == "the endpoint does not answer (judged together with others)"


def test_a_value_outside_the_range_fails_alone_and_is_not_asked_for_again():
    calls = []

    def wild(responses):
        calls.append(len(responses))
        return [Judgement(float(response.text)) for response in responses if response.text != "x"]

    scores = judged(wild, ["0.5", "1.5", "nan", "1"])
    assert [score.status for score in scores] == ["ok", "failed", "failed", "ok"]
    assert (scores[1].reason, calls) == ("value 1.5 outside 0 to 1", [4])
    _, missing, _ = judged(wild, ["1", "x", "1"])
    assert (missing.status, missing.reason) == ("failed", "0 judgements for 1 item")


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA failed: out of memory")])
def test_a_batch_that_does_not_fit_is_asked_in_halves_and_that_is_said_once(error):
    calls = []

    def ask(items):
        calls.append(len(items))
        if len(items) > 300:
            raise error
        return [item**2 for item in items]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert answers(ask, range(1024)) == [item**2 for item in range(1024)]
    assert calls == [1024, 512, 256, 256, 512, 256, 256]
    assert [str(warning.message) for warning in caught] == [
        "out of memory; batches that do not fit are scored in halves"
    ]
