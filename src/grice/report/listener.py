"""Fills the report while a run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grice
from grice.metrics.limits import explained, summed_up
from grice.report.panels import MetricPanel, MetricTotals, Summary
from grice.report.writer import ReportWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from grice.records import Conversation, Score
    from grice.scoring.run import Scorer
    from grice.scoring.summary import Summary as RunSummary

__all__ = ["ReportListener"]


class ReportListener:
    """Listens to a run and writes the page; nothing is written if the run does not finish.

    Args:
        command: What made the run, shown for whoever wants to repeat it.

    Raises:
        OutputError: If the page cannot be written there.
    """

    def __init__(self, path: Path, title: str, scorer: Scorer, *, command: str = "") -> None:
        self._command = command
        panels = [
            MetricPanel(
                loaded.metric.name,
                loaded.metric.summary,
                (loaded.metric.low, loaded.metric.high),
                loaded.metric.neutral,
                loaded.metric.judges,
                loaded.metric.source,
                loaded.signature,
                summed_up(loaded.metric.name),
                tuple(explained(loaded.metric.name, signature=loaded.signature)),
            )
            for loaded in scorer.metrics
        ]
        self._writer = ReportWriter(path, title=title, metrics=panels)

    def __enter__(self) -> ReportListener:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.abort()

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Take one scored conversation."""
        self._writer.add(conversation, scores)

    def finish(self, run: RunSummary) -> None:
        """Write the page with the figures of the whole run."""
        totals = (
            MetricTotals(metric.metric, metric.mean, metric.low, metric.high, metric.counts)
            for metric in run.metrics
        )
        self._writer.close(
            Summary(
                tuple(totals),
                run.conversations,
                run.turns,
                run.skipped,
                run.problems,
                command=self._command,
                version=grice.__version__,
            )
        )
