import random

import numpy as np
import pytest

from grice.errors import InputError
from grice_research.roc import review_lifts, roc_areas

LABELS = [0, 0, 1, 1]
PERSONS = np.repeat(np.arange(20), 10)


def made(n=120):
    draw = random.Random(5)
    labels = [i % 3 == 0 for i in range(n)]
    good = [label + draw.random() for label in labels]
    chance = [draw.random() for _ in labels]
    return {"good": good, "chance": chance}, [float(label) for label in labels]


@pytest.mark.parametrize(
    ("values", "area"),
    [([0.1, 0.4, 0.35, 0.8], 0.75), ([0.5] * 4, 0.5), ([0.1, 0.3, 0.3, 0.8], 0.875),
     ([4, 3, 2, 1], 0.0)],
)  # fmt: skip
def test_the_area_is_the_share_of_pairs_in_order_ties_half(values, area):
    assert roc_areas({"a": values}, LABELS).areas["a"].value == area


def test_a_difference_is_paired_and_surer_than_the_two_areas():
    scores, labels = made()
    near = [value + 0.001 * i for i, value in enumerate(scores["chance"])]
    areas = roc_areas(scores | {"near": near}, labels, pairs=[("near", "chance"),
                                                              ("good", "chance")])  # fmt: skip
    whole, gap = areas.areas["chance"], areas.differences["near", "chance"]
    assert gap.high - gap.low < whole.high - whole.low
    assert areas.differences["good", "chance"].low > 0
    grouped = roc_areas(scores, labels, groups=[i // 6 for i in range(len(labels))])
    assert grouped.areas["good"].groups == 20, "whole conversations are drawn"


def test_within_strata_what_only_knows_the_stratum_is_worth_nothing():
    labels = [1.0] * 9 + [0.0] + [0.0] * 9 + [1.0]
    rates, names = [0.9] * 10 + [0.1] * 10, ["a"] * 10 + ["b"] * 10
    assert roc_areas({"rate": rates}, labels).areas["rate"].value == pytest.approx(0.9)
    assert roc_areas({"rate": rates}, labels, strata=names).areas["rate"].value == 0.5


def test_a_lift_is_the_precision_of_the_first_tenth_over_the_rate():
    labels, rng = np.tile([1.0, 0, 0, 0, 0], 40), np.random.default_rng(0)
    half = labels * (rng.random(200) < 0.5) + rng.random(200) / 2
    scores = {"label": labels, "reversed": -labels, "half": half, "none": np.zeros(200)}
    read = review_lifts(scores, labels, groups=PERSONS, pairs=[("label", "none")])
    first = np.argsort(-half, kind="stable")[:20]
    assert (read.lifts["label"].value, read.lifts["reversed"].value) == (pytest.approx(5), 0)
    assert read.lifts["half"].value == pytest.approx(labels[first].mean() / 0.2)
    assert read.lifts["none"].value == pytest.approx(1), "ties count by their expectation"
    assert read.differences["label", "none"].value == pytest.approx(4)
    with pytest.raises(InputError, match="none is 1"):
        review_lifts({"score": [1, 2]}, [0, 0], groups="ab")
