"""The report: one HTML file with every score and the evidence behind it."""

from __future__ import annotations

from grice.report.writer import ReportWriter

__all__ = ["ReportWriter"]
