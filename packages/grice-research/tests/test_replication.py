from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_metrics import made_figure
from grice_research.figures import VERDICTS, verdict_of
from grice_research.runs import counted, read_runs

RESULTS = Path(__file__).parents[3] / "docs" / "results"

number = st.floats(-1, 1)
half = st.floats(0, 0.5)


def made(kind, published, value, interval, **fields):
    return made_figure("made", kind=kind, published=published, value=value, low=interval[0],
                       high=interval[1], **fields)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "published", "value", "interval", "verdict"),
    [("printed", 0.578, 0.5782, (0.5, 0.64), "recomputed"),
     ("printed", 0.10, 0.09, (-0.1, 0.3), "not recomputed"),
     ("printed", -0.47, 0.47, (0.3, 0.6), "not recomputed"),
     ("printed", 1690.0, 1690.0, (None, None), "recomputed"),
     ("ours", -0.47, 0.20, (0.02, 0.37), "beside: above"),
     ("ours", 0.22, 0.41, (0.20, 0.58), "beside: level"),
     ("ours", 0.30, 0.10, (-0.1, 0.29), "beside: below")],
)  # fmt: skip
def test_the_verdict_follows_from_the_figures(kind, published, value, interval, verdict):
    assert verdict_of(made(kind, published, value, interval, rounding=0.0005)) == verdict


def test_the_difference_on_the_same_items_decides_where_there_is_one():
    wide = ("ours", 0.30, 0.40, (0.2, 0.6))
    assert verdict_of(made(*wide)) == "beside: level"
    assert verdict_of(made(*wide, difference=(0.1, 0.02, 0.18))) == "beside: above"


@given(published=number, value=number, below=half, above=half)
def test_with_both_signs_turned_lower_is_better(published, value, below, above):
    interval = (value - below, value + above)
    outcome = verdict_of(made("ours", published, value, interval))
    assert outcome.startswith("beside: ")
    turned = made("ours", -published, -value, (-interval[1], -interval[0]), lower=True)
    assert verdict_of(turned) == outcome


def test_recorded_verdicts_and_counts_follow_from_the_recorded_rows():
    runs = read_runs(RESULTS)
    for run in runs:
        for row_of_run in run.figures:
            assert row_of_run.verdict == verdict_of(row_of_run), (run.bench, row_of_run.row)
        counts = counted(run.figures)
        for verdict in VERDICTS[:-1]:
            assert run.counts.get(verdict, 0) == counts.get(verdict, 0), run.bench
