"""The page itself: template, style and script joined into one file that asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import IO, TYPE_CHECKING, NamedTuple

import jinja2

from grice.report.histogram import Drawing, Histogram, decimals, number
from grice.report.shown import EVIDENCE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grice.records import Json
    from grice.report.panels import MetricPanel, MetricTotals, Summary

__all__ = ["Panel", "asset", "settings", "source_hash", "write_page"]

SCRIPTS = (
    "dom.js", "store.js", "choice.js", "evidence.js", "conversation.js", "list.js", "main.js",
)  # fmt: skip


class Panel(NamedTuple):
    """One metric as the template shows it."""

    metric: MetricPanel
    totals: MetricTotals
    histogram: Histogram
    drawing: Drawing

    def value(self, value: float) -> str:
        """Return a value with one digit more than the axis."""
        edges = self.histogram.edges
        return number(value, decimals(edges[-1] - edges[0]) + 1)

    def bound(self, value: float) -> str:
        """Return an end of the metric's range."""
        return number(value, 9).rstrip("0").rstrip(".") if abs(value) < float("inf") else ""

    @property
    def range(self) -> str:
        """The metric's range in words."""
        low, high = (self.bound(end) for end in self.metric.range)
        if low and high:
            return f"{low} to {high}"
        if low or high:
            return f"{low} or more" if low else f"{high} or less"
        return "any number"

    @property
    def noun(self) -> str:
        """What the metric scores, in the plural."""
        return "replies" if self.metric.judges == "response" else "conversations"


def settings(
    panels: Iterable[Panel], *, total: int, starts: list[int], places: list[int] | None
) -> Json:
    """Return what the script must know beside the index.

    Args:
        panels: The metrics.
        total: Conversations that were scored.
        starts: Number of the first conversation of each chunk.
        places: Place in the input of each conversation of the page; None if all are there.
    """
    return {
        "metrics": [
            {
                "name": panel.metric.name,
                "judges": panel.metric.judges,
                "signature": panel.metric.signature,
                "neutral": panel.metric.neutral,
                "edges": list(panel.histogram.edges),
                "decimals": decimals(panel.histogram.edges[-1] - panel.histogram.edges[0]),
            }
            for panel in panels
        ],
        "total": total,
        "starts": list(starts),
        "places": None if places is None else list(places),
    }


def write_page(
    file: IO[bytes],
    *,
    title: str,
    panels: list[Panel],
    summary: Summary,
    shown: int,
    settings: Json,
    index: bytes,
    chunks: Iterable[bytes],
) -> None:
    """Write the page, chunk by chunk.

    Args:
        file: Where to.
        title: Title of the page.
        panels: The metrics in order.
        summary: The run.
        shown: Conversations that the page holds.
        settings: See :func:`settings`.
        index: The compressed index.
        chunks: The compressed conversations.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grice.report", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["base64"] = lambda data: base64.b64encode(data).decode()
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    style = asset("report.css")
    script = "(() => {\n'use strict';\n" + "\n".join(map(asset, SCRIPTS)) + "})();\n"
    page = environment.get_template("report.html.j2").stream(
        title=title,
        panels=panels,
        summary=summary,
        shown=shown,
        evidence_limit=EVIDENCE_LIMIT,
        style=style,
        style_hash=source_hash(style),
        script=script,
        script_hash=source_hash(script),
        settings=settings,
        index=index,
        chunks=chunks,
    )
    # A lone surrogate in a title or a command line has no UTF-8 form.
    page.dump(file, encoding="utf-8", errors="replace")


def asset(name: str) -> str:
    """Return the text of a file that pages are made of."""
    text = (resources.files("grice.report") / "assets" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def source_hash(text: str) -> str:
    """Return the source expression by which a content security policy allows ``text``."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
