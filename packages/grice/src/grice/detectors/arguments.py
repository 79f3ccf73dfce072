"""Arguments of calls that differ from everything said before."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import product
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.calls import READ_BACK, calls_of, leaves_of
from grice.detectors.conversation import READ, Flaw, squash
from grice.detectors.values import (
    MONTHS,
    RELATIVE,
    Said,
    clock_times,
    dates_in,
    numbers_in,
    weekdays,
)
from grice.errors import excerpt
from grice.readers.roles import USER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.detectors.conversation import Background

TECHNICAL = re.compile(
    r"limit|page|offset|max_?results|top|size|radius|sort|version|temperature|timeout|retries|"
    r"lat|lon|lng|threshold|precision|seed|user_?id|session|token|count_only|format|currency",
    re.IGNORECASE,
)
"""Names of arguments that a program fills in."""
COUNTED = re.compile(
    r"people|persons?|guests?|party|quantity|qty|items?|seats|tickets|adults|children|count", re.I
)
IDENTITY = re.compile(
    r"name|mail|phone|address|street|order|ticket|number|code|\bid\b|_id|ref|parcel|booking|"
    r"passenger|"
    r"guest|driver|tag|account|card|last_?4|last_digits|licen[cs]e|plate",
    re.IGNORECASE,
)
"""Names of arguments whose texts are copied and not paraphrased."""
AMOUNT = re.compile(r"amount|price|budget|limit|days|nights|hours|weeks|total|sum", re.IGNORECASE)
SLIP = 0.75  # similarity of the digits of two numbers, one of which is a slip of the other
SIMILAR = 0.6  # of an argument to words that were said, from which on it is a slip


def unsaid_arguments(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find arguments that differ from everything said before, where something like it was said."""
    turns, roles = background.talk.turns, background.roles
    for call in calls_of(background):
        before = range(max(0, call.turn - READ_BACK), call.turn)
        by_user = [turns[i].text[:READ] for i in before if roles[i] == USER]
        others = [turns[i].text[:READ] for i in before if roles[i] != USER]
        user, said, recent = Said(by_user), Said(by_user + others), Said(by_user[-2:])
        leaves = list(leaves_of(call.arguments))
        used = _used([value for _, value in leaves])
        for name, value in leaves:
            if TECHNICAL.search(name) or isinstance(value, bool) or value in ("", None):
                continue
            if _is_unsaid(name, value, user, said, recent, used):
                words = excerpt(str(value), 60)
                last = max((i for i in before if roles[i] == USER), default=None)
                spans = () if last is None else (Span(last, 0, len(turns[last].text)),)
                message = f'{call.name}: {name} is "{words}", which nobody said'
                yield call.turn, Flaw(message, (), spans)


def _used(values: Sequence[object]) -> set[float]:
    """Return the numbers that arguments have, hours by the clock of 12, and days between dates."""
    texts = [str(value) for value in values]
    numbers = set().union(*map(numbers_in, texts))
    numbers |= {number - 12 for number in numbers if 12 < number <= 24}
    days = [day for text in texts for _, _, day in dates_in(text)]
    return numbers | {float(abs(a - b)) for a, b in product(days, days)}


def _is_unsaid(
    name: str, value: object, user: Said, said: Said, recent: Said, used: set[float]
) -> bool:
    if isinstance(value, (int, float)):
        if {value, value / 1000} & said.numbers or value in (0, 1):
            return False
        # Another number of the last turns that no argument has, or a count out of nothing.
        other = {n for n in recent.numbers if n > 1} - used
        if COUNTED.search(name):
            return bool(other) or not user.numbers
        return any(_is_slip(float(value), n) for n in other) or bool(other and AMOUNT.search(name))
    if not isinstance(value, str) or _is_said(value, said):
        return False
    if day := weekdays(value):
        return (
            len(value) < 12
            and not day & said.days
            and bool(recent.days)
            and not RELATIVE.search(recent.text)
        )
    if date := re.match(r"\d{4}-(\d\d)-(\d\d)", value):
        return _date_unsaid(int(date[1]), int(date[2]), user, said)
    if re.fullmatch(r"\d{1,2}:\d\d(?::\d\d)?", value):
        (time,) = clock_times(value) or {(-1, -1)}
        same = ((h % 12, m) == (time[0] % 12, time[1]) for h, m in said.times)
        return bool(user.times) and not any(same)
    if not IDENTITY.search(name) or len(value) > 80:
        return False
    return _nearly_said(value, said)


def _is_slip(value: float, said: float) -> bool:
    """Return whether a number has the digits of another one, but for one or in another order."""
    one, other = (f"{number:.10g}" for number in (value, said))
    if sorted(one) == sorted(other):
        return True
    return min(len(one), len(other)) > 1 and SequenceMatcher(None, one, other).ratio() >= SLIP


def _is_said(value: str, said: Said) -> bool:
    """Return whether the letters and digits of a text were said; "14 Lane" is not in "114 Lane"."""
    squashed = squash(value)
    if not squashed or squashed.isdecimal() or not (squashed[0] + squashed[-1]).isalnum():
        return squashed in said.squashed
    start, end = (r"(?<!\d)" * squashed[0].isdecimal(), r"(?!\d)" * squashed[-1].isdecimal())
    return re.search(start + re.escape(squashed) + end, said.squashed) is not None


def _date_unsaid(month: int, day: int, user: Said, said: Said) -> bool:
    numbers = said.numbers
    months = {MONTHS[m] for m in user.words if m in MONTHS}
    dates = re.findall(r"\b(\d{1,2})[./](\d{1,2})[./]\d{2,4}\b", user.text)
    if not (months or dates) or (RELATIVE.search(user.text) and not months):
        return False
    if months and month not in months and not {month - 1 or 12} & months:
        return True
    # The end of a stay is the sum of its beginning and length.
    stays = re.search(r"\b(?:nights?|days?|weeks?)\b", said.text, re.IGNORECASE)
    sums = {a + b for a, b in product(numbers, numbers) if a + b < 32} if stays else set()
    return day not in numbers and day not in sums


def _nearly_said(value: str, said: Said) -> bool:
    """Return whether a text differs a little from words that were said."""
    tokens = re.findall(r"\w+", value.lower())
    known = said.words
    strange = [
        t for t in tokens if t not in known and not (t.isdecimal() and float(t) in said.numbers)
    ]
    if not strange:
        return False
    if len(tokens) > 1 and len(strange) < len(tokens):
        return True
    near = (SequenceMatcher(None, strange[0], word).ratio() for word in known if len(word) > 3)
    return (
        len(strange) == 1
        and len(strange[0]) > 3
        and any(ratio >= SIMILAR for ratio in near)
        and any(map(str.isdigit, value))
    )
