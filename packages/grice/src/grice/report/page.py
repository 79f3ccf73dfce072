"""The page itself: template, style and script joined into one file that asks for nothing else."""

from __future__ import annotations

import base64
from itertools import groupby
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from grice.detectors import in_words
from grice.errors import excerpt
from grice.report.html import asset, environment, head
from grice.report.shown import EVIDENCE_LIMIT
from grice.report.svg import Histogram, number
from grice.scoring.summary import notes
from grice.text.markdown import as_read, marks
from grice.text.markup import thoughts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grice.data import Json
    from grice.evaluation.review import FlaggedTurn, Review
    from grice.scoring.loaded import ScoreColumn
    from grice.scoring.summary import MetricSummary, Summary

SCRIPTS = ("dom", "markdown", "store", "choice", "evidence", "conversation", "list", "main")
BEFORE, REPLY, ID = 140, 280, 48
"""Characters of the turn before a reply, of the reply, and of its conversation's name, where it
leads to the whole."""
OPEN = 6
"""Replies to look at first that are not folded up."""
READ = 20_000
"""Characters of a reply that are looked at."""
LEAD = 60
"""Characters that stand before marked words which do not stand in the beginning."""


class Panel(NamedTuple):
    """One metric as the template shows it."""

    metric: ScoreColumn
    totals: MetricSummary
    histogram: Histogram

    def value(self, value: float) -> str:
        """Return a value with one digit more than the axis."""
        return number(value, self.histogram.decimals + 1)

    def bound(self, value: float) -> str:
        """Return an end of the metric's range."""
        return number(value, 9).rstrip("0").rstrip(".") if abs(value) < float("inf") else ""

    @property
    def range(self) -> str:
        """The metric's range in words."""
        low, high = map(self.bound, (self.metric.low, self.metric.high))
        if low and high:
            return f"{low} to {high}"
        if low or high:
            return f"{low} or more" if low else f"{high} or less"
        return "any number"

    @property
    def noun(self) -> str:
        """The scored items in words, in the plural."""
        return "replies" if self.metric.judges == "response" else "conversations"

    def settings(self) -> dict[str, Json]:
        """Return the fields that the script of the page needs beside the index."""
        metric, histogram = self.metric, self.histogram
        return {
            "name": metric.name,
            "judges": metric.judges,
            "signature": metric.signature,
            "neutral": metric.neutral,
            "edges": list(histogram.edges),
            "decimals": histogram.decimals,
        }


def write_page(
    file: IO[bytes],
    *,
    title: str,
    panels: list[Panel],
    summary: Summary,
    review: Review,
    origin: Mapping[str, str],
    shown: int,
    settings: Json,
    index: bytes,
    chunks: Iterable[bytes],
) -> None:
    """Write the page, chunk by chunk."""

    def address(item: FlaggedTurn) -> str:
        """Return the fragment that opens a turn, as the script of the page writes it."""
        name = item.conversation.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return "#" + quote(name, safe="!~*'()") + f"/{item.turn}"

    def reply(item: FlaggedTurn) -> list[Piece]:
        """Return a reply with the words that speak against it marked."""
        own = [(span.start, span.end) for span in item.spans if span.turn == item.turn]
        return snippet(item.reply, own, REPLY, as_written=bool(item.findings))

    templates = environment()
    templates.filters["base64"] = lambda data: base64.b64encode(data).decode()
    templates.filters["address"] = address
    templates.filters["reply"] = reply
    templates.filters["in_words"] = in_words
    templates.filters["short"] = lambda name: excerpt(name, ID)
    templates.filters["read"] = lambda text: excerpt(as_read(text), BEFORE)
    templates.policies["json.dumps_kwargs"] = {"sort_keys": False}
    style = asset("report.css")
    parts = (asset(f"{name}.js") for name in SCRIPTS)
    script = "(() => {\n'use strict';\n" + "\n".join(parts) + "})();\n"
    page = templates.get_template("report.html.j2").stream(
        title=title,
        panels=panels,
        summary=summary,
        review=review,
        notes=list(notes(summary)),
        **origin,
        shown=shown,
        open=OPEN,
        evidence_limit=EVIDENCE_LIMIT,
        head=head(title, style=style, script=script),
        script=script,
        settings=settings,
        index=index,
        chunks=chunks,
    )
    # A lone surrogate in a title or a command line has no UTF-8 form.
    page.dump(file, encoding="utf-8", errors="replace")


class Piece(NamedTuple):
    """A stretch of a snippet, and whether it is marked."""

    text: str
    marked: bool


def snippet(
    text: str, spans: Iterable[tuple[int, int]], most: int, *, as_written: bool = False
) -> list[Piece]:
    """Return at most so many characters of a text, in pieces that are marked or not.

    Thinking and marks of Markdown are left out, and the text is cut between words. Where the
    first marked words stand far behind, it begins shortly before them.

    >>> snippet("Click on **Forgot password** below.", [(9, 28)], 40)
    [Piece(text='Click on ', marked=False), Piece(text='Forgot password', marked=True), \
Piece(text=' below.', marked=False)]
    """
    text = text[:READ]
    marked = bytearray(len(text))
    for start, end in spans:
        marked[start:end] = b"\1" * len(marked[start:end])
    signs = list(text)
    for start, end in () if as_written else thoughts(text):
        signs[start:end] = [" "] * (end - start)
    for start, end in () if as_written else marks(text):
        signs[start:end] = [""] * (end - start)
    read = [(sign, bool(mark)) for sign, mark in zip(signs, marked, strict=True) if sign]
    groups = groupby(read, key=lambda sign: sign[0].isspace())
    words = [list(word) for is_blank, word in groups if not is_blank]
    first = next((i for i, word in enumerate(words) if any(mark for _, mark in word)), 0)
    start = first if sum(len(word) + 1 for word in words[:first]) > most - LEAD else 0
    room = LEAD
    while start and room > len(words[start - 1]):
        start -= 1
        room -= len(words[start]) + 1
    shown: list[tuple[str, bool]] = [("…", False)] if start else []
    for place, word in enumerate(words[start:]):
        if shown and len(shown) + len(word) + 1 > most:
            shown.append(("…", False))
            break
        if place:
            # A blank between two marked words is marked with them.
            shown.append((" ", shown[-1][1] and word[0][1]))
        shown += word[:most]
    return [
        Piece("".join(sign for sign, _ in group), mark)
        for mark, group in groupby(shown, key=lambda sign: sign[1])
    ]
