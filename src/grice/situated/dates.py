"""Dates, times, feasts and wars that their words give away, whatever a tagger says of them."""

from __future__ import annotations

import re

from grice.runtime.protocols import TaggedSpan

__all__ = ["merge_spans", "spelt_spans"]

MONTH = (
    r"(?:january|february|march(?= \d|,| \d{4})|april|may(?= \d)|june|july|august|september|"
    r"october|november|december)"
)
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
NUMBER = (
    r"(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|sixteen|"
    r"twenty(?:[- ]four)?|thirty|forty|fifty|sixty|half an?|a couple(?: of)?|a few|several|"
    r"many|"
    r"(?:hundreds|thousands|millions|billions)(?: of)?|hundred|thousand|million|billion)"
)
ABOUT = (
    r"(?:about|approximately|around|over|nearly|almost|roughly|more than|less than|at least|"
    r"the (?:past|last|next|first)|(?:past|last|next|first))"
)
AMOUNT = rf"(?:{ABOUT} )?(?:{NUMBER}[ -])+"
SPELT: tuple[tuple[str, str], ...] = (
    ("DATE", rf"(?:the )?(?:early |late |mid[- ])?(?:{DAY},? )?{MONTH}"
             r"(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? (?:1\d|20)\d\d)?"),
    ("DATE", rf"(?:last |next |every |each )?{DAY}"),
    ("DATE", r"(?:the )?(?:early |late |mid[- ]?)?(?:1[0-9]|20)\d0['’]?s|"
             r"(?:the )?(?:early |late |mid[- ]?)?[2-9]0['’]?s"),
    ("DATE", r"(?:(?:early|late|mid) )?(?:1[0-9]|20)\d\d"
             r"(?: ?(?:-|–|to|through) ?(?:(?:1[0-9]|20)?\d\d))?"
             r"(?! (?:miles|people|calories|feet|pounds|km|meters))"),
    ("DATE", r"(?:the )?(?:early |late |mid[- ])?\d{1,2}(?:st|nd|rd|th)[- ]century|"
             r"(?:the )?(?:\w+teenth|twent\w+|first|second|third|fourth|fifth|sixth|seventh|eighth|"
             r"ninth|tenth|eleventh|twelfth)[- ]century"),
    ("DATE", rf"{AMOUNT}(?:days?|weeks?|months?|years?|decades?|centur(?:y|ies))(?: ago| old)?"),
    ("TIME", rf"{AMOUNT}(?:hours?|minutes?|seconds?)(?: ago)?"),
    ("TIME", r"\d{1,2}(?::\d\d)? ?[ap]\.?m\b\.?|\d{1,2}:\d\d"),
    ("TIME", r"(?:the )?(?:(?:early |late |mid[- ])?(?:mornings?|afternoons?|evenings?)|"
             r"nights?|nighttime|tonight|midnight|noon)"),
    ("DATE", r"(?:the )?(?:(?:early|late|mid)[- ])?(?:winter|summer|autumn)"
             r"(?! (?:solstice|olympic|hemisphere|games))(?: months?)?"),
    ("DATE", r"today|yesterday|tomorrow|daily|weekly|monthly|annual(?:ly)?|yearly|"
             r"(?:the )?(?:past|last|next) (?:day|week|month|year|season|decade|"
             r"century|summer|winter|spring|fall|weekend)"),
    ("EVENT", r"(?:the )?(?:battle|siege|attack|bombing|treaty) (?:of|on) (?:the )?\w+"
              r"(?: harbor| bulge| antietam)?"),
    ("EVENT", r"(?:the )?(?:world war (?:ii|i|two|one|2|1)|ww(?:ii|i|2|1)|"
              r"(?:\w+ )?(?:civil|revolutionary|cold|vietnam|korean|gulf|trojan|crimean) war|"
              r"super bowl(?: [xvil]+\b| \d+)?|"
              r"(?:\d{4} )?(?:(?:summer|winter) )?(?:olympics|olympic games)|world cup|9/11|"
              r"september 11 attacks|renaissance|great depression|holocaust)"),
    ("GPE", r"(?:the )?(?:u\.s\.a\.?|u\.s\.?|u\.k\.?)(?!\w)|"
            r"(?:the )?united (?:states(?: of america)?|kingdom|arab emirates)"),
)  # fmt: skip
FOUND = [
    (label, re.compile(rf"(?<![\w$-])(?:{form})(?!\w)", re.IGNORECASE)) for label, form in SPELT
]
ALONE = re.compile(
    r"(?:the|an?|about|early|late|past|next|last|of|in|every|each|this|around|day|days|season|"
    r"seasons|months?|years?|times?|weeks?|decades?|past|"
    r"(?:a|an|one|each|every|the) (?:day|year|week|month|season)|hot|cold|new)", re.IGNORECASE,
)  # fmt: skip


def spelt_spans(text: str) -> list[TaggedSpan]:
    """Return the stretches that are dates, times or events by their words, without overlap.

    >>> [(span.label, span.start, span.end) for span in spelt_spans("It took 24 hours in 1999.")]
    [('TIME', 8, 16), ('DATE', 20, 24)]
    """
    found = [
        TaggedSpan(one.start(), one.end(), label, 1.0)
        for label, form in FOUND
        for one in form.finditer(text)
    ]
    found.sort(key=lambda span: (span.start - span.end, span.start))
    kept: list[TaggedSpan] = []
    for span in found:
        if not any(span.start < one.end and one.start < span.end for one in kept):
            kept.append(span)
    return sorted(kept)


def merge_spans(text: str, tagged: list[TaggedSpan]) -> tuple[TaggedSpan, ...]:
    """Return a tagger's entities with those that are spelt out put right.

    A longer entity of the tagger that holds the spelt one stays; lone articles and bare words such
    as "day" are dropped.
    """
    spans = [span for span in tagged if not ALONE.fullmatch(text[span.start : span.end].strip())]
    for spelt in spelt_spans(text):
        over = [one for one in spans if one.start < spelt.end and spelt.start < one.end]
        if any(one.start <= spelt.start and spelt.end <= one.end and (
            one.end - one.start > spelt.end - spelt.start or one.label == spelt.label
        ) for one in over):  # fmt: skip
            continue
        spans = [one for one in spans if one not in over]
        spans.append(spelt)
    return tuple(sorted(spans))
