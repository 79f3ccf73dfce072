import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from grice import stats
from grice.errors import InputError


def metric_and_human(n, seed, closeness=0.8):
    rng = np.random.default_rng(seed)
    metric = rng.normal(size=n)
    human = 3 + closeness * metric + math.sqrt(1 - closeness**2) * rng.normal(size=n)
    return metric / 10, human  # the metric is on a scale of its own


def test_powered_mean_is_the_formula_of_the_paper_with_the_error_of_the_jackknife():
    f, y = metric_and_human(300, 0)
    result = stats.prediction_powered_mean(y[:50], f[:50], f[50:])
    # PPI++, example 6.1: lambda = cov(y, f) / ((1 + n/N) var f), with f's variance of each part.
    ours, labelled = np.var(f[50:]), np.var(f[:50])
    weight = np.cov(y[:50], f[:50], bias=True)[0, 1] / (labelled + 50 / 250 * ours)
    assert result.weight == pytest.approx(weight)
    value = y[:50].mean() + weight * (f[50:].mean() - f[:50].mean())
    assert result.mean.value == pytest.approx(value)
    f[:50], y[:50] = np.append(f[:25], -f[:25]), np.append(y[:25], 6 - y[:25])  # without skewness
    even = stats.prediction_powered_mean(y[:50], f[:50], f[50:])
    left = [np.arange(50) != i for i in range(50)]
    means = [stats.prediction_powered_mean(y[:50][k], f[:50][k], f[50:]).mean.value for k in left]
    error = math.sqrt(49 * np.var(means) + even.weight**2 * ours / 250)
    half = scipy_stats.t.ppf(0.975, 49) * error
    assert (even.mean.high - even.mean.low) / 2 == pytest.approx(half, rel=0.01)


def test_a_good_metric_is_worth_labels_and_a_useless_one_costs_nothing():
    f, y = metric_and_human(5000, 2, closeness=0.9)
    good, plain = stats.prediction_powered_mean(y[:60], f[:60], f[60:]), stats.mean(y[:60])
    assert good.mean.high - good.mean.low < 0.6 * (plain.high - plain.low)
    assert good.worth > 150
    noise = np.random.default_rng(0).normal(size=5000)
    useless = stats.prediction_powered_mean(y[:60], noise[:60], noise[60:])
    assert useless.mean.high - useless.mean.low < 1.03 * (plain.high - plain.low)
    constant = stats.prediction_powered_mean(y[:60], [1] * 60, [1] * 100)
    assert (constant.weight, constant.mean.value) == (0, pytest.approx(plain.value))


def test_conversations_with_both_kinds_of_items_count_once():
    f, y = metric_and_human(400, 3)
    rest = {"groups": range(30), "unlabelled_groups": range(30, 400)}
    alone = stats.prediction_powered_mean(y[:30], f[:30], f[30:])
    grouped = stats.prediction_powered_mean(y[:30], f[:30], f[30:], **rest)
    assert grouped.mean.value == alone.mean.value
    copied = stats.prediction_powered_mean(
        np.repeat(y[:30], 3), np.repeat(f[:30], 3), np.repeat(f[30:], 3),
        groups=np.repeat(range(30), 3), unlabelled_groups=np.repeat(range(30, 400), 3),
    )  # fmt: skip
    assert (copied.mean.low, copied.mean.high) == pytest.approx((alone.mean.low, alone.mean.high))


def test_the_interval_reaches_farther_to_the_side_of_rare_ratings():
    f, y = metric_and_human(400, 5)
    ratings = np.digitize(y, [0.7, 1.2, 1.6, 1.9])
    found = stats.prediction_powered_mean(ratings[:40], f[:40], f[40:]).mean
    assert found.value - found.low > 1.3 * (found.high - found.value)


def test_a_mean_that_the_metric_moves_beyond_a_bound_is_the_bound_with_an_interval():
    y, f = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1], [0.8, 0.9, 1, 0, 0.9, 0.8, 1, 0.9, 0.8, 1]
    free = stats.prediction_powered_mean(y, f, [1.0] * 90).mean
    bounded = stats.prediction_powered_mean(y, f, [1.0] * 90, bounds=(0, 1)).mean
    assert free.value > 1
    assert bounded.value == bounded.high == 1
    assert 0.6 < bounded.low < 0.8  # Wilson's of 10 of 10


@pytest.mark.parametrize(("labels", "unlabelled", "options", "message"), [
    ([1, 2, None], [1, 2, 3], {}, "2 labelled items and 3 unlabelled"),
    ([1, 2, 3], [None], {}, "0 unlabelled"),
    ([1, 2, 3], [1], {"groups": [1, 2, 3]}, "both groups and unlabelled_groups"),
    ([1, 2, 3], [1], {"groups": [1, 2], "unlabelled_groups": [1]}, "found 3 for 4 items"),
    ([1, 2, 3], [1], {"groups": [1, 2], "unlabelled_groups": [1, 2]}, "found 2 for 3 items"),
    ([0, 1, 3], [1], {"bounds": (0, 1)}, "3 lies outside"),
])  # fmt: skip
def test_labels_that_give_no_mean_are_refused(labels, unlabelled, options, message):
    with pytest.raises(InputError, match=message):
        stats.prediction_powered_mean(labels, [1, 2, 3], unlabelled, **options)


@pytest.mark.parametrize(
    ("labels", "note"), [(9, "fewer than 10 labels: the interval is a rough guide"), (10, None)]
)
def test_fewer_than_ten_labels_are_noted(labels, note):
    f, y = metric_and_human(50, 4)
    assert stats.prediction_powered_mean(y[:labels], f[:labels], f[labels:]).mean.note == note


def rated(n, seed, groups=None):
    rng = np.random.default_rng(seed)
    metric = rng.uniform(size=n)
    shift = 0 if groups is None else 0.5 * rng.normal(size=n)[groups]
    human = 1 + 4 * metric**2 + shift + 0.5 * rng.normal(size=n)
    return metric, np.clip(np.round(human), 1, 5)


def test_map_rises_and_stays_on_the_scale():
    metric, human = rated(400, 0)
    fit = stats.fit_human_scale(metric, human, scale=(1, 5))
    assert (list(fit.knots), list(fit.ratings)) == (sorted(fit.knots), sorted(fit.ratings))
    assert (fit.n_fit, fit.n_calibration) == (200, 200)
    for value in (-1, 0.1, 0.5, 0.9, 2):
        band = fit.at(value)
        assert 1 <= band.low <= band.value <= band.high <= 5
    assert fit.at(0.9).value == pytest.approx(1 + 4 * 0.81, abs=0.3)
    assert fit.at(-1) == fit.at(min(fit.knots))
    assert fit == stats.fit_human_scale(metric, human, scale=(1, 5))
    assert fit != stats.fit_human_scale(metric, human, scale=(1, 5), seed=1)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.9])
def test_bands_hold_as_many_new_items_as_promised(grouped, level):
    inside = []
    for seed in range(250):
        groups = np.repeat(np.arange(26), 4) if grouped else None
        metric, human = rated(104, seed, groups)
        new = groups == 25 if grouped else np.arange(104) == 103
        fit = stats.fit_human_scale(
            metric[~new], human[~new], scale=(1, 5), level=level, seed=seed,
            groups=groups[~new] if grouped else None,
        )  # fmt: skip
        for x, y in zip(metric[new], human[new], strict=True):
            band = fit.at(x)
            inside.append(band.low <= y <= band.high)
    assert np.mean(inside) >= level - 0.035
    assert np.mean(inside) <= level + 0.09


def test_a_radius_of_too_few_items_is_the_whole_scale():
    metric, human = rated(16, 0)
    fit = stats.fit_human_scale(metric, human, scale=(1, 5), level=0.95)
    assert fit.radius is None
    assert (fit.at(0.5).low, fit.at(0.5).high) == (1, 5)
    assert stats.fit_human_scale(metric, human, scale=(1, 5), level=0.8).radius is not None


def test_scale_says_what_it_cannot():
    with pytest.raises(InputError, match="6 lies outside of the bounds 1 to 5"):
        stats.fit_human_scale([1, 2, 3, 4], [1, 2, 3, 6], scale=(1, 5))
    with pytest.raises(InputError, match="2 conversations with both values"):
        stats.fit_human_scale([1, 2, 3, 4], [1, 2, 3, 4], scale=(1, 5), groups="aabb")
