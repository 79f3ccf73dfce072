from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError
from grice_research.roc import roc_areas

LABELS = [0, 0, 1, 1]


def made(n=120):
    draw = random.Random(5)
    labels = [i % 3 == 0 for i in range(n)]
    good = [label + draw.random() for label in labels]
    chance = [draw.random() for _ in labels]
    return {"good": good, "chance": chance}, [float(label) for label in labels]


@pytest.mark.parametrize(
    ("values", "area"),
    [
        ([0.1, 0.4, 0.35, 0.8], 0.75),
        ([0.5] * 4, 0.5),
        ([0.1, 0.3, 0.3, 0.8], 0.875),
        ([4, 3, 2, 1], 0.0),
    ],
)
def test_the_area_is_the_share_of_pairs_in_order_ties_half(values, area):
    assert roc_areas({"a": values}, LABELS).areas["a"].value == area


@given(st.lists(st.integers(-5, 5), min_size=6, max_size=30))
def test_turning_the_scores_turns_the_area(values):
    labels = [float(i % 2) for i in range(len(values))]
    areas = roc_areas({"a": values, "b": [-v for v in values]}, labels, pairs=[("a", "b")])
    first, second = areas.areas["a"], areas.areas["b"]
    assert first.value + second.value == pytest.approx(1)
    assert areas.differences["a", "b"].value == pytest.approx(first.value - second.value)


def test_a_difference_is_paired_and_surer_than_the_two_areas():
    scores, labels = made()
    near = [value + 0.001 * i for i, value in enumerate(scores["chance"])]
    areas = roc_areas(scores | {"near": near}, labels, pairs=[("near", "chance"),
                                                              ("good", "chance")])  # fmt: skip
    whole, gap = areas.areas["chance"], areas.differences["near", "chance"]
    assert gap.high - gap.low < whole.high - whole.low
    assert areas.differences["good", "chance"].low > 0


def test_within_strata_what_only_knows_the_stratum_is_worth_nothing():
    labels = [1.0] * 9 + [0.0] + [0.0] * 9 + [1.0]
    rates, names = [0.9] * 10 + [0.1] * 10, ["a"] * 10 + ["b"] * 10
    assert roc_areas({"rate": rates}, labels).areas["rate"].value == pytest.approx(0.9)
    area = roc_areas({"rate": rates}, labels, strata=names).areas["rate"]
    assert area.value == 0.5


def test_whole_conversations_are_drawn():
    scores, labels = made()
    area = roc_areas(scores, labels, groups=[i // 6 for i in range(len(labels))]).areas["good"]
    assert area.groups == 20


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [
        ([1, 2, 3, 4], [1, 1, 1, 1], "both labels"),
        ([1, 2, 3, 4], [0, 2, 1, 1], "1 or 0"),
        ([1, None, 3, 4], LABELS, "every item needs a value"),
    ],
)
def test_what_has_no_area_is_refused(values, labels, message):
    with pytest.raises(InputError, match=message):
        roc_areas({"a": values}, labels)
