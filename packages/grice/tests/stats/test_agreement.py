import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from grice import stats
from grice.errors import InputError

# Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C: four observers,
# twelve units, missing values.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]  # fmt: skip
UNITS = [list(unit) for unit in zip(*OBSERVERS, strict=True)]


SCALES = ("nominal", "ordinal", "interval")


def columns(*annotators):
    return [list(unit) for unit in zip(*annotators, strict=True)]


MEG, OWEN = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
BEN, GERRY = "aabbdcccedda", "babbbccceddd"


@pytest.mark.parametrize(("units", "scale", "published"), [
    (UNITS, "nominal", 0.743), (UNITS, "ordinal", 0.815), (UNITS, "interval", 0.849),
    (columns(MEG, OWEN), "nominal", 0.095),  # section A: two observers, binary
    (columns(BEN, GERRY), "nominal", 0.692),  # section B: two observers, nominal
])  # fmt: skip
def test_alpha_of_krippendorffs_examples(units, scale, published):
    estimate = stats.krippendorff_alpha(units, scale=scale)
    assert estimate.value == pytest.approx(published, abs=5e-4)
    assert estimate.n == sum(sum(v is not None for v in unit) > 1 for unit in units)
    assert estimate.low < estimate.value < estimate.high <= 1


def reference_alpha(units, scale):
    """Observed and expected disagreement over all pairs of values, from the definition."""
    units = [[v for v in unit if v is not None] for unit in units]
    units = [unit for unit in units if len(unit) > 1]
    pool = [v for unit in units for v in unit]

    def apart(a, b):
        if scale == "nominal":
            return float(a != b)
        if scale == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(low <= v <= high for v in pool)
        ends = (pool.count(a) + pool.count(b)) / 2
        return (between - ends) ** 2 if a != b else 0.0

    observed = sum(
        sum(apart(a, b) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1)
        for unit in units
    )
    expected = sum(apart(a, b) for a, b in itertools.permutations(pool, 2)) / (len(pool) - 1)
    return 1 - observed / expected


RATINGS = st.lists(st.none() | st.integers(0, 4), min_size=2, max_size=4)


@given(st.lists(RATINGS, min_size=2, max_size=8), st.sampled_from(SCALES))
def test_alpha_is_that_of_its_definition(units, scale):
    paired = [[v for v in unit if v is not None] for unit in units]
    pool = [v for unit in paired if len(unit) > 1 for v in unit]
    if len(set(pool)) < 2:
        with pytest.raises(InputError, match=r"no agreement to measure|ratings are the same|none"):
            stats.krippendorff_alpha(units, scale=scale)
        return
    estimate = stats.krippendorff_alpha(units, scale=scale)
    assert estimate.value == pytest.approx(reference_alpha(units, scale), abs=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_the_interval_of_alpha_is_that_of_leaving_items_out(scale):
    units = UNITS[:11]
    left = np.array([reference_alpha(units[:i] + units[i + 1 :], scale) for i in range(11)])
    error = math.sqrt(10 / 11 * ((left - left.mean()) ** 2).sum())
    freedom = min(10, 2 * 11 / (scipy_stats.kurtosis(left, fisher=False) - 1))
    estimate = stats.krippendorff_alpha(units, scale=scale)
    half = scipy_stats.t.ppf(0.975, freedom) * error
    assert estimate.low == pytest.approx(reference_alpha(units, scale) - half)


ALPHA, LEFT_OUT = stats.krippendorff_alpha, stats.leave_one_annotator_out
COHEN, FLEISS = stats.cohen_kappa, stats.fleiss_kappa


@pytest.mark.parametrize(("measure", "given", "options", "message"), [
    (ALPHA, ([[1, None], [None, 2]],), {}, "none of 2 items has two ratings"),
    (ALPHA, ([[1, 1], [1, 1]],), {}, "all 4 ratings are the same"),
    (ALPHA, ([[1, 2], [1, 1]],), {"scale": "ordnal"}, "did you mean 'ordinal'"),
    (ALPHA, ([[1, "good"], [1, 1]],), {}, r"ratings\[0\]\[1\].*found 'good'"),
    (COHEN, ([1, 1], [1, 1]), {}, "kappa is not defined"),
    (COHEN, ([1, None], [None, 1]), {}, "none of 2 items has both"),
    (COHEN, ([1, 2], [2, 1]), {"weights": "linaer"}, "did you mean 'linear'"),
    (FLEISS, ([["a", "b", "a"], ["a", "b"]],), {}, r"found \[2, 3\]; krippendorff_alpha"),
    (FLEISS, ([["a", "a"], ["a", "a"]],), {}, "kappa is not defined"),
    (LEFT_OUT, ([[1, 1], [1, 1]],), {}, "vary on common items"),
    (LEFT_OUT, ([[1, 2], [2, 1]],), {"pool": "judge"}, "did you mean 'judges'"),
])  # fmt: skip
def test_undefined_agreement_is_refused(measure, given, options, message):
    with pytest.raises(InputError, match=message):
        measure(*given, **options)


TABLE = [[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]]


@pytest.mark.parametrize(("weights", "power"), [("none", 0), ("linear", 1), ("quadratic", 2)])
def test_kappa_of_ratings_is_that_of_their_table(weights, power):
    counts = np.round(np.array(TABLE) * 200).astype(int)
    pairs = [(i, j) for i in range(3) for j in range(3) for _ in range(counts[i, j])]
    first, second = zip(*pairs, strict=True)
    estimate, observed = stats.cohen_kappa(first, second, weights=weights), counts / counts.sum()
    chance = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    apart = np.abs(np.subtract.outer(np.arange(3), np.arange(3))).astype(float)
    penalty = np.where(apart > 0, apart**power, 0)
    apart = (penalty * observed).sum() / (penalty * chance).sum()
    assert estimate.value == pytest.approx(1 - apart)
    assert estimate.low < estimate.value < estimate.high
    if weights == "none":
        assert estimate.value == pytest.approx(0.492, abs=5e-4)  # Cohen 1968
        # Cohen 1960, formula 7: standard error of kappa with p_o .70 and p_e .41.
        error = math.sqrt(0.7 * 0.3 / (200 * (1 - 0.41) ** 2))
        assert (estimate.high - estimate.low) / 2 == pytest.approx(1.96 * error, rel=0.1)
    assert stats.cohen_kappa([*first, 1, None], [*second, None, 1], weights=weights) == estimate


# Fleiss 1971, Psychological Bulletin 76, table 1: 30 patients, 6 psychiatrists, 5 diagnoses.
PATIENTS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""


def test_kappa_of_fleiss_example():
    patients = [[d for d, n in enumerate(row) for _ in range(int(n))] for row in PATIENTS.split()]
    estimate = stats.fleiss_kappa(patients)
    assert (estimate.value, estimate.n) == (pytest.approx(0.430, abs=5e-4), 30)
    assert estimate.low < 0.430 < estimate.high
    assert stats.fleiss_kappa([[f"diagnosis {d}" for d in row] for row in patients]) == estimate


def judged(items, judges, noise, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=items)[:, None] + noise * rng.normal(size=(items, judges))


def test_no_metric_beats_the_ceiling():
    given, true = judged(3000, 3, 1.2, seed=1), np.random.default_rng(1).normal(size=3000)
    estimate = stats.ceiling(given)
    assert np.corrcoef(true, given.mean(axis=1))[0, 1] == pytest.approx(estimate.value, abs=0.02)
    assert estimate.low < estimate.value < estimate.high < 1


def test_leave_one_annotator_out_and_pairs_by_hand():
    table = judged(40, 3, 1.0, seed=3)
    rest = [(table.sum(axis=1) - table[:, j]) / 2 for j in range(3)]
    expected = np.mean([scipy_stats.spearmanr(table[:, j], rest[j]).statistic for j in range(3)])
    left_out = stats.leave_one_annotator_out(table)
    assert left_out.value == pytest.approx(expected)
    pooled = stats.leave_one_annotator_out(table, pool="pairs", kind="pearson")
    assert pooled.value == pytest.approx(np.corrcoef(table.T.ravel(), np.concatenate(rest))[0, 1])
    assert pooled.n == 40
    for estimate in (left_out, pooled):
        assert estimate.low < estimate.value < estimate.high


def test_absent_judges_are_left_out():
    table = [[1, 2, None], [2, 3, 1], [3, 3, 2], [4, 5, 5], [None, 4, 4], [5, None, None]]
    estimate = stats.leave_one_annotator_out(table)
    judges = [
        scipy_stats.spearmanr([1, 2, 3, 4], [2, 2, 2.5, 5]).statistic,
        scipy_stats.spearmanr([2, 3, 3, 5, 4], [1, 1.5, 2.5, 4.5, 4]).statistic,
        scipy_stats.spearmanr([1, 2, 5, 4], [2.5, 3, 4.5, 4]).statistic,
    ]
    assert (estimate.value, estimate.n) == (pytest.approx(np.mean(judges)), 5)


@pytest.mark.parametrize("measure", [stats.krippendorff_alpha, stats.ceiling])
def test_copies_of_items_in_a_conversation_bring_nothing_new(measure):
    table = judged(30, 3, 1.0)
    alone = measure(table)
    copied = measure(np.repeat(table, 5, axis=0), groups=np.repeat(np.arange(30), 5))
    assert copied.groups == 30
    assert copied.high - copied.low == pytest.approx(alone.high - alone.low, rel=0.15)
