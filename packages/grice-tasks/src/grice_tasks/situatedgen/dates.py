"""Dates and times that their words give away, whatever a tagger says of them.

The forms follow OntoNotes, as its taggers read it: an amount of time takes its "about" and its
"ago" with it, the year before an event is a date of its own, a range after "between" is one date.
They stand in ``dates.toml``.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from grice.models.protocols import TaggedSpan

ALONE = re.compile(
    r"(?:the|an?|about|early|late|past|next|last|of|in|every|each|this|around|over|only|days?|"
    r"seasons?|months?|years?|times?|weeks?|decades?|past|daily|weekly|annual(?:ly)?|yearly|"
    r"(?:a|an|one|each|every|the) (?:year|week|month|season)|(?:a |an )?(?:hot|cold|new|warm|sunny)"
    r"(?: day| month)?|(?:his|her|our|both|each|many|"
    r"(?:a |the )?(?:holy|present|current)|the (?:end|start) of)"
    r"(?: day)?|is|at|the calendar|the ages?|\d+(?:gb|mb|kb))",
    re.IGNORECASE,
)
SEASON = re.compile(r"(?:the )?(?:winter|summer|autumn)", re.IGNORECASE)
"""Beside a month a season is what is said of it, and no date."""
ARTICLE = re.compile(r"^the ", re.IGNORECASE)
EDGE = re.compile(
    r"^(?:after|during|on|in|at|by|until|over(?= (?:many|millions|billions|several)))\s"
)
TAIL = re.compile(r"\s(?:and|of|in|at|on|or|to|than|after|before|is|the|a|every|each)$")


class _Form(msgspec.Struct):
    label: str
    form: str | list[str]


class _File(msgspec.Struct):
    parts: dict[str, str | list[str]]
    forms: list[_Form]


class _Patterns(NamedTuple):
    month: re.Pattern[str]
    forms: list[tuple[str, re.Pattern[str]]]


@cache
def _patterns() -> _Patterns:
    """Return the patterns of ``dates.toml``, each with the parts it names put in."""
    text = (files("grice_tasks.situatedgen") / "dates.toml").read_text("utf-8")
    stated = msgspec.convert(tomllib.loads(text), _File)
    parts: dict[str, str] = {}

    def whole(form: str | list[str]) -> str:
        return re.sub(r"%([A-Z]+)%", lambda name: parts[name[1]], "".join(form))

    for name, part in stated.parts.items():
        parts[name] = whole(part)
    forms = [
        (form.label, re.compile(rf"(?<![\w$-])(?:{whole(form.form)})(?!\w)", re.IGNORECASE))
        for form in stated.forms
    ]
    return _Patterns(re.compile(parts["MONTH"], re.IGNORECASE), forms)


def spelt_spans(text: str) -> list[TaggedSpan]:
    """Return the stretches that are dates, times or events by their words, without overlap.

    >>> [(span.label, span.start, span.end) for span in spelt_spans("It took 24 hours in 1999.")]
    [('TIME', 8, 16), ('DATE', 20, 24)]
    """
    matches = [
        TaggedSpan(match.start(), match.end(), label, 1.0)
        for label, form in _patterns().forms
        for match in form.finditer(text)
    ]
    matches.sort(key=lambda span: (span.start - span.end, span.start))
    spans: list[TaggedSpan] = []
    for span in matches:
        if not any(span.start < other.end and other.start < span.end for other in spans):
            spans.append(span)
    return sorted(spans)


def merge_spans(text: str, tagged: list[TaggedSpan]) -> tuple[TaggedSpan, ...]:
    """Return a tagger's entities with those that are spelt out put right.

    A longer entity of the tagger that holds the spelt one stays, but for a country and for two
    dates in one; lone articles and bare words such as "day" are dropped.
    """
    spans = [_trimmed(text, span) for span in tagged]
    spans = [span for span in spans if not ALONE.fullmatch(text[span.start : span.end].strip())]
    spelt = spelt_spans(text)
    if any(
        date.label == "DATE" and _patterns().month.search(text, date.start, date.end)
        for date in spelt
    ):
        spans, spelt = (
            [entity for entity in side if not SEASON.fullmatch(text, entity.start, entity.end)]
            for side in (spans, spelt)
        )
    for span in list(spans):
        within = [date for date in spelt if span.start <= date.start and date.end <= span.end]
        if len(within) > 1 and {date.label for date in within} == {span.label}:
            spans.remove(span)
    for date in spelt:
        over = [span for span in spans if span.start < date.end and date.start < span.end]
        if not any(_better(text, span, date) for span in over):
            spans = [*(span for span in spans if span not in over), date]
    return tuple(sorted(spans))


def _better(text: str, tagged: TaggedSpan, spelt: TaggedSpan) -> bool:
    """Say whether the tagger's entity is to stay and the one that is spelt out is not."""
    if tagged.label == spelt.label == "GPE":  # the article is as the tagger has it
        return ARTICLE.sub("", text[slice(*tagged[:2])]) == ARTICLE.sub("", text[slice(*spelt[:2])])
    if not (tagged.start <= spelt.start and spelt.end <= tagged.end):
        return False
    longer = tagged.end - tagged.start > spelt.end - spelt.start
    return longer or tagged.label == spelt.label


def _trimmed(text: str, span: TaggedSpan) -> TaggedSpan:
    """Return a date or time without the small words that no date starts or ends with."""
    if span.label not in ("DATE", "TIME"):
        return span
    start, end = span.start, span.end
    while (lead := EDGE.search(text[start:end])) is not None:
        start += lead.end()
    while (tail := TAIL.search(text[start:end])) is not None:
        end = start + tail.start()
    return span._replace(start=start, end=end)
