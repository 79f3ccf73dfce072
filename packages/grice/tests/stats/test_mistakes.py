"""Mistakes seen in other tools; each test fails where one of them is made."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

import grice.stats
from grice import stats
from grice.errors import GriceError
from grice.stats import estimate


def test_not_rejecting_is_never_called_equal():
    rng = np.random.default_rng(3)
    a = rng.normal(size=15)
    b = a + rng.normal(size=15)
    [comparison] = stats.compare_systems({"a": a, "b": b}).comparisons
    assert comparison.verdict == "no significant difference"
    text = f"{comparison} {comparison.verdict} {stats.compare_systems({'a': a, 'b': b})!r}".lower()
    assert not any(word in text for word in ("equal", "same", "no difference", "identical"))
    assert "n 15" in str(comparison)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y, **k: stats.compare_correlations({"a": x, "b": x - y}, y, **k),
        lambda x, y, **k: stats.correlation(x, y, groups=range(len(x)), **k),
        lambda x, y, **k: stats.partial_correlation(x, y, [x**2], kind="pearson", **k),
        lambda x, y, **k: stats.system_level(x, y, [i % 4 for i in range(len(x))], **k),
    ],
)
def test_resampling_is_seeded_and_says_so(call):
    rng = np.random.default_rng(4)
    x = rng.normal(size=600)
    y = x + rng.normal(size=600)
    state = np.random.get_state()[1].tolist()
    first, again, other = (call(x, y, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert "seed 1" in repr(first)
    assert np.random.get_state()[1].tolist() == state


def test_a_handful_of_systems_never_goes_without_interval():
    metric = [0.1, 0.2, 0.3, 0.5, 0.4] * 20
    human = [1, 2, 3, 4, 5] * 20
    correlation = stats.system_level(metric, human, [0, 1, 2, 3, 4] * 20).correlation
    assert correlation.value == pytest.approx(0.9)
    assert correlation.low < 0.3
    assert correlation.n == 5
    assert correlation.note
    two = stats.system_level(metric[:2], human[:2], ["a", "b"]).correlation
    assert (two.value, two.low, two.high) == (1, -1, 1)


def test_scipy_is_loaded_late_and_its_absence_explained(monkeypatch):
    code = (
        "import sys, grice.stats\n"
        "assert not {'numpy', 'scipy'} & set(sys.modules)\n"
        "grice.stats.correlation\n"
        "assert 'numpy' in sys.modules and 'scipy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(GriceError, match=r'pip install "grice\[stats\]"'):
        estimate.scipy_module("stats")


def test_every_public_name_is_there_and_sorted():
    assert grice.stats.__all__ == sorted(grice.stats.__all__)
    for name in grice.stats.__all__:
        member = getattr(stats, name)
        assert inspect.isclass(member) or inspect.isfunction(member), name
        assert member.__doc__
    with pytest.raises(AttributeError, match="no attribute 'corelation'"):
        stats.corelation  # noqa: B018
