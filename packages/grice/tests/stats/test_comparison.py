import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats as scipy_stats

from grice import stats
from grice.errors import GriceError, InputError
from grice.stats import estimate
from grice.stats.comparison import proportion


def paired(n, gap, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n)
    return hard + gap + noise * rng.normal(size=n), hard + noise * rng.normal(size=n)


def test_mean_is_students():
    # Four values about their middle have no skewness to correct.
    even = stats.mean([0.2, 0.4, 0.6, 0.8])
    low, high = scipy_stats.ttest_1samp([0.2, 0.4, 0.6, 0.8], 0).confidence_interval()
    assert (even.low, even.high) == pytest.approx((low, high), abs=0.001)
    assert "fewer than 10 items" in even.note


def test_clustered_mean_is_that_of_the_streaming_one():
    rng = np.random.default_rng(0)
    clusters = [rng.normal(size=rng.integers(1, 6)) for _ in range(30)]
    streamed = stats.ClusteredMean()
    for cluster in clusters:
        streamed.add(cluster)
    expected = streamed.estimate()
    groups = [i for i, cluster in enumerate(clusters) for _ in cluster]
    estimate = stats.mean(np.concatenate(clusters), groups=groups)
    assert estimate.value == pytest.approx(expected.value)
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_means_and_shares_of_too_little_have_no_interval():
    with pytest.raises(InputError, match="0 of 1 items"):
        stats.mean([None])
    for unknown in (stats.mean([1]), stats.mean([1, 2], groups="aa"), proportion([1.0], [4])):
        assert unknown.low is None
    assert proportion([0.0], [0]) is None
    for level in (0, 1, 95):
        with pytest.raises(InputError, match=f"level={level}: .* lies between 0 and 1"):
            stats.mean([1, 2, 3, 4], level=level)


def test_paired_comparison_sees_what_the_items_share():
    a, b = paired(100, 0.25)
    result = stats.compare_systems({"a": a, "b": b})
    [comparison] = result.comparisons
    assert comparison.verdict == "first higher"
    assert comparison.test == "paired permutation, 2000 random swaps, seed 0 of items"
    assert result.clusters == (("a",), ("b",))
    # The two intervals overlap: the comparison is about the differences.
    assert result.estimates["a"].low < result.estimates["b"].high
    t = scipy_stats.ttest_rel(a, b)
    low, high = t.confidence_interval()
    assert comparison.difference.interval == pytest.approx((low, high), abs=0.02)
    assert comparison.p_value == pytest.approx(t.pvalue, abs=0.01)
    small = stats.compare_systems({"a": a / 99, "b": b / 99}).comparisons[0].difference
    assert [99 * end for end in small.interval] == pytest.approx(comparison.difference.interval)
    assert comparison.d_z == pytest.approx((a - b).mean() / (a - b).std(ddof=1))
    assert comparison.dominance == pytest.approx((a > b).mean() - (a < b).mean())


def test_permutation_is_that_of_scipy():
    a, b = paired(12, 0.4, seed=3)
    ours = stats.compare_systems({"a": a, "b": b}, permutations=5000).comparisons[0]
    theirs = scipy_stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert "all 4096 swaps" in ours.test
    assert ours.p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("groups", [None, "aabcdefgh"])
@pytest.mark.parametrize(("seed", "end", "outside"), [(0, 0, -1e-6), (8, 1, 1e-6)])
def test_an_interval_holds_what_the_permutation_test_does_not_reject(seed, end, outside, groups):
    gap = np.random.default_rng(seed).standard_t(2, 9)

    def compared(less):
        return stats.compare_systems({"a": gap - less, "b": [0] * 9}, groups=groups).comparisons[0]

    bound = compared(0).difference.interval[end]
    assert compared(bound + outside).p_value <= 0.05 < compared(bound - outside).p_value


@pytest.mark.parametrize(("worse", "bounds", "ends"), [
    (0, None, (0, 0)), (0, (0, math.inf), (0, 0)), (0, (1, 5), (-0.2326, 0.2326)),
    (0, (0, 1), (-0.0582, 0.0582)), (1, None, (-0.023, 0.011)), (6, (0, 1), (-0.054, -0.003)),
])  # fmt: skip
def test_where_few_replies_change_the_interval_allows_for_changes_not_seen(worse, bounds, ends):
    before = np.full((50, 4), 1.0)
    after = before.copy()
    after[:worse, 0] = 0.15
    scores, groups = {"b": after.ravel(), "a": before.ravel()}, np.repeat(np.arange(50), 4)
    ranking = stats.compare_systems(scores, groups=groups, bounds=bounds)
    gap = ranking.comparisons[0].difference
    assert (gap.interval, gap.note is None) == (pytest.approx(ends, abs=5e-4), worse > 0)
    assert ranking.comparisons[0].p_value == 1 or worse == 6


def test_large_conversations_without_a_change_count_for_fewer():
    scores = {"a": [0.5] * 18, "b": [0.5] * 18}  # 18 * 18 replies by the sum of squared sizes
    groups, gap = np.repeat(np.arange(6), [1, 1, 1, 7, 7, 1]), 1 - 0.05 ** (102 / 324)
    [comparison] = stats.compare_systems(scores, groups=groups, bounds=(0, 1)).comparisons
    assert comparison.difference.interval == pytest.approx((-gap, gap))
    [comparison] = stats.compare_systems(scores, groups=[0] * 18, bounds=(0, 1)).comparisons
    assert comparison.difference.interval is None


def test_conversations_are_swapped_whole():
    a, b = paired(30, 0.2, seed=1)
    alone = stats.compare_systems({"a": a, "b": b}, permutations=8000).comparisons[0]
    copies = {"a": np.repeat(a, 6), "b": np.repeat(b, 6)}
    copied, naive = (
        stats.compare_systems(copies, groups=groups, permutations=8000).comparisons[0]
        for groups in (np.repeat(np.arange(30), 6), None)
    )
    assert copied.p_value == pytest.approx(alone.p_value, abs=0.02)
    assert naive.p_value < copied.p_value / 3
    assert copied.difference.groups == 30


def test_many_systems_are_corrected_and_grouped():
    rng = np.random.default_rng(5)
    base, names = rng.normal(size=200), {"best": 1.0, "good": 0.5, "fair": 0.48, "poor": 0.0}
    scores = {name: base + shift + 0.6 * rng.normal(size=200) for name, shift in names.items()}
    result = stats.compare_systems(scores)
    assert [{*names} for names in result.clusters] == [{"best"}, {"good", "fair"}, {"poor"}]
    assert len(result.comparisons) == 6
    assert all(comparison.p_value >= comparison.p_single for comparison in result.comparisons)
    # By default there are enough swaps that a clear difference survives the correction.
    assert min(comparison.p_value for comparison in result.comparisons) < 0.01
    eleven = stats.compare_systems({str(i): np.roll(base[:20], i) for i in range(11)})
    assert "11000 random swaps" in eleven.comparisons[0].test


def test_missing_values_drop_the_item_for_all():
    a, b = paired(20, 0.3)
    a[3] = math.nan
    result = stats.compare_systems({"a": a, "b": b})
    assert (result.n, result.dropped) == (19, 1)
    with pytest.raises(InputError, match="1 of 3 items have a value of x and y"):
        stats.compare_systems({"x": [1, None, None], "y": [1, 2, 3]})


def test_corrections_of_a_worked_example():
    # Wright 1992, Biometrics 48: Holm as R's p.adjust gives it.
    holm = stats.holm([0.05, 0.02, 0.03, 0.04, 0.01])
    assert holm == pytest.approx([0.09, 0.08, 0.09, 0.09, 0.05])
    assert (stats.holm([0.4, 0.6]), stats.holm([0.6, 0.7])) == ([0.8, 0.8], [1, 1])
    assert stats.holm([]) == []
    with pytest.raises(InputError, match="between 0 and 1"):
        stats.holm([1.5])


@pytest.mark.parametrize(
    ("middle", "clusters"), [(0.35, (("a", "b", "c"),)), (0.65, (("a", "b"), ("c",)))]
)
def test_clusters_break_only_where_all_above_beat_all_below(middle, clusters):
    noise = np.random.default_rng(0).normal(size=(60, 3))
    noise -= noise.mean(axis=0)  # so that the means are exactly those given
    c, b, a = (noise + np.array([0, middle, 0.7])).T
    result = stats.compare_systems({"c": c, "b": b, "a": a})
    unclear = [pair.verdict == "no significant difference" for pair in result.comparisons]
    assert unclear == [middle < 0.5, False, True]  # of c and b, c and a, b and a
    assert result.clusters == clusters


def test_power_is_that_of_the_t_test_in_cohens_table():
    # Cohen 1988, table 2.4.1: d 0.5, two-sided 5 %, power 0.8: 33 pairs (31.4 by the normal).
    gap = np.random.default_rng(0).normal(size=20)
    gap = (gap - gap.mean()) / gap.std(ddof=1)
    needed = stats.items_needed(gap, np.zeros(20), difference=0.5)
    assert needed.total == 32
    assert (needed.now, needed.more) == (20, 12)
    assert stats.items_needed(gap, np.zeros(20), difference=needed.detectable).more <= 1


def test_power_counts_conversations():
    a, b = paired(40, 0.1)
    alone = stats.items_needed(a, b, difference=0.1)
    copied = stats.items_needed(
        np.repeat(a, 5), np.repeat(b, 5), difference=0.1, groups=np.repeat(np.arange(40), 5)
    )
    assert (copied.now, copied.unit) == (40, "conversations")
    assert copied.total == pytest.approx(alone.total, rel=0.01)
    assert stats.items_needed(a, b, difference=10).more == 0
    for options, message in (
        ({"difference": 0}, "above 0"),
        ({"difference": 1, "groups": ["x"] * 40}, "estimate the variance"),
    ):
        with pytest.raises(InputError, match=message):
            stats.items_needed(a, b, **options)


@pytest.mark.parametrize("values", [[1, 1, 0], [1, 1, 1], [0.2, 0.9, 0.1, 1.0]])
def test_a_mean_and_a_difference_stay_within_the_bounds(values):
    estimate = stats.mean(values, bounds=(0, 1))
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    other = [1 - value for value in values]
    gap = stats.compare_systems({"a": values, "b": other}, bounds=(0, 1)).comparisons[0].difference
    assert -1 <= gap.low <= gap.value <= gap.high <= 1


@pytest.mark.parametrize(("values", "bounds", "message"), [
    ([0.5, 1.5], (0, 1), "1.5 lies outside of the bounds 0 to 1"),
    ([0.5, 0.6], (1, 0), "the least possible value and a greater one"),
])  # fmt: skip
def test_bounds_that_the_values_break_are_refused(values, bounds, message):
    with pytest.raises(InputError, match=message):
        stats.mean(values, bounds=bounds)
    with pytest.raises(InputError, match=message):
        stats.compare_systems({"a": values, "b": values}, bounds=bounds)


def test_a_share_in_conversations_has_wilsons_interval_of_as_many_items_as_vary_alike():
    hits, sizes = np.array([3, 0, 1, 4]), np.array([3, 2, 2, 4])
    share, n = hits.sum() / sizes.sum(), sizes.sum()
    variance = 4 / 3 * ((hits - share * sizes) ** 2).sum() / n**2
    ratio = scipy_stats.norm.ppf(0.975) / scipy_stats.t.ppf(0.975, 3)
    ends = estimate.wilson_interval(share, share * (1 - share) / variance * ratio**2)
    assert proportion(hits, sizes).interval == pytest.approx(ends, abs=2e-3)
    # Without a hit no spread shows: a conversation counts as one item.
    ends = estimate.wilson_interval(0, 11**2 / (9 + 4 + 4 + 16))
    assert proportion(0 * hits, sizes).interval == pytest.approx(ends)
    assert proportion([1.0, 0.0]).interval is not None


@pytest.mark.parametrize("call", [
    lambda x, y, **k: stats.compare_correlations({"a": x, "b": x - y}, y, **k),
    lambda x, y, **k: stats.correlation(x, y, groups=range(len(x)), **k),
    lambda x, y, **k: stats.partial_correlation(x, y, [x**2], groups=range(len(x)), **k),
    lambda x, y, **k: stats.system_level(x, y, [i % 4 for i in range(len(x))], **k),
])  # fmt: skip
def test_resampling_is_seeded_and_says_so(call):
    rng = np.random.default_rng(4)
    x = rng.normal(size=600)
    y, state = x + rng.normal(size=600), np.random.get_state()[1].tolist()
    first, again, other = (call(x, y, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert "seed 1" in repr(first)
    assert np.random.get_state()[1].tolist() == state


def test_a_handful_of_systems_never_goes_without_interval():
    metric, human = [0.1, 0.2, 0.3, 0.5, 0.4] * 20, [1, 2, 3, 4, 5] * 20
    correlation = stats.system_level(metric, human, [0, 1, 2, 3, 4] * 20).correlation
    assert correlation.value == pytest.approx(0.9)
    assert correlation.low < 0.3
    assert correlation.n == 5
    assert correlation.note
    two = stats.system_level(metric[:2], human[:2], ["a", "b"]).correlation
    assert (two.value, two.low, two.high) == (1, -1, 1)


def test_scipy_is_loaded_late_and_its_absence_explained(monkeypatch):
    loaded = "print({'numpy', 'scipy'} & set(sys.modules));"
    code = f"import sys, grice.stats; {loaded} grice.stats.correlation; {loaded}"
    assert subprocess.check_output([sys.executable, "-c", code]).split() == [b"set()", b"{'numpy'}"]
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(GriceError, match=r'pip install "grice\[stats\]"'):
        estimate.scipy_module("stats")


def test_every_public_name_is_there_and_sorted():
    assert stats.__all__ == sorted(stats.__all__)
    assert all(getattr(stats, name).__doc__ for name in stats.__all__)
    with pytest.raises(AttributeError, match="no attribute 'corelation'"):
        stats.corelation  # noqa: B018
