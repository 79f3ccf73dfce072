"""The report: one HTML file, written from scores as they come and a template."""

from __future__ import annotations

import base64
import gzip
import json
import math
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np

import grice
from grice.errors import InputError, RecordError, excerpt, plural, redacted
from grice.evaluation.groups import FlawedReply, flawed_replies, groups_of
from grice.evaluation.ranking import RankedReply, Ranker
from grice.evaluation.scores import joined, read_score_lines
from grice.files import cannot_write, destination, writing
from grice.metrics.declaration import find_metrics
from grice.report.findings import precision
from grice.report.html import asset, environment, head
from grice.report.shown import EVIDENCE_LIMIT, Piece, because, shown_line, snippet
from grice.report.svg import Histogram, number
from grice.scoring.blended import written_column
from grice.scoring.summary import MetricSummary, Summary, SummaryBuilder, notes
from grice.text.markup import as_read

if TYPE_CHECKING:
    from grice.data import Conversation, Json, Score
    from grice.scoring.loaded import ScoreColumn

SCRIPTS = ("dom", "markdown", "store", "choice", "evidence", "conversation", "list", "main")
FIRST, OPEN = 10, 6  # replies to look at first, and those of them that are not folded up
BEFORE, REPLY, ID = 140, 280, 48
"""Characters of the turn before such a reply, of the reply, and of its conversation's id."""
GROUPED, GROUPS = 5_000, 5  # replies with findings that are grouped, and groups of the page
KEEP = 20_000  # conversations of a page; with more it opens slowly in a browser
EVERYBODY = ("all",)  # judged speakers of a page made from scores alone, which do not name them
TITLED = 3  # files that the title names
SPEAKERS = 100  # speakers that can be chosen by name; others share the number OTHER
WHOLE, OTHER = -1, -2
CHUNK_LINES, CHUNK_BYTES = 50, 256 * 1024
"""A chunk ends at the first of both limits: a browser unpacks it in a few milliseconds."""


def compress(data: bytes) -> bytes:
    """Return ``data`` as gzip, the same bytes for the same data."""
    return gzip.compress(data, compresslevel=6, mtime=0)


class ChunkSpool:
    """Lines of bytes, written once, then read back; holds at most one chunk in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by close)
        self._sizes = array("Q")
        self._open: list[bytes] = []
        self._open_bytes = self._lines = 0
        self.starts: list[int] = []  # number of the first line of each chunk, from 0

    def append(self, line: bytes) -> None:
        """Add one line, which holds no line break."""
        self._open.append(line)
        self._open_bytes += len(line)
        if len(self._open) >= CHUNK_LINES or self._open_bytes >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the last chunk."""
        if self._open:
            self.starts.append(self._lines)
            self._sizes.append(self._file.write(compress(b"\n".join(self._open))))
            self._lines += len(self._open)
            self._open, self._open_bytes = [], 0

    def chunks(self) -> Iterator[bytes]:
        """Yield the compressed chunks in order; unpacked, each is its lines with breaks between."""
        self.flush()
        self._file.seek(0)
        for size in self._sizes:
            yield self._file.read(size)

    def lines(self) -> Iterator[bytes]:
        """Yield all lines in the order they were added."""
        for chunk in self.chunks():
            yield from gzip.decompress(chunk).split(b"\n")

    def close(self) -> None:
        """Free the disk space."""
        self._file.close()


def _index(
    rows: Iterable[bytes],
    kept: Container[int] | None,
    histograms: Sequence[Histogram],
    speakers: Sequence[str],
) -> dict[str, list[Any]]:
    """Count rows of :meth:`ReportWriter.add` in histograms, and return columns of those kept.

    ``cells[metric][conversation]`` holds for each speaker with scores three entries in a flat list:
    the speaker's number, a bit set of what there is (bit ``b``: a value in bin ``b``; then one bit
    for ``abstained``, one for ``failed``), and the speaker's lowest value or null.
    """
    known = {name: i for i, name in enumerate(speakers)}
    columns: dict[str, list[Any]] = {"ids": [], "turns": [], "cast": [], "speakers": list(speakers)}
    columns["cells"] = [[] for _ in histograms]
    for place, (name, turns, cast, scored) in enumerate(map(json.loads, rows)):
        numbers = [known.get(speaker, OTHER) for speaker in cast]
        summaries: list[dict[int, tuple[int, float | None]]] = [{} for _ in histograms]
        for metric, spoken, status, value in scored:
            speaker = WHOLE if spoken == WHOLE else numbers[spoken]
            bits, lowest = summaries[metric].get(speaker, (0, None))
            histogram = histograms[metric]
            if value is None:
                bits |= 1 << len(histogram.counts) + (status == "failed")
            else:
                bits |= 1 << histogram.add(value)
                lowest = value if lowest is None else min(lowest, value)
            summaries[metric][speaker] = bits, lowest
        if kept is not None and place not in kept:
            continue
        columns["ids"].append(name)
        columns["turns"].append(turns)
        columns["cast"].append(sorted(set(numbers)))
        for cells, summary in zip(columns["cells"], summaries, strict=True):
            flat: list[float | int | None] = []
            for speaker, (bits, lowest) in summary.items():
                flat += (speaker, bits, None if lowest is None else float(f"{lowest:.5g}"))
            cells.append(flat)
    return columns


class Panel(NamedTuple):
    """One metric as the template shows it."""

    metric: ScoreColumn
    totals: MetricSummary
    histogram: Histogram

    def value(self, value: float) -> str:
        """Return a value with one digit more than the axis."""
        return number(value, self.histogram.decimals + 1)

    @property
    def settings(self) -> dict[str, Json]:
        """The fields that the script of the page needs beside the index."""
        fields = ("name", "judges", "signature", "neutral")
        own = {name: getattr(self.metric, name) for name in fields}
        edges = list(self.histogram.edges)
        return {**own, "edges": edges, "decimals": self.histogram.decimals}


class ReportWriter:
    """Writes one self-contained HTML file with the scores and their evidence.

    Conversations go to nameless temporary files beside ``path`` as they come. In memory stay
    8 bytes per conversation and metric, and while closing the index of the conversations that
    the page holds. The same input gives the same bytes.
    """

    def __init__(
        self,
        path: Path,
        *,
        title: str,
        metrics: Sequence[ScoreColumn],
        keep: int = KEEP,
        command: str = "",
        version: str = grice.__version__,
    ) -> None:
        self._path, self._title, self._keep = path, title, keep
        self._command, self._version = command, version
        self._metrics = tuple(metrics)
        self._numbers = {metric.name: i for i, metric in enumerate(self._metrics)}
        self._signatures = {metric.name: metric.signature for metric in self._metrics}
        self._extents = [(math.inf, -math.inf)] * len(self._metrics)
        self._lowest = [array("d") for _ in self._metrics]
        self._speakers: Counter[str] = Counter()
        self._total = 0
        self.ranker = Ranker(FIRST)
        self._flawed: list[FlawedReply] = []
        target = destination(path)
        self._folder = None if target is None else target.parent
        try:
            self._conversations = ChunkSpool(self._folder)
            self._rows = ChunkSpool(self._folder)
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def __enter__(self) -> ReportWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Add one conversation with all its scores; the page keeps the order of the calls."""
        findings = self.ranker.add(conversation, scores)
        if len(self._flawed) < GROUPED:
            self._flawed += flawed_replies(conversation, findings)
        speakers = list(dict.fromkeys(turn.speaker for turn in conversation.turns))
        self._speakers.update(speakers)
        self._total += 1
        for lowest in self._lowest:
            lowest.append(math.inf)
        cells = []
        for score in scores:
            turn, value = score.turn, score.value if score.status == "ok" else None
            place = WHOLE if turn is None else speakers.index(conversation.turns[turn].speaker)
            metric = self._numbers[score.metric]
            cells.append((metric, place, score.status, value))
            if value is not None:
                low, high = self._extents[metric]
                self._extents[metric] = min(low, value), max(high, value)
                self._lowest[metric][-1] = min(self._lowest[metric][-1], value)
        row = (conversation.id, len(conversation.turns), speakers, cells)
        try:
            line = shown_line(conversation, scores, self._signatures, findings)
            self._conversations.append(line)
            # Text without a UTF-8 form is escaped.
            self._rows.append(_json(row))
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def close(self, summary: Summary) -> None:
        """Write the file."""
        try:
            self._write(summary)
        except OSError as error:
            raise cannot_write(self._path, error) from error
        finally:
            self.abort()

    def abort(self) -> None:
        """Discard everything without writing a file. Does nothing after :meth:`close`."""
        self._conversations.close()
        self._rows.close()

    def _write(self, summary: Summary) -> None:
        kept = None  # places of the conversations that the page holds, if not all
        if self._total > self._keep:
            share = self._keep // len(self._lowest)
            orders = (np.argsort(lowest, kind="stable") for lowest in self._lowest)
            kept = {place for order in orders for place in order[:share].tolist()}
            chosen = ChunkSpool(self._folder)
            for place, line in enumerate(self._conversations.lines()):
                if place in kept:
                    chosen.append(line)
            self._conversations.close()
            self._conversations = chosen
        self._conversations.flush()
        totals = {entry.metric: entry for entry in summary.metrics}
        panels = [
            Panel(metric, totals[metric.name], Histogram((metric.low, metric.high), extent))
            for metric, extent in zip(self._metrics, self._extents, strict=True)
        ]
        # By count, then by name: equal counts must not depend on the order of the input.
        ranked = sorted(self._speakers.items(), key=lambda entry: (-entry[1], entry[0]))
        named = sorted(name for name, _ in ranked[:SPEAKERS])
        index = _index(self._rows.lines(), kept, [panel.histogram for panel in panels], named)
        templates = environment()
        templates.filters |= FILTERS
        templates.policies["json.dumps_kwargs"] = {"sort_keys": False}
        parts = (asset(f"{name}.js") for name in SCRIPTS)
        script = "(() => {\n'use strict';\n" + "\n".join(parts) + "})();\n"
        page = templates.get_template("report.html.j2").stream(
            title=self._title,
            panels=panels,
            summary=summary,
            ranking=self.ranker.ranking(),
            checked=self.ranker.checker.check(),
            groups=groups_of(self._flawed)[:GROUPS],
            notes=list(notes(summary)),
            command=self._command,
            version=self._version,
            shown=len(index["ids"]),
            open=OPEN,
            evidence_limit=EVIDENCE_LIMIT,
            head=head(self._title, style=asset("report.css"), script=script),
            script=script,
            settings={
                "metrics": [panel.settings for panel in panels],
                "total": self._total,
                "starts": self._conversations.starts,
                "places": None if kept is None else sorted(kept),
            },
            index=compress(_json(index)),
            chunks=self._conversations.chunks(),
        )
        with writing(self._path) as file:
            # A lone surrogate in a title or a command line has no UTF-8 form.
            page.dump(file, encoding="utf-8", errors="replace")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _address(conversation: str, turn: int) -> str:
    """Return the fragment that opens a turn, as the script of the page writes it."""
    name = conversation.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "#" + quote(name, safe="!~*'()") + f"/{turn}"


def title_of(files: Sequence[str | Path]) -> str:
    """Return a title that names the first files, without their folders."""
    names = [Path(name).name or name for name in map(redacted, map(str, files))]
    more = len(names) - TITLED
    return ", ".join(names[:TITLED]) + (f" and {plural(more, 'other')}" if more > 0 else "")


def _reply(item: RankedReply) -> list[Piece]:
    own = [(span.start, span.end) for span in item.spans if span.turn == item.turn]
    return snippet(item.reply, own, REPLY, as_written=item.certain)


FILTERS: dict[str, Callable[..., object]] = {
    "address": lambda item: _address(item.conversation, item.turn),
    "because": because,
    "base64": lambda data: base64.b64encode(data).decode(),
    "bound": lambda value: number(value, 9).rstrip("0").rstrip(".") if math.isfinite(value) else "",
    "leader": lambda group: _address(*group.replies[0]),
    "precision": precision,
    "read": lambda text: excerpt(as_read(text), BEFORE),
    "reply": _reply,
    "short": lambda name: excerpt(name, ID),
}
"""Filters of the template."""


def report_scores(
    scores: str,
    files: Sequence[str | Path],
    report: str | Path,
    *,
    plugins: Sequence[Path] = (),
    command: str = "",
) -> Summary:
    """Write the page of a run from its scores and the conversations, and return its summary.

    No model is opened. The scores are read twice, the conversations once, one at a time.
    """
    if scores == "-":
        raise InputError("-: scores are read twice; write them to a file")
    signatures: dict[str, str] = {}
    for _, line in read_score_lines(scores):
        signatures.setdefault(line.metric, line.signature)
    registry = find_metrics(plugins)
    columns = [written_column(name, text, registry) for name, text in signatures.items()]
    summary = SummaryBuilder(columns, speakers=EVERYBODY)
    title = title_of(files)
    with ReportWriter(Path(report), title=title, metrics=columns, command=command) as page:
        for record, group in joined(scores, files):
            if isinstance(record, RecordError):
                summary.skip(record)
            else:
                summary.add(record, group)
                page.add(record, group)
        page.close(summary.summary())
    return summary.summary()
