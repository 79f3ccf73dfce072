"""A metric runs by default only where recorded figures show that it beats trivial baselines."""

from __future__ import annotations

from pathlib import Path

import pytest

from grice.metrics.registry import find_metrics
from grice_research.comparisons import (
    REFINED,
    SEEN,
    Comparison,
    Limits,
    Recorded,
    earned,
    limits_of,
    verdict_on,
)
from grice_research.runs import read_runs

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def compared(on, gap, *, baseline="log_length", value=0.5, half=0.05, of=None, trained=0.0,
             measure="spearman"):  # fmt: skip
    return Comparison(on, measure, value, value - half, value + half, 300, baseline,
                      value - gap if of is None else of, (gap, gap - half, gap + half),
                      trained=trained)  # fmt: skip


def known(*comparisons):
    return Recorded({"made": Limits("made:2|mode:exact", comparisons)}, ("log_length",))


def test_a_set_where_every_baseline_is_beaten_shows_it():
    record = known(
        compared("fed_turn", 0.3),
        compared("fed_turn", 0.2, baseline="cosine_last_turn"),
        compared("conture_turn", 0.0),
    )
    shown = earned("made", record)
    assert shown.hardest.baseline == "cosine_last_turn"
    assert shown.sets == 2
    assert 0 < shown.low < 0.15, "the interval is wider than that of one set"
    assert verdict_on("made", record).startswith(
        "earned on fed_turn: Spearman 0.50 against 0.30 of cosine_last_turn, difference 0.20 "
    )


@pytest.mark.parametrize(
    ("why", "comparisons"),
    [
        ("one baseline is not beaten", [
            compared("fed_turn", 0.3), compared("fed_turn", 0.04, baseline="cosine_last_turn")]),
        ("it was trained on the set", [compared("fed_turn", 0.3, trained=SEEN)]),
        ("of twenty sets one lies above by luck", [
            compared("s0", 0.06), *(compared(f"s{i}", 0.0) for i in range(1, 20))]),
        ("short replies are the better ones, and that is beaten by nothing", [
            compared("fed_turn", 0.9, value=0.3, of=-0.6)]),
        ("it is above a baseline that is below chance, and at chance itself", [
            compared("ignore", 0.2, value=0.5, of=0.3, measure="AUC")]),
        ("nothing was measured", []),
    ],
)  # fmt: skip
def test_what_shows_nothing(why, comparisons):
    assert earned("made", known(*comparisons)) is None, why
    assert verdict_on("made", known(*comparisons)).startswith("not earned")


def test_a_metric_that_refines_a_baseline_need_not_beat_it_and_says_so(monkeypatch):
    monkeypatch.setitem(REFINED, "made", "cosine_own_turns")
    record = known(compared("a", 0.3), compared("a", 0.0, baseline="cosine_own_turns"))
    assert earned("made", record) is None
    assert earned("made", record, without="cosine_own_turns") is not None
    words = verdict_on("made", record)
    assert words.startswith("earned on a: ")
    assert words.endswith("level with cosine_own_turns, which it refines")


def test_what_was_not_measured_and_what_is_a_baseline_are_named_so():
    assert verdict_on("other", known()) == "not measured"
    assert verdict_on("log_length", known()) == "a trivial baseline itself"


@pytest.mark.parametrize("metric", find_metrics().defaults())
def test_every_default_metric_has_earned_it_by_the_recorded_figures(metric):
    content = limits_of(read_runs(RESULTS))
    assert earned(metric, content, without=REFINED.get(metric, "")) is not None
    declared = find_metrics().metrics[metric]
    measured = content.metrics[metric].signature
    assert measured.startswith(f"{metric}:{declared.version}|"), "record the benches again"
