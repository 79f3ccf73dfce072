"""A small run to report on, and a reader of the page it makes."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser
from pathlib import Path

from grice.data import (
    Conversation,
    FeatureEvidence,
    KnownTail,
    Score,
    Span,
    Triple,
    TripleEvidence,
    TurnEvidence,
)
from grice.report.writer import ReportWriter
from grice.scoring.loaded import ScoreColumn
from grice.scoring.summary import MetricSummary, Summary
from grice.stats.estimate import Estimate


def column(name, summary, judges="response", high=1.0, neutral=0.5, source="", signature=""):
    """Return a metric of a report, whose values start at 0."""
    return ScoreColumn(name, summary, judges, 0.0, high, neutral, source, signature)


ANSWERS, HOLDS = "Does the reply answer what was said?", "Does the conversation hold together?"
RELEVANCE = column("relevance", ANSWERS, source="Tao et al. 2018", signature="relevance|v1|<exact>")
COHERENCE = column("coherence", HOLDS, judges="conversation", signature="coherence|v1")
MEAN = Estimate(0.5, 0.45, 0.56, 0.95, 7, "mean")
LENGTH = column("length", "How long is the reply?", high=float("inf"), neutral=0.0)


class Page(HTMLParser):
    """What a browser's parser finds: start tags with attributes, and text inside scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.script = ""
        self.style = ""
        self.text = ""
        self._inside = ""
        self._id: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside, self._id = tag, dict(attrs).get("id")

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data):
        if self._inside == "style":
            self.style += data
        elif self._inside == "script" and self._id is None:
            self.script += data
        elif self._inside == "script":
            self.scripts[self._id] = self.scripts.get(self._id, "") + data
        else:
            self.text += data

    def _unpack(self, name: str) -> bytes:
        return gzip.decompress(base64.b64decode(self.scripts[name]))

    @property
    def settings(self):
        return json.loads(self.scripts["g-settings"])

    @property
    def index(self):
        return json.loads(self._unpack("g-index"))

    @property
    def chunks(self) -> list[bytes]:
        names = [name for name in self.scripts if name.startswith("g-chunk-")]
        assert names == [f"g-chunk-{i}" for i in range(len(names))]
        return [self._unpack(name) for name in names]

    @property
    def lines(self):
        return [json.loads(line) for chunk in self.chunks for line in chunk.split(b"\n")]


def score(
    conversation: Conversation, turn: int | None, panel: ScoreColumn, value: float | None, **rest
):
    fields = {"status": "ok", "reason": None, "flags": (), "evidence": ()}
    fields |= {"signature": panel.signature, "meta": conversation.meta} | rest
    return Score(conversation.id, turn, panel.name, value, **fields)


def summary(
    *panels: ScoreColumn, conversations: int = 1, skipped: int = 0, problems: tuple[str, ...] = ()
) -> Summary:
    totals = tuple(
        MetricSummary(panel.name, MEAN, {"ok": 7, "abstained": 2}, (), panel.signature)
        for panel in panels
    )
    return Summary(conversations, 4 * conversations, totals, skipped, problems)


def write(
    path: Path, items, *panels: ScoreColumn, title="Trial", skipped=0, problems=(), **rest
) -> Page:
    """Write a report of (conversation, scores) pairs and read it back."""
    writer = ReportWriter(path, title=title, metrics=panels, **rest)
    count = 0
    for conversation, scores in items:
        writer.add(conversation, scores)
        count += 1
    writer.close(summary(*panels, conversations=count, skipped=skipped, problems=problems))
    return Page(path.read_text(encoding="utf-8"))


def cooking_scores(talk: Conversation) -> list[Score]:
    """Return scores of the conversation about cooking, one of each status and kind of evidence."""
    triple = Triple("I love to cook", "xWant", "make pasta", Span(1, 0, 9), Span(1, 13, 23))
    known = KnownTail("PersonX cooks", "to eat", 0.7123456, 0.6, "atomic2020")
    first = TripleEvidence(triple, 0.25, known)
    second = FeatureEvidence("words", 7.0, -0.1, Span(3, 4, 9))
    return [
        score(talk, 0, RELEVANCE, 0.5, status="abstained", reason="the first turn"),
        score(talk, 1, RELEVANCE, 0.9, evidence=(TurnEvidence(0, 0.312345678),)),
        score(talk, 2, RELEVANCE, None, status="failed", reason="the model did not answer"),
        score(talk, 3, RELEVANCE, 0.05, flags=("truncated",), evidence=(first, second)),
        score(talk, None, COHERENCE, 0.4),
    ]
