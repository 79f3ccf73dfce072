"""The report of scores that are there already: of a file, or of a folder of shards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import InputError, RecordError
from grice.evaluation.scores import joined, read_score_lines
from grice.metrics.registry import find_metrics
from grice.report.page import panel_of
from grice.report.writer import ReportWriter
from grice.scoring.blended import written_column
from grice.scoring.summary import SummaryBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.scoring.summary import Summary

EVERYBODY = ("all",)
"""Whose turns were judged: scores do not say it, and the page says nothing of it."""


def report_scores(
    scores: str,
    files: Sequence[str | Path],
    report: str | Path,
    *,
    plugins: Sequence[Path] = (),
    command: str = "",
) -> Summary:
    """Write the page of a run from its scores and the conversations, and return its summary.

    No model is opened. The scores are read twice, the conversations once, one at a time; memory
    holds what :class:`grice.report.ReportWriter` does.
    """
    if scores == "-":
        raise InputError("-: scores are read twice: write them into a file")
    signatures: dict[str, str] = {}
    for _, line in read_score_lines(scores):
        signatures.setdefault(line.metric, line.signature)
    registry = find_metrics(plugins)
    columns = [written_column(name, text, registry) for name, text in signatures.items()]
    summary = SummaryBuilder(columns, speakers=EVERYBODY)
    panels = list(map(panel_of, columns))
    with ReportWriter(Path(report), title=scores, metrics=panels, command=command) as page:
        for record, group in joined(scores, files):
            if isinstance(record, RecordError):
                summary.skip(record)
            else:
                summary.add(record, group)
                page.add(record, group)
        page.close(summary.summary())
    return summary.summary()
