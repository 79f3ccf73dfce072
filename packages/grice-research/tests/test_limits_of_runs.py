"""The limits of metrics are read from recorded runs."""

from __future__ import annotations

from grice_research.comparisons import limits_of
from grice_research.figures import Figure
from grice_research.runs import Run


def figure(row, measure, value, **more):
    return Figure(bench="b", table="", row=row, kind="ours", on="set:overall", measure=measure,
                  value=value, low=value - 0.1, high=value + 0.1, n=50,
                  signature="relevance:2|mode:exact|on:set", **more)  # fmt: skip


def run(*figures):
    return Run(bench="b", title="T", paper="P", date="2026-01-02", version="1",
               command="grice bench b", counts={}, figures=figures, notes={})  # fmt: skip


def test_rows_that_declare_a_metric_and_a_baseline_are_comparisons():
    of_runs = limits_of([run(
        figure("relevance", "spearman", 0.2, metric="relevance"),
        figure("log_length", "spearman", 0.5),
        figure("relevance less log_length", "difference of spearman", -0.3, metric="relevance",
               baseline="log_length"),
        figure("relevance", "spearman with log_length", 0.9, metric="relevance",
               baseline="log_length"),
        figure("engagement less log_length", "difference of spearman", -0.3, metric="engagement",
               baseline="log_length"),
        figure("commonsense", "spearman", 0.1),
    )])  # fmt: skip
    assert set(of_runs.metrics) == {"relevance"}
    assert of_runs.baselines == ("log_length",)
    limits = of_runs.metrics["relevance"]
    assert limits.signature == "relevance:2|mode:exact"
    (comparison,) = limits.comparisons
    assert (comparison.on, comparison.value, comparison.of_baseline, comparison.alike) == (
        "set",
        0.2,
        0.5,
        0.9,
    )
    assert comparison.gap == (-0.3, -0.4, -0.2)
