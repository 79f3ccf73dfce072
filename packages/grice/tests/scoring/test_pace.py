"""How long a run will take, by its first seconds: on a clock of the test's own."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from grice.records import Conversation, Score, Turn
from grice.scoring.pace import Pace
from grice.stats import ClusteredMean

TALK = Conversation("a", (Turn("A", "Hello."), Turn("B", "Hi."), Turn("A", "Bye.")))
METRIC = SimpleNamespace(name="m", low=0.0, high=1.0)


def scores(*values):
    return [
        Score("a", turn, "m", value, "ok", None, (), (), "m:1")
        for turn, value in enumerate(values, 1)
    ]


class Run:
    """A run of windows of two conversations, of which each takes some seconds."""

    def __init__(self, conversations, metrics=(METRIC,)):
        self.conversations, self.read, self.now = conversations, 0, 0.0
        self.pace = Pace(metrics, lambda: self.read / conversations, lambda: self.now)

    def window(self, seconds, *values):
        self.now += seconds
        self.read += 2
        forecasts = [self.pace.add(TALK, scores(*values)) for _ in range(2)]
        return next(filter(None, forecasts), None)


def test_the_time_left_is_what_the_rest_takes_at_the_pace_so_far():
    run = Run(1000)
    forecasts = [run.window(2.0, 0.2, 0.8) for _ in range(6)]
    (forecast,) = filter(None, forecasts)
    # Eight conversations were scored in eight seconds when the fifth window came.
    assert forecasts.index(forecast) == 4
    assert forecast.seconds == pytest.approx(992)
    assert forecast.replies == pytest.approx(2)


def test_slow_conversations_are_not_waited_for():
    run = Run(100)
    assert run.window(20, 0.5) is None
    forecast = run.window(20, 0.5)
    assert forecast.seconds == pytest.approx(980)
    assert forecast.sample == 0


def test_what_was_computed_before_says_nothing_of_the_rest():
    run = Run(1000)
    for _ in range(200):
        assert run.window(0.001, 0.5) is None
    forecasts = [run.window(2.0, 0.5) for _ in range(5)]
    assert forecasts[4].seconds == pytest.approx(592)


def test_a_sample_is_as_large_as_the_spread_asks_for():
    run = Run(100_000)
    for k in range(4):
        run.window(2.0, 0.5 + 0.1 * (-1) ** k)
    forecast = run.window(2.0, 0.5)
    assert forecast.sample == 100
    assert 0.005 < forecast.within < 0.03
    assert forecast.sample_seconds == pytest.approx(100)
    wider = Run(100_000)
    for k in range(4):
        wider.window(2.0, 0.5 + 0.4 * (-1) ** k)
    assert wider.window(2.0, 0.5).sample > 100


def test_a_sample_is_the_smallest_whose_interval_is_narrow_enough():
    run, mean = Run(1_000_000), ClusteredMean((0.0, 1.0))
    others = [
        Score("a", 1, "another", 0.9, "ok", None, (), (), "another:1"),
        Score("a", 2, "m", None, "failed", "broken", (), (), "m:1"),
    ]
    for k in range(8):
        values = (0.5 + 0.3 * (-1) ** k, 0.5)
        run.now, run.read = run.now + 1.0, run.read + 1
        assert run.pace.add(TALK, [*scores(*values), *others]) is None
        mean.add(values)
    run.now += 1.0
    forecast = run.pace.add(TALK, scores(0.5))
    low, high = mean.estimate().interval
    # The width falls with the root of the number of conversations, of which eight were scored.
    half = (high - low) / 2 * math.sqrt(8)
    sizes = (100, 200, 500, 1000, 2000, 5000, 10_000)
    assert forecast.sample == next(size for size in sizes if half / math.sqrt(size) <= 0.03)
    assert forecast.within == pytest.approx(half / math.sqrt(forecast.sample))


def test_without_a_mean_of_known_range_no_sample_is_named():
    run = Run(100_000, metrics=())
    forecast = next(filter(None, (run.window(2.0, 0.5) for _ in range(6))))
    assert (forecast.sample, forecast.within) == (0, 0.0)
    assert forecast.seconds > 0


def test_a_sample_that_saves_little_is_not_named():
    run = Run(150)
    forecasts = [run.window(2.0, 0.4 + 0.1 * (k % 2)) for k in range(5)]
    assert forecasts[4].sample == 0


def test_an_input_of_unknown_length_has_no_forecast():
    run = Run(1000)
    run.pace = Pace([METRIC], lambda: 0.0, lambda: run.now)
    assert not any(run.window(5.0, 0.5) for _ in range(10))
