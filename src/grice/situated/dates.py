"""Dates and times that their words give away, whatever a tagger says of them.

The forms follow OntoNotes, as its taggers read it: an amount of time takes its "about" and its
"ago" with it, the year before an event is a date of its own, a range after "between" is one date.
"""

from __future__ import annotations

import re

from grice.runtime.protocols import TaggedSpan
from grice.situated.events import NAMED

__all__ = ["merge_spans", "spelt_spans"]

MONTH = (
    r"(?:january|february|march(?= \d|,| the \d)|(?:(?<=late )|(?<=early )|(?<=in )|(?<=of ))"
    r"(?-i:March|May)|april|may(?= \d)|june|july|august|september|october|november|december)"
)
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
UNIT = r"(?:days?|weeks?|months?|years?|decades?|centur(?:y|ies)|millenni(?:um|a))"
UNITS = r"(?:days|weeks|months|years|decades|centuries|millennia)"
CLOCK = r"(?:hours?|minutes?|seconds?)"
ORDINAL = (
    r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|"
    r"eleventh|twelfth|\w+teenth|twent\w+)"
)
NUMBER = (
    r"(?:\d[\d,.]*(?: ?(?:-|–|to|or) ?\d[\d,.]*)?|one|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve|fifteen|sixteen|twenty(?:[- ]four)?|thirty|forty|fifty|sixty|half an?|"
    r"a couple(?: of)?|a few|several|many|"
    r"(?:hundreds|thousands|millions|billions)(?: of)?|(?:a )?(?:hundred|thousand|million)|billion)"
)
ABOUT = (
    r"(?:about|approximately|around|over(?= (?:\d|an?\b|one|two|three|four|five|ten))|nearly|"
    r"almost|roughly|more than|less than|fewer than|at least|up to|just under|only|"
    r"the (?:past|last|next|first)|(?:past|last|next|first))"
)
AMOUNT = rf"(?:{ABOUT} )?(?:{NUMBER}[ -])+"
KIND = r"(?:light|consecutive|long|calendar|full|whole|plus|more|school|earth|lunar)"
AFTER = r"(?: (?:ago|later|earlier|in a row|apart))?"
DECADE = r"(?:early |late |mid[- ]?)?(?:(?:1[0-9]|20)\d0|['’]?[2-9]0)['’]?s"
YEAR = r"(?:1\d|20)\d\d"
SPAN = rf"(?:{MONTH}|{YEAR}|the {ORDINAL}[- ]century|(?:the )?{DECADE})"
CENTURY = rf"(?:the )?(?:early |late |mid[- ])?{ORDINAL}[- ]centur(?:y|ies)(?: ?b\.?c\.?e?\.?)?"
AGES = (
    r"(?:the )?(?:early |late |high )?(?:(?:middle|dark) ages|"
    r"(?:bronze|stone|iron|ice|viking|gilded) age|"
    r"(?:permian|silurian|cretaceous|jurassic|triassic|cambrian|devonian|edo|heian|meiji) period|"
    r"(?:mesozoic|paleozoic|cenozoic|romantic|victorian|common|christian) era|"
    r"(?-i:[A-Z])\w+ dynasty)"
)
SPELT: tuple[tuple[str, str], ...] = (
    (
        "DATE",
        rf"(?:the )?(?:early |late |mid[- ])?(?:{DAY},? )?(?:the months? of )?{MONTH}"
        rf"(?: (?:the )?\d{{1,2}}(?: ?(?:st|nd|rd|th)\b)?)?(?:,? {YEAR})?",
    ),
    ("DATE", rf"(?:the )?\d{{1,2}}(?:st|nd|rd|th) of {MONTH}(?:,? {YEAR})?"),
    ("DATE", rf"between (?:the (?:months|years) of )?{SPAN} and {SPAN}"),
    (
        "DATE",
        rf"(?:last |next |(?:black|good|palm|holy|easter) )?{DAY}(?: the (?:13th|thirteenth))?"
        r"(?! night (?:live|football))",
    ),
    ("DATE", rf"(?:the )?{DECADE}"),
    (
        "DATE",
        rf"(?:(?:early|late|mid|the year) )?(?<!maroon ){YEAR}(?: ?(?:-|–|through) ?{YEAR}"
        rf"| ?(?<!from \d{{4}} )to {YEAR}| ?[-–] ?\d\d)?"
        r"(?! (?:miles|people|calories|feet|pounds|km|meters))",
    ),
    ("DATE", CENTURY),
    ("DATE", AGES),
    ("DATE", rf"{AMOUNT}(?:{KIND} )?{UNIT}(?:(?:(?<=year)|(?<=month)|(?<=week))[- ]olds?|{AFTER})"),
    ("DATE", rf"(?:about|more than|less than|over|nearly|almost|half|at least) an? {UNIT}{AFTER}"),
    (
        "DATE",
        rf"(?<=for )(?:an? )?{UNIT}|(?<=after )years|(?<=over )the {UNITS}|"
        rf"{UNITS} (?:ago|later)",
    ),
    (
        "DATE",
        r"(?:all|every|that|the same|the next|the following|the previous) day"
        r"|(?<=during )the day|(?:that|this|the same) (?:year|month|week|decade|century)",
    ),
    (
        "DATE",
        rf"the (?:very )?(?:{ORDINAL}|first|last|final|longest|shortest|end|beginning|start|"
        r"middle|rest)(?: (?:half|quarter|day|week|month|year|decade))? of (?:the |each |"
        rf"this |that )?(?:{ORDINAL} )?(?:century|decade|year|month|week|day|{YEAR}|{MONTH})"
        rf"(?: of (?:the )?(?:year|{MONTH}|{ORDINAL} century))?",
    ),
    ("TIME", rf"{AMOUNT}{CLOCK}{AFTER}|half an hour|(?<=for )hours"),
    ("TIME", r"\d{1,2}(?::\d\d)? ?[ap]\.?m\b\.?|\d{1,2}:\d\d"),
    (
        "TIME",
        r"(?:the (?:next |following )?|this |that |one |every )?"
        r"(?:(?:early |late |mid[- ])?(?:mornings?|afternoons?|evenings?)|"
        r"nights?|nighttime|tonight|midnight|noon)",
    ),
    (
        "DATE",
        r"(?:the )?(?:(?:early|late|mid)[- ])?(?:winter|summer|autumn)"
        r"(?! (?:solstice|olympic|hemisphere|games|war))(?: months?)?",
    ),
    (
        "DATE",
        r"today|yesterday|tomorrow|"
        r"(?:the )?(?:past|last|next) (?:day|week|month|year|season|decade|"
        r"century|summer|winter|spring|fall|weekend)",
    ),
    *NAMED,
)
FOUND = [
    (label, re.compile(rf"(?<![\w$-])(?:{form})(?!\w)", re.IGNORECASE)) for label, form in SPELT
]
ALONE = re.compile(
    r"(?:the|an?|about|early|late|past|next|last|of|in|every|each|this|around|over|only|days?|"
    r"seasons?|months?|years?|times?|weeks?|decades?|past|daily|weekly|annual(?:ly)?|yearly|"
    r"(?:a|an|one|each|every|the) (?:year|week|month|season)|(?:a |an )?(?:hot|cold|new|warm|sunny)"
    r"(?: day| month)?|(?:his|her|our|both|each|many|"
    r"(?:a |the )?(?:holy|present|current)|the (?:end|start) of)"
    r"(?: day)?|is|at|the calendar|the ages?|\d+(?:gb|mb|kb))",
    re.IGNORECASE,
)
MONTHS = re.compile(MONTH, re.IGNORECASE)
SEASON = re.compile(r"(?:the )?(?:winter|summer|autumn)", re.IGNORECASE)
"""Beside a month a season is what is said of it, and no date."""
ARTICLE = re.compile(r"^the ", re.IGNORECASE)
EDGE = re.compile(
    r"^(?:after|during|on|in|at|by|until|over(?= (?:many|millions|billions|several)))\s"
)
TAIL = re.compile(r"\s(?:and|of|in|at|on|or|to|than|after|before|is|the|a|every|each)$")


def spelt_spans(text: str) -> list[TaggedSpan]:
    """Return the stretches that are dates, times or events by their words, without overlap.

    >>> [(span.label, span.start, span.end) for span in spelt_spans("It took 24 hours in 1999.")]
    [('TIME', 8, 16), ('DATE', 20, 24)]
    """
    matches = [
        TaggedSpan(match.start(), match.end(), label, 1.0)
        for label, form in FOUND
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
    if any(date.label == "DATE" and MONTHS.search(text, date.start, date.end) for date in spelt):
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
