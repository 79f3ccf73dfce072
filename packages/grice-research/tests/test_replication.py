"""Notes on figures beside printed ones; every recorded row has one."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice_research import figures
from grice_research.figures import MEANINGS, VERDICTS, Figure, verdict_of, verdict_on
from grice_research.pages import index_page
from grice_research.runs import counted, equal_rows, read_runs

RESULTS = Path(__file__).parents[3] / "docs" / "results"

figure = st.floats(-1, 1)
half = st.floats(0, 0.5)


def test_the_examples_run():
    assert doctest.testmod(figures).failed == 0


@pytest.mark.parametrize(
    ("published", "value", "interval", "computed", "verdict"),
    [
        (0.578, 0.5782, (0.5, 0.64), "released files", "recomputed"),
        (0.10, 0.09, (-0.1, 0.3), "released files", "not recomputed"),
        (-0.47, 0.47, (0.3, 0.6), "released files", "not recomputed"),
        (0.30, 0.25, (0.05, 0.45), "published method", "reproduced"),
        (0.30, 0.60, (0.45, 0.70), "published method", "not reproduced"),
        (-0.47, 0.20, (0.02, 0.37), "published method", "not reproduced"),
        (-0.47, 0.20, (0.02, 0.37), "another method", "beside: above"),
        (0.22, 0.41, (0.20, 0.58), "another method", "beside: level"),
        (0.30, 0.10, (-0.1, 0.29), "another method", "beside: below"),
        (1690.0, 1690.0, (None, None), "released files", "recomputed"),
    ],
)
def test_the_verdict_follows_from_how_a_figure_was_computed_and_its_sign(
    published, value, interval, computed, verdict
):
    outcome = verdict_on(published, value, interval, computed=computed, rounding=0.0005)
    assert outcome == verdict


def test_the_difference_on_the_same_items_decides_where_there_is_one():
    wide = (0.30, 0.40, (0.2, 0.6))
    paired = verdict_on(*wide, computed="another method", difference=(0.02, 0.18))
    assert verdict_on(*wide, computed="another method") == "beside: level"
    assert paired == "beside: above"


@given(published=figure, value=figure, below=half, above=half)
def test_another_method_is_never_said_to_reproduce(published, value, below, above):
    interval = (value - below, value + above)
    outcome = verdict_on(published, value, interval, computed="another method")
    assert outcome.startswith("beside: ")
    higher = verdict_on(-published, -value, (-interval[1], -interval[0]), computed="another method",
                        lower=True)  # fmt: skip
    assert higher == outcome, "with both signs turned, lower is better"


def test_each_verdict_is_defined_once():
    assert {name.removeprefix("not ").partition(":")[0] for name in VERDICTS} == set(MEANINGS)


@pytest.fixture(scope="module")
def runs():
    return read_runs(RESULTS)


def test_recorded_verdicts_follow_from_the_recorded_rows(runs):
    for run in runs:
        for row_of_run in run.figures:
            assert row_of_run.verdict == verdict_of(row_of_run), (
                run.bench,
                row_of_run.table,
                row_of_run.row,
                row_of_run.measure,
            )
            if row_of_run.published is not None:
                assert (row_of_run.computed == "released files") == (row_of_run.kind == "printed")
        counts = counted(run.figures)
        for verdict in VERDICTS[:-1]:
            assert run.counts.get(verdict, 0) == counts.get(verdict, 0), run.bench


def test_no_two_rows_of_a_bench_come_from_the_same_computation(runs):
    assert {run.bench: equal_rows(run.figures) for run in runs if equal_rows(run.figures)} == {}


def row(name, *figures, table="", n=None):
    return [
        Figure(bench="b", table=table, row=name, kind="ours", on=on, measure="spearman",
               value=value, low=value - width, high=value + width, n=n)
        for on, value, width in figures
    ]  # fmt: skip


def test_rows_that_agree_in_every_figure_are_named():
    cosine_rows = row("cosine", ("a", 0.2, 0.1), ("b", 0.3, 0.1))
    assert equal_rows([*cosine_rows, *row("likelihood", ("b", 0.3, 0.1))]) == [
        ("cosine", "likelihood")
    ]
    assert equal_rows([*cosine_rows, *row("other", ("a", 0.2, 0.1), ("b", 0.31, 0.1))]) == []
    assert equal_rows([*cosine_rows, *row("cosine", ("a", 0.2, 0.1))]) == []
    few = row("few", ("c", 0.3, 0.1), n=30)
    assert equal_rows([*few, *row("as few", ("c", 0.3, 0.1), n=30)]) == []
    assert equal_rows([*few, *row("few", ("a", 0.2, 0.1)), *row("other", ("a", 0.2, 0.1)),
                       *row("other", ("c", 0.4, 0.1), n=30)]) == []  # fmt: skip
    count = row("count", ("a", 2.0, 0.0))
    assert equal_rows([*count, *row("another count", ("a", 2.0, 0.0))]) == []
    again = row("the same system", ("a", 0.2, 0.1), table="an older table")
    assert equal_rows([*cosine_rows, *again]) == [], "a source may print one system under two names"


def test_the_head_of_the_page_counts_what_was_recorded(runs):
    total = sum(run.counts.get("recomputed", 0) for run in runs)
    tried = total + sum(run.counts.get("not recomputed", 0) for run in runs)
    page = index_page(runs, "results")
    assert f"| all | {total} of {tried} |" in page
    assert all(f"- *{name}*: {meaning}." in page for name, meaning in MEANINGS.items())
