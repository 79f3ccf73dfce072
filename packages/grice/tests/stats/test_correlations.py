import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from grice import stats
from grice.errors import InputError
from grice.stats import correlations

KINDS = ("pearson", "spearman", "kendall")
SCIPY = {
    "pearson": lambda x, y: scipy_stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: scipy_stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: scipy_stats.kendalltau(x, y).statistic,
}


def sample(n=60, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 0.6 * x + rng.normal(size=n)
    return (x, np.round(y)) if ties else (x, y)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_scipy(kind):
    x, y = sample()
    assert stats.correlation(x, y, kind=kind).value == pytest.approx(SCIPY[kind](x, y))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_copies_of_items(kind):
    rng = np.random.default_rng(3)
    x, y = sample(40)
    x, weights = np.round(x, 1), rng.multinomial(40, [1 / 40] * 40, size=6).astype(float)
    values = correlations.weighted_correlations(x[:, None], y, kind)(weights)[:, 0]
    for row, value in zip(weights.astype(int), values, strict=True):
        a, b = np.repeat(x, row), np.repeat(y, row)
        assert value == pytest.approx(SCIPY[kind](a, b), abs=1e-9)


def test_spearman_interval_of_bonett_and_wright():
    # Bonett, Statistical Methods for Psychologists, 2021: the example of ci.spear in statpsych.
    y = [21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19]
    estimate = stats.correlation([67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51], y)
    assert estimate.value == pytest.approx(0.8699639, abs=1e-7)
    assert estimate.low == pytest.approx(0.5840951, abs=1e-7)
    assert estimate.high == pytest.approx(0.9638297, abs=1e-7)


def test_error_of_kendall_is_that_of_leaving_items_out():
    x, y = sample(400, 5)
    tau = SCIPY["kendall"](x, y)
    left = [SCIPY["kendall"](np.delete(x, i), np.delete(y, i)) for i in range(400)]
    jackknife = math.sqrt(399 / 400 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert correlations.kendall_error(x, y, tau=tau) == pytest.approx(jackknife, rel=0.02)


def test_conversations_that_resemble_themselves_widen_the_interval():
    # Ten copies of each item bring nothing new: the interval is that of the items alone.
    x, y = sample(50, 4)
    alone = stats.correlation(x, y, groups=range(50))
    x, y = np.repeat(x, 10), np.repeat(y, 10)
    copies = stats.correlation(x, y, groups=np.repeat(np.arange(50), 10))
    assert copies.value == pytest.approx(alone.value)
    assert (copies.low, copies.high) == pytest.approx((alone.low, alone.high), abs=0.02)
    assert (copies.n, copies.groups) == (500, 50)
    naive = stats.correlation(x, y)
    assert naive.high - naive.low < 0.5 * (copies.high - copies.low)


def test_heavy_tails_are_marked():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    assert stats.correlation(x, y, kind="pearson").note is None
    heavy = stats.correlation(np.exp(2 * x), y, kind="pearson")
    assert "heavy tails" in heavy.note
    assert "see Spearman's" in heavy.note
    assert stats.correlation(np.exp(2 * x), y, kind="spearman").note is None


def test_jackknife_is_that_of_leaving_conversations_out():
    x, y = sample(60, 6, ties=False)
    code = np.repeat(np.arange(12), 5)
    estimate = stats.correlation(x, y, kind="pearson", groups=code)
    left = np.arctanh([np.corrcoef(x[code != g], y[code != g])[0, 1] for g in range(12)])
    error = math.sqrt(11 / 12 * np.sum((left - left.mean()) ** 2))
    freedom = min(11, 2 * 12 / (scipy_stats.kurtosis(left, fisher=False) - 1))
    half, z = scipy_stats.t.ppf(0.975, freedom) * error, math.atanh(np.corrcoef(x, y)[0, 1])
    assert estimate.interval == pytest.approx((math.tanh(z - half), math.tanh(z + half)))
    assert "jackknife over conversations" in estimate.method
    assert "seed" not in estimate.method  # nothing was drawn


def test_order_of_items_and_names_of_groups_do_not_matter():
    x, y = sample(80)
    groups, shuffled = np.repeat(np.arange(20), 4), np.random.default_rng(1).permutation(80)
    estimate = stats.correlation(x, y, groups=groups, seed=3)
    assert estimate == stats.correlation(x[shuffled], y[shuffled], groups=groups[shuffled], seed=3)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=4, max_size=30),
    st.booleans(),
    st.sampled_from(KINDS),
)
def test_an_interval_or_a_reason_but_never_nan(pairs, grouped, kind):
    x, y = zip(*pairs, strict=True)
    groups = range(len(x)) if grouped else None
    if len(set(x)) == 1 or len(set(y)) == 1:
        with pytest.raises(InputError, match="never changes"):
            stats.correlation(x, y, kind=kind, groups=groups)
        return
    estimate = stats.correlation(x, y, kind=kind, groups=groups)
    assert -1 <= estimate.value <= 1
    if estimate.low is None:
        assert estimate.note
    else:
        assert -1 <= estimate.low <= estimate.high <= 1
    assert (estimate.note is not None) or estimate.n >= 10


def test_missing_values_leave_the_pair_out_and_n_says_so():
    x, y = sample(30)
    gaps = [None if i % 3 == 0 else float(v) for i, v in enumerate(x)]
    other = [float("nan") if i == 1 else float(v) for i, v in enumerate(y)]
    kept = [i for i in range(30) if i % 3 and i != 1]
    estimate = stats.correlation(gaps, other)
    assert estimate == stats.correlation(x[kept], y[kept])
    assert estimate.n == len(kept) == 19


def test_a_handful_of_systems_gets_a_wide_interval():
    assert stats.correlation([1, 2], [3, 4]).note.startswith("2 items bound no correlation")
    for n, kind in itertools.product((2, 3), KINDS):
        estimate = stats.correlation(range(n), range(n), kind=kind)
        assert (estimate.value, estimate.low, estimate.high) == (1, -1, 1)
    for kind, n in itertools.product(("spearman", "kendall"), (5, 8)):
        estimate = stats.correlation(range(n), range(n), kind=kind)
        assert estimate.value == pytest.approx(1)
        assert estimate.low < 0.97
        assert "rough guide" in estimate.note
    assert stats.correlation(range(5), range(5)).low < stats.correlation(range(8), range(8)).low


@pytest.mark.parametrize(("x", "y", "options", "message"), [
    ([1, 1, 1], [1, 2, 3], {}, "x is 1 on all 3 items"),
    ([1, 2, 3], [None, 2, None], {}, "1 of 3 items have a value of x and y"),
    ([1, 2, 3], [1, 2], {}, "x 3, y 2"),
    ([1, 2, float("inf")], [1, 2, 3], {}, r"x\[2\] is infinite"),
    ([1, 2, "three"], [1, 2, 3], {}, "found 'three'"),
    ([1, 2, 3], [1, 3, 2], {"kind": "spearmann"}, "did you mean 'spearman'"),
    ([1, 2, 3], [1, 3, 2], {"groups": [1, 2]}, "found 2 for 3 items"),
    ([1, 2, 3], [1, 3, 2], {"groups": ["a", None, "b"]}, r"groups\[1\] is None"),
    ([[1], [2]], [[1], [2]], {}, "one number per item"),
])  # fmt: skip
def test_bad_input_is_named(x, y, options, message):
    with pytest.raises(InputError, match=message):
        stats.correlation(x, y, **options)


def test_partial_correlation_is_that_of_residuals_of_ranks():
    rng = np.random.default_rng(6)
    columns = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    x, y, *given = columns.T
    estimate = stats.partial_correlation(x, y, given)
    ranks = scipy_stats.rankdata(columns, axis=0)
    design = np.column_stack([np.ones(50), ranks[:, 2:]])
    left = [c - design @ np.linalg.lstsq(design, c, rcond=None)[0] for c in ranks[:, :2].T]
    assert estimate.value == pytest.approx(np.corrcoef(*left)[0, 1])
    assert estimate.low < estimate.value < estimate.high
    assert "given 2 covariates" in estimate.method


@pytest.mark.parametrize(("x", "y", "covariate", "message"), [
    ([1, 2, 3, 4, 5, 7], [1, 3, 2, 5, 4, 9], [1, 2, 3, 4, 5, 7], "determined by the others"),
    ([1, 2, 3], [1, 3, 2], [1, 4, 2], "at least 5 are needed"),
])  # fmt: skip
def test_partial_correlation_takes_enough_items(x, y, covariate, message):
    with pytest.raises(InputError, match=message):
        stats.partial_correlation(x, y, [covariate])


def test_correlation_within_contexts_leaves_constant_ones_out():
    x = [1, 2, 3, 3, 2, 1, 5, 5, 5, 1]
    estimate = stats.correlation_within(x, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1], list("aaabbbcccd"))
    assert estimate.value == pytest.approx(0)
    assert (estimate.n, estimate.groups) == (6, 2)
    assert "2 of 4 contexts left out" in estimate.note
    with pytest.raises(InputError, match="none of 1 contexts"):
        stats.correlation_within([1, 1], [1, 2], ["a", "a"])
    alone = stats.correlation_within([1, 2, 3], [1, 3, 2], ["a"] * 3)
    assert alone.low is None
    assert "the variance cannot be estimated" in alone.note


MIX = np.linalg.cholesky([[1, 0.6, 0.3], [0.6, 1, 0.5], [0.3, 0.5, 1]]).T


def three(n, seed):
    human, good, weak = (np.random.default_rng(seed).normal(size=(n, 3)) @ MIX).T
    return human, {"good": good, "weak": weak}


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_better_metric_is_told_apart(kind):
    human, metrics = three(200, 1)
    result = stats.compare_correlations(metrics, human, kind=kind, permutations=800)
    [comparison] = result.comparisons
    assert comparison.verdict == "first higher"
    assert comparison.difference.low > 0
    assert comparison.p_value < 0.01
    assert result.clusters == (("good",), ("weak",))
    assert comparison.difference.value == pytest.approx(
        result.estimates["good"].value - result.estimates["weak"].value
    )
    metrics["third"] = metrics["good"] + metrics["weak"]
    result = stats.compare_correlations(metrics, human, baseline="weak", permutations=200)
    pairs = [(c.first, c.second) for c in result.comparisons]
    assert (pairs, result.clusters) == ([("good", "weak"), ("third", "weak")], ())


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_the_p_value_is_the_share_of_swaps_at_least_as_far_apart(kind):
    human, metrics = np.arange(6), np.array([[0, 1, 3, 2, 4, 5], [2, 5, 1, 0, 3, 4]])
    apart = []
    for swapped in itertools.product([False, True], repeat=6):
        good, weak = np.where(swapped, metrics[::-1], metrics)
        values = [np.corrcoef(column, human)[0, 1] for column in (good, weak)]
        apart.append(abs(values[0] - values[1]))
    expected = np.mean(np.array(apart) >= apart[0] - 1e-9)
    assert 0.01 < expected < 0.5
    named = dict(zip(("good", "weak"), metrics, strict=True))
    [comparison] = stats.compare_correlations(named, human, kind=kind).comparisons
    assert comparison.p_value == pytest.approx(expected)
    assert "all 64 swaps" in comparison.test


@pytest.mark.parametrize(("names", "human", "options", "message"), [
    (("good", "weak"), None, {"baseline": "god"}, "did you mean 'good'"),
    (("good",), None, {}, "at least two"),
    (("good", "weak"), [3.0] * 20, {}, "human is 3 on all 20 items"),
])  # fmt: skip
def test_impossible_comparisons_are_refused(names, human, options, message):
    ratings, metrics = three(20, 2)
    given = {name: metrics[name] for name in names}
    with pytest.raises(InputError, match=message):
        stats.compare_correlations(given, human or ratings, **options)
