from collections import Counter

import pytest

from fake_metrics import FakeContext, ValueMetric, figure_of
from grice_research.benches import minimal_pairs
from grice_research.benches._turns import FETCHED, shipped_metrics
from grice_research.benches.minimal_pairs import ALL, MinimalPair
from grice_research.published import find_task

PAIRS = [
    MinimalPair("dull", ("Hi.", "Hello.", "I won!"), "Great, tell me more!", "Okay."),
    MinimalPair("dull", ("We lost.",), "Oh no.", "That is good news."),
    MinimalPair("time", ("See you at noon.",), "See you then.", "See you then."),
]


def letters(name, talk):
    """Return the length of the last turn, or for the metric of conversations that of all."""
    return sum(len(turn.text) for turn in (talk.turns if name == "coherence" else talk.turns[-1:]))


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(minimal_pairs, "read_pairs", lambda: PAIRS)

    def metric(name):
        return ValueMetric(name, letters, ("coherence",))

    return list(minimal_pairs.measure(FakeContext(metric, missing=("likelihood",))))


def test_the_good_reply_must_score_higher_and_ties_count_half(rows):
    assert figure_of(rows, "relevance", "share right", ALL).value == pytest.approx(0.5)
    assert figure_of(rows, "relevance", "share right", "dull").value == 0.5
    assert figure_of(rows, "relevance", "share right", "time").value == 0.5
    share = figure_of(rows, "coherence", "share right", ALL)
    assert (share.value, share.n) == (pytest.approx(0.5), 3)
    signature = figure_of(rows, "relevance", "share right", ALL).signature
    assert signature == "relevance:1|mode:fast|on:minimal_pairs"


def test_trivial_baselines_stand_beside(rows):
    shorter = figure_of(rows, "bad at least as long", "share right", ALL)
    assert shorter.value == pytest.approx(2 / 3)
    assert shorter.kind == "baseline"
    own = figure_of(rows, "cosine_own_turns", "share right", "time")
    assert own.value == 0.5, "nobody said anything before"
    gap = figure_of(rows, "relevance less cosine_last_turn", "difference of share right", ALL)
    assert gap.value == 0.0


def test_every_default_metric_is_measured_or_named_if_its_model_was_not_fetched(rows):
    found = {row.row for row in rows if row.measure == "share right" and row.kind == "ours"}
    assert found | {"likelihood"} == {*shipped_metrics(), *FETCHED}
    (row,) = [row for row in rows if row.metric == "likelihood" or row.row == "likelihood"]
    assert row.value is None
    assert row.why == "the model of likelihood is not here"


def test_the_pairs_hold_no_cue_of_length_and_every_kind_as_often():
    pairs = minimal_pairs.read_pairs()
    assert set(Counter(pair.kind for pair in pairs).values()) == {30}
    assert len({(pair.history, pair.good) for pair in pairs}) == len(pairs) == 360
    at_least_as_long = sum(len(pair.bad) >= len(pair.good) for pair in pairs)
    assert at_least_as_long / len(pairs) == pytest.approx(0.5, abs=0.05)
    assert find_task("minimal-pairs").title == minimal_pairs.TITLE
