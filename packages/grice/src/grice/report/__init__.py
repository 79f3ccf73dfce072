"""The report: one HTML file with every score and the evidence behind it."""

from __future__ import annotations

from grice.report.page import MetricPanel, panel_of
from grice.report.writer import ReportWriter

__all__ = ["MetricPanel", "ReportWriter", "panel_of"]
