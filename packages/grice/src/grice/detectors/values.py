"""Numbers, times and days of a text, in digits or words, in one form to compare."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from grice.detectors.conversation import squash
from grice.text import cached

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

_WORD = re.compile("[a-z]+")
_UNITS = _WORD.findall(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = _WORD.findall("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = _WORD.findall(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
WORDS: dict[str, float] = {
    **{word: float(value) for value, word in enumerate(_UNITS)},
    **{word: 20.0 + 10 * value for value, word in enumerate(_TENS)},
    **{word: float(value) for value, word in enumerate(_ORDINALS)},
    "a": 1.0, "an": 1.0, "single": 1.0, "couple": 2.0, "both": 2.0, "pair": 2.0, "twice": 2.0,
    "dozen": 12.0, "half": 0.5, "hundred": 100.0, "thousand": 1000.0, "thirtieth": 30.0,
}  # fmt: skip
_TENS_AND_UNIT = re.compile(
    rf"\b({'|'.join(_TENS)})[ -]({'|'.join([*_UNITS[1:10], *_ORDINALS[1:10]])})\b"
)
_NUMBER = re.compile(r"\d{1,3}(?:[,'’ ]\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?(?:[kK]\b)?")
_SMALL = "|".join([*_UNITS, *_TENS])
_LARGE = re.compile(
    rf"\b(?:(?:{_SMALL}|a)[ -]){{1,6}}(?:hundred|thousand)\b"
    rf"(?:(?: and)?[ -](?:{_SMALL}|hundred|thousand)\b){{0,8}}"
)
_DURATION = re.compile(
    rf"\b(\d{{1,2}}|{_SMALL}|an) hours?(?: and|,)? (\d{{1,2}}|{_SMALL}) minutes?\b"
)
Date = tuple[int, int, int]
"""Year, or 0, month and day."""
ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)")
WEEKDAYS = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)
RELATIVE = re.compile(
    r"\b(?:today|tomorrow|tonight|yesterday|next|this|coming|weekend|week|weeks|month|later|after|"
    r"before|now|morning after|day after)\b|\bin \w+ days\b",
    re.IGNORECASE,
)
"""Words for a day that no calendar is at hand for."""
_MONTHS = _WORD.findall(
    "january february march april may june july august september october november december"
)
MONTHS = {name[:n]: i for i, name in enumerate(_MONTHS, 1) for n in (3, 4, len(name))}
_NAME = "|".join(_MONTHS)
_DATED = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_NAME})\b(?:,? (\d{{4}}))?|"
    rf"\b({_NAME}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\d:.-])(\d{1,2})(?:[:.h](\d\d))(?::\d\d)?(?![\d:]|\.\d|-\d)\s?([ap]\.?m)?|"
    r"(?<![\d:.-])(\d{1,2})\s?([ap]\.?m\b|o['’]?clock)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:noon|midday|midnight)\b")
_SPOKEN = re.compile(r"\b(half|quarter) (past|to) (\w+)", re.IGNORECASE)
_AT = re.compile(
    r"\b(?:at|from|to|until|by|around|about|between|and|for) (\w+)\b(?![.:]\d)", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?P<before>[$€£¥] ?)?(?<![\w.,:/+-])(?<!\d )"
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![\w:/]|[.,]\d|-\w| \d\d|\.\s?\*)"
    r"(?P<unit> ?(?:[$€£¥%]|euros?|dollars?|pounds?|usd|eur|gbp|yen|"
    r"kg|g|km|"
    r"miles|m|cm|kwh|degrees|°|minutes?|mins?|hours?|days?|percent|per|points?)(?!\w))?",
    re.IGNORECASE,
)
_STARTS_LINE = re.compile(r"(?:^|\n)\s*\Z")


class Quantity(NamedTuple):
    """A number or time of a text; ``step`` is the unit of its last digit."""

    kind: str  # "amount" or "time"
    span: tuple[int, int]
    value: float = 0.0
    step: float = 1.0
    hour: int = 0
    minute: int = 0


@cached
def numbers_in(text: str) -> frozenset[float]:
    """Return the numbers of a text, those in words and parts of dates and times included.

    >>> sorted(numbers_in("two for 1,200.50 on 2026-05-14, the twenty-first"))
    [1.0, 2.0, 5.0, 14.0, 20.0, 21.0, 1200.5, 2026.0]
    """
    found = set()
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"[,'’ ]", "", match[0])
        found.add(float(digits.rstrip("kK")) * (1000 if digits[-1] in "kK" else 1))
    lowered = text.lower()
    words = _WORD.findall(lowered)
    found |= {WORDS[word] for word in words if word in WORDS}
    for tens, unit in _TENS_AND_UNIT.findall(lowered):
        found.add(WORDS[tens] + WORDS[unit])
    for large in _LARGE.findall(lowered):
        found.add(_composed(_WORD.findall(large)))
    for hours, minutes in _DURATION.findall(lowered):
        found.add(60 * _number(hours) + _number(minutes))
    return frozenset(found | _in_days(lowered, found))


def _composed(words: Iterable[str]) -> float:
    """Return the number that words such as "one thousand two hundred and five" name."""
    total = part = 0.0
    for word in words:
        if word == "hundred":
            part = 100 * max(part, 1)
        elif word == "thousand":
            total, part = total + 1000 * max(part, 1), 0.0
        else:
            part += WORDS.get(word, 0)
    return total + part


def _number(word: str) -> float:
    return float(word) if word.isdecimal() else WORDS[word]


def _in_days(text: str, numbers: Collection[float]) -> set[float]:
    return {7 * number for number in numbers if number < 9} if "week" in text else set()


def weekdays(text: str) -> set[str]:
    """Return the days of the week in a text."""
    return {match[1].lower() for match in WEEKDAYS.finditer(text)}


@cached
def clock_times(text: str) -> frozenset[tuple[int, int]]:
    """Return the times of a text as hours and minutes.

    >>> sorted(clock_times("at 8:15 or half past seven, not at six"))
    [(6, 0), (7, 30), (8, 15)]
    """
    times = {(each.hour, each.minute) for each in _times(text)}
    for part, side, word in _SPOKEN.findall(text):
        hour = _hour(word)
        if hour is not None:
            minutes = 30 if part.lower() == "half" else 15
            times.add(
                (hour, minutes) if side.lower() == "past" else ((hour - 1) % 24, 60 - minutes)
            )
    times |= {(hour, 0) for word in _AT.findall(text) if (hour := _hour(word)) is not None}
    lowered = text.lower()
    named = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}
    return frozenset(times | {named[word] for word in _NAMED.findall(lowered)})


def dated(text: str) -> Iterator[tuple[tuple[int, int], Date]]:
    """Yield the spans of dates in words, such as "3 May 2026" or "May 3rd", and the dates."""
    for match in _DATED.finditer(text):
        month = MONTHS[(match[2] or match[4]).lower()]
        yield match.span(), (int(match[3] or match[6] or 0), month, int(match[1] or match[5]))


@cached
def dates_in(text: str) -> frozenset[Date]:
    """Return the dates of a text, in words or as ``2026-05-03``."""
    written = ((int(year), int(month), int(day)) for year, month, day in ISO_DATE.findall(text))
    return frozenset([*written, *(date for _, date in dated(text))])


class Said:
    """Texts before a call or a reply, with the values in them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @cached_property
    def text(self) -> str:
        """All texts, one a line."""
        return "\n".join(self.texts)

    @cached_property
    def numbers(self) -> set[float]:
        """The numbers of :func:`numbers_in`, and weeks in days."""
        found = set().union(*map(numbers_in, self.texts))
        return found | _in_days(self.text.lower(), found)

    @cached_property
    def times(self) -> set[tuple[int, int]]:
        """The times of the day."""
        return set().union(*map(clock_times, self.texts))

    @cached_property
    def days(self) -> set[str]:
        """The days of the week."""
        return weekdays(self.text)

    @cached_property
    def words(self) -> set[str]:
        """The words in lower case."""
        return set().union(*map(_words, self.texts))

    @cached_property
    def squashed(self) -> str:
        """The letters and digits."""
        return "".join(map(_squashed, self.texts))


@cached
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


_squashed = cached(squash)


def _hour(word: str) -> int | None:
    value = float(word) if word.isdigit() else WORDS.get(word.lower())
    return int(value) if value is not None and 0 < value <= 24 and value == int(value) else None


def _times(text: str) -> list[Quantity]:
    found = []
    for match in _TIME.finditer(text):
        hour, minute = int(match[1] or match[4]), int(match[2] or 0)
        half = (match[3] or match[5] or "").lower()
        if hour > 24 or minute > 59 or ("." in match[0] and not half):
            continue
        hour = hour % 12 + 12 if half.startswith("p") else hour
        found.append(Quantity("time", match.span(), hour=hour, minute=minute))
    return found


def quantities(text: str) -> list[Quantity]:
    """Return the times of a text, and amounts of two digits or with a unit."""
    times = _times(text)
    taken = {place for each in times for place in range(*each.span)}
    spoken = {place for m in _DURATION.finditer(text.lower()) for place in range(*m.span())}
    found = times + [
        Quantity("amount", match.span(), 60 * _number(match[1]) + _number(match[2]))
        for match in _DURATION.finditer(text.lower())
    ]
    for match in _AMOUNT.finditer(text):
        start = match.start("number")
        if start in taken or start in spoken or _STARTS_LINE.search(text[: match.start()]):
            continue
        digits = match["number"].replace(",", "")
        has_unit = match["before"] or match["unit"]
        if not has_unit and (len(digits) < 2 or re.match(r"(?:19|20)\d\d\Z", digits)):
            continue
        decimals = len(digits.partition(".")[2])
        found.append(Quantity("amount", match.span("number"), float(digits), 10.0**-decimals))
    return found
