"""Runs over other conversations, and a gate that holds a run against an earlier one."""

import json
import random

import numpy as np
import pytest
from score_files import line, write

from grice.cli import main
from grice.evaluation.compare import compare
from grice.evaluation.gate import EVERY, Rules, gate_file
from grice.stats.comparison import compare_unpaired


def run_of(name, mean, conversations=40, replies=4, seed=0, **more):
    draw = random.Random(seed)
    return [
        line(f"{name}{c}", t, min(1.0, max(0.0, quality + draw.gauss(0, 0.05))), **more)
        for c in range(conversations)
        for quality in [draw.gauss(mean, 0.1)]
        for t in range(replies)
    ]


@pytest.fixture
def files(tmp_path):
    def written(**runs):
        return [write(tmp_path / f"{name}.jsonl", rows) for name, rows in runs.items()]

    return written


def test_other_conversations_are_compared_unpaired_and_said_so(files, capsys):
    week, next_week = files(a=run_of("x", 0.5, seed=1), b=run_of("y", 0.7, seed=2))
    result = compare(week, next_week)
    [metric] = result.metrics
    assert not result.paired
    assert metric.comparison.verdict == "first higher"
    assert metric.comparison.difference.low > 0.1
    assert "unpaired" in metric.says
    assert main(["compare", week, next_week]) == 0
    assert "they share no conversation" in capsys.readouterr().out


def test_alike_runs_over_other_conversations_do_not_differ(files):
    [metric] = compare(*files(a=run_of("x", 0.6, seed=3), b=run_of("y", 0.6, seed=4))).metrics
    low, high = metric.comparison.difference.low, metric.comparison.difference.high
    assert low < 0 < high
    assert metric.comparison.p_value > 0.05
    assert "not distinguishable" in metric.says


def test_too_few_conversations_say_nothing(files):
    [metric] = compare(*files(a=run_of("x", 0.6, 1), b=run_of("y", 0.6, 30))).metrics
    assert metric.comparison is None
    assert "nothing can be said" in metric.says


def test_the_interval_covers_the_difference_and_agrees_with_its_p_value():
    covered, rng = 0, np.random.default_rng(7)
    for _ in range(200):
        a, b = rng.normal(0.0, 1.0, 30), rng.normal(0.5, 2.0, 20)
        [tested] = compare_unpaired({"b": b, "a": a}, {"b": range(20), "a": range(30)}).comparisons
        gap = tested.difference
        covered += gap.low <= 0.5 <= gap.high
        assert (tested.p_value < 0.05) == (gap.side(0) != "either")
    assert 181 <= covered <= 198


def test_a_corrected_verdict_says_why_it_leaves_the_interval(files):
    run_rows = run_of("c", 0.5, 30, 1, seed=1)
    draw = random.Random(2)
    # By t about 2.7 of 29 degrees of freedom: p is 0.01 by itself, 0.1 among ten.
    shifted = [
        {**row, "value": row["value"] + 0.025 + 0.05 * (-1) ** i} for i, row in enumerate(run_rows)
    ]
    names = [f"m{i}" for i in range(9)]
    same = [{**row, "metric": n, "signature": f"{n}:1"} for n in names for row in run_rows]
    noise = [{**row, "value": row["value"] + draw.gauss(0, 0.05)} for row in same]
    [metric, *_] = compare(*files(a=[*run_rows, *same], b=[*shifted, *noise])).metrics
    gap = metric.comparison.difference
    leaves_out = gap.low > 0 or gap.high < 0
    rejected = metric.comparison.verdict != "no significant difference"
    assert leaves_out
    assert not rejected
    assert "corrected over all metrics" in metric.says


def test_a_gate_fails_where_the_mean_dropped(files, capsys):
    old, same, worse = files(
        old=run_of("c", 0.7, seed=1), same=run_of("c", 0.7, seed=1), worse=run_of("c", 0.6, seed=1)
    )
    rules = Rules(max_drop={EVERY: 0.02})
    [kept] = gate_file(same, rules, old).checks
    [lost] = gate_file(worse, rules, old).checks
    assert (kept.verdict, lost.verdict) == ("passed", "failed")
    assert "a drop of at most 0.02 wanted" in lost.says
    assert main(["gate", same, "--baseline", old, "--max-drop", "0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"]
    assert main(["gate", worse, "--baseline", old, "--max-drop", "relevance=0.02"]) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--min", "relevance=1.5"], "its scores lie between 0 and 1"),
        (["--max-share-below", "relevance:-1=0.1"], "its scores lie between 0 and 1"),
        (["--max-drop", "0.1"], "--baseline and --max-drop belong together"),
        (["--baseline", "{old}", "--min", "relevance=0.5"], "belong together"),
        (["--baseline", "{old}", "--max-drop", "-0.1"], "a drop is 0 or more"),
        (["--baseline", "{old}", "--max-drop", "coherence=0.1"], "no scores of metric 'coherence'"),
        (["--baseline", "{other}", "--max-drop", "0.1"], "not computed alike"),
    ],
)
def test_thresholds_that_decide_nothing_are_refused(files, capsys, words, problem):
    old, other, new = files(
        old=run_of("c", 0.7), other=run_of("c", 0.7, signature="relevance:0"), new=run_of("c", 0.7)
    )
    assert main(["gate", new, *[word.format(old=old, other=other) for word in words]]) == 2
    assert problem in capsys.readouterr().err
