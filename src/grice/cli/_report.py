"""Fills the report from what a run knows."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import grice
from grice.report import MetricPanel, MetricTotals, ReportWriter, Summary

if TYPE_CHECKING:
    from pathlib import Path

    from grice.scoring.run import Scorer
    from grice.scoring.summary import Summary as RunSummary

__all__ = ["close_report", "open_report"]


def open_report(path: Path, title: str, scorer: Scorer) -> ReportWriter:
    """Return a report with a panel for each metric."""
    panels = [
        MetricPanel(
            loaded.metric.name,
            loaded.metric.summary,
            (loaded.metric.low, loaded.metric.high),
            loaded.metric.neutral,
            loaded.metric.judges,
            loaded.metric.source,
            loaded.signature,
        )
        for loaded in scorer.metrics
    ]
    return ReportWriter(path, title=title, metrics=panels)


def close_report(report: ReportWriter, run: RunSummary) -> None:
    """Write the report with the figures of the whole run."""
    totals = (
        MetricTotals(metric.metric, metric.mean, metric.low, metric.high, metric.counts)
        for metric in run.metrics
    )
    report.close(
        Summary(
            tuple(totals),
            run.conversations,
            run.turns,
            run.skipped,
            run.problems,
            command=shlex.join(["grice", *sys.argv[1:]]),
            version=grice.__version__,
        )
    )
