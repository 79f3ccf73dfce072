"""A small run to report on, and a reader of the page it makes."""

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

from grice.data import FeatureEvidence, KnownTail, Score, Span, Triple, TripleEvidence, TurnEvidence
from grice.report.writer import ReportWriter
from grice.scoring.loaded import ScoreColumn
from grice.scoring.summary import MetricSummary, Summary
from grice.stats.estimate import Estimate


def column(name, summary, judges="response", high=1.0, neutral=0.5, source="", signature=""):
    """Return a metric of a report, whose values start at 0."""
    return ScoreColumn(name, summary, judges, 0.0, high, neutral, source, signature)


ANSWERS, HOLDS = "Does the reply answer what was said?", "Does the conversation hold together?"
RELEVANCE = column("relevance", ANSWERS, source="Tao et al. 2018", signature="relevance@1|<exact>")
COHERENCE = column("coherence", HOLDS, judges="conversation", signature="coherence|v1")
MEAN = Estimate(0.5, 0.45, 0.56, 0.95, 7, "mean")
LENGTH = column("length", "How long is the reply?", high=float("inf"), neutral=0.0)

EVIL = "</script><script>document.documentElement.className='owned'</script><b onclick=x>"
STEERING = "\x7f\x85\x9b31m\u061c\u200e\u202e\u2066\u2028"
"""A C1 control sequence, marks of direction that reorder a line, and a separator of lines."""
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def browsed(address, folder, *more):
    """Return what a browser without a window prints: the page as it has built it."""
    words = [
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000", "--dump-dom",
    ]  # fmt: skip
    command = [BROWSER, *words, *more, address]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)


class Page(HTMLParser):
    """Start tags with attributes, and text inside scripts, as a browser parses them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts = [], {}
        self.sources = {"style": [], "script": []}
        self.text = self._inside = ""
        self._id = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in self.sources:
            self._inside, self._id = tag, dict(attrs).get("id")
            self.sources[tag] += [""] * (self._id is None)

    def handle_endtag(self, tag):
        if tag in self.sources:
            self._inside = ""

    def handle_data(self, data):
        if self._inside and self._id is None:
            self.sources[self._inside][-1] += data
        elif self._inside:
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


def assert_allows_by_hash(text):
    """Check that a page runs and styles by what is in it alone, and asks for nothing else."""
    page = Page(text)
    [policy] = [each["content"] for _, each in page.tags
                if each.get("http-equiv") == "Content-Security-Policy"]  # fmt: skip
    allowed = {name: set(values) for name, *values in map(str.split, policy.split(";"))}
    for place in ("default-src", "base-uri", "form-action"):
        assert allowed[place] == {"'none'"}
    for kind, sources in page.sources.items():
        digests = [hashlib.sha256(source.encode()).digest() for source in sources]
        hashes = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
        assert allowed[f"{kind}-src"] == (hashes or {"'none'"})
        assert not any(re.search(r"url\(|@import", source) for source in sources)
    for tag, attributes in page.tags:
        assert not any(name == "style" or name.startswith("on") for name in attributes), tag
        for name in ("src", "srcset", "href", "action", "formaction", "data", "poster"):
            asked = attributes.get(name, "data:,")
            assert asked == "data:," or asked.startswith("#"), (tag, name)


def score(conversation, turn, panel, value, **rest):
    fields = {"status": "ok", "reason": None, "flags": (), "evidence": ()}
    fields |= {"signature": panel.signature, "meta": conversation.meta} | rest
    return Score(conversation.id, turn, panel.name, value, **fields)


def summary(*panels, conversations=1, skipped=0, problems=()):
    counts = {"ok": 7, "abstained": 2}
    totals = tuple(MetricSummary(each.name, MEAN, counts, (), each.signature) for each in panels)
    return Summary(conversations, 4 * conversations, totals, skipped, problems)


def write(path, items, *panels, title="Trial", skipped=0, problems=(), **rest):
    """Write a report of (conversation, scores) pairs and read it back."""
    writer, items = ReportWriter(path, title=title, metrics=panels, **rest), list(items)
    for conversation, scores in items:
        writer.add(conversation, scores)
    writer.close(summary(*panels, conversations=len(items), skipped=skipped, problems=problems))
    return Page(path.read_text(encoding="utf-8"))


def cooking_scores(talk):
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
