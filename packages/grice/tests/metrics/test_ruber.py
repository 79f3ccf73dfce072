"""RUBER's parts against independently computed cases, and the metric on known vectors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError
from grice.metrics.ruber import blend, pooled, referenced, scaled
from grice.numeric import cosine
from grice.records import Response, Turn

SHARES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20)

REFERENCE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, -1.0]])


@pytest.fixture(scope="module")
def cases(data_folder):
    path = data_folder.parent / "golden" / "ruber_predeng_worked_cases.json"
    if not Path(path).is_file():
        pytest.skip(f"{path} is not there")
    return json.loads(path.read_text("utf-8"))["cases"]


def test_pooling_of_the_worked_case():
    assert pooled(REFERENCE, "max-min").tolist() == [1, 3, 2, 0, 0, -1]
    assert pooled(REFERENCE, "mean").tolist() == [0.5, 1.5, 0.5]
    assert pooled(REFERENCE, "max").tolist() == [1, 3, 2]


@pytest.mark.data
@pytest.mark.parametrize(
    ("how", "named"), [("max", "cosine_max"), ("mean", "cosine_mean"), ("max-min", "cosine_maxmin")]
)
def test_the_referenced_score_is_the_golden_one(cases, how, named):
    case = cases["pooling_and_referenced"]
    two = [pooled(np.array(case[name]), how) for name in ("reference_tokens", "reply_tokens")]
    assert cosine(*two) == pytest.approx(case[named], abs=1e-9)


@pytest.mark.data
@pytest.mark.parametrize("how", ["min", "max", "mean"])
def test_blends_are_the_golden_ones(cases, how):
    case = cases["blend"]
    both = scaled(case["unreferenced"]), scaled(case["referenced"])
    assert both[0] == pytest.approx(case["scaled_unreferenced"], abs=1e-9)
    assert both[1] == pytest.approx(case["scaled_referenced"], abs=1e-9)
    assert blend(*both, how) == pytest.approx(case[how], abs=1e-9)


@given(SHARES)
def test_the_means_lie_between_the_smaller_and_the_larger(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    low, high = blend(first, second, "min"), blend(first, second, "max")
    for how in ("mean", "geometric"):
        for a, value, b in zip(low, blend(first, second, how), high, strict=True):
            assert a - 1e-12 <= value <= b + 1e-12


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_scaling_keeps_the_order_and_fills_the_range(scores):
    values = scaled(scores)
    assert all(0 <= value <= 1 for value in values)
    if max(scores) > min(scores):
        assert max(values) == 1
        assert min(values) == 0


def test_what_cannot_be_computed_is_refused():
    with pytest.raises(InputError, match="2 scores and 1"):
        blend([0.1, 0.2], [0.3], "min")
    with pytest.raises(InputError, match="did you mean 'geometric'"):
        blend([0.1], [0.3], "geometrc")
    with pytest.raises(InputError, match="0 or more"):
        blend([-0.1], [0.3], "geometric")
    with pytest.raises(InputError, match="finite"):
        scaled([0.1, math.nan])
    with pytest.raises(InputError, match="one token"):
        pooled(np.empty((0, 3)), "mean")


class Letters:
    """Counts of a, b and c as vectors."""

    identity = "letters"

    def encode(self, texts):
        return [np.array([text.count(c) for c in "abc"], np.float32) for text in texts]

    def truncated(self, texts):
        return [False for _ in texts]


def judge(text, *references):
    response = Response("t", 1, text, "B", (Turn("A", "hm"),), (0,), references)
    [judgement] = referenced.function([response], encoder=Letters())
    return judgement


def test_the_nearest_reference_counts():
    assert judge("ab", "c", "ab").value == pytest.approx(1)
    assert judge("ab", "c", "ab").reason == "nearest is reference 2"
    assert judge("ab", "c").value == 0


def test_without_references_it_abstains():
    assert judge("ab").status == "abstained"
    assert judge(" ", "ab").reason == "the reply is empty"
