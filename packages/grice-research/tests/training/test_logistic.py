import numpy as np
import pytest

from grice_research.training.logistic import balanced, fit_logistic


def made(n=400, k=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, k))
    truth = rng.standard_normal(k)
    y = (rng.random(n) < 1 / (1 + np.exp(-(x @ truth + 0.5)))).astype(float)
    return x, y


@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0, np.array([0, 0, 0, 0, 100])])
def test_at_the_answer_the_slope_is_nothing(ridge):
    x, y = made()
    fit = fit_logistic(x, y, penalties=ridge)
    wrong = 1 / (1 + np.exp(-fit(x))) - y
    assert x.T @ wrong / len(y) + ridge * fit.weights == pytest.approx(0, abs=1e-4)
    assert wrong.mean() == pytest.approx(0, abs=1e-4)


def test_separable_classes_with_a_penalty_have_an_answer():
    x = np.linspace(-1, 1, 40)[:, None]
    fit = fit_logistic(x, (x[:, 0] > 0).astype(float), penalties=0.001)
    assert np.isfinite(fit.weights).all()
    assert fit(np.array([[1.0]]))[0] > 0 > fit(np.array([[-1.0]]))[0]


def test_balanced_weights_give_rare_and_frequent_labels_the_same_say():
    _, y = made(n=1000)
    y[:900] = 0
    weights = balanced(y)
    assert weights[y == 1].sum() == pytest.approx(weights[y == 0].sum())
    assert weights.mean() == pytest.approx(1)
    fit = fit_logistic(np.zeros((1000, 1)), y, penalties=1.0, weights=weights)
    assert fit.bias == pytest.approx(0, abs=1e-3)
