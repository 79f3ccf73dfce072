"""Replies that state numbers, times or days in conflict with the results of tools."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import product
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.arguments import COUNTED
from grice.detectors.calls import READ_BACK, block_before, calls_of, decoded, leaves_of
from grice.detectors.conversation import READ, Flaw
from grice.detectors.values import (
    ISO_DATE,
    WEEKDAYS,
    Date,
    Quantity,
    Said,
    clock_times,
    dated,
    dates_in,
    numbers_in,
    quantities,
    weekdays,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from grice.detectors.conversation import Background

SCALES = (1, 10, 100, 1000, 0.1, 0.01, 0.001, 60, 1 / 60)
AMOUNT = re.compile(r"[$€£]?\s?(\d{1,9}(?:,\d{3})*(?:\.\d+)?)\s?(?:[$€£%]|[A-Za-z]{1,8})?")
COUNTS = re.compile(rf"(?:{COUNTED.pattern}|stock|left|remaining|\\w+_left)", re.IGNORECASE)
NEAR = 5  # times that a wrong number is larger or smaller than the one in its place at most
MOST_NUMBERS = 40  # of a result; in longer ones almost every number can be derived


def conflicts(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find numbers, times and days in a reply that no result and no turn before has."""
    turns = background.talk.turns
    for turn in background.replies if calls_of(background) else ():
        block = [
            c for c in block_before(background, turn) if c.result is not None and c.turn < turn
        ]
        fine = [call for call in block if not call.error]
        if not fine:
            continue
        results = [turns[call.result].text[:READ] for call in fine if call.result is not None]
        calls = calls_of(background)
        first = bisect_left(calls, turn - READ_BACK, key=lambda call: call.turn)
        made = calls[first : bisect_left(calls, turn, key=lambda call: call.turn)]
        texts = [t.text[:READ] for t in turns[max(0, turn - READ_BACK) : turn]]
        before = Said(texts + [call.told for call in made])
        text = turns[turn].text[:READ]
        place = (
            _wrong_number(text, results, before)
            or _wrong_date(text, results, before)
            or _wrong_day(text, results)
            or _wrong_count(text, results)
        )
        if place:
            source = max(call.result for call in fine if call.result is not None)
            others = (Span(source, 0, len(turns[source].text)),)
            words = text[place[0] : place[1]]
            yield turn, Flaw(f'"{words}" is in no result', (place,), others)


def _wrong_number(text: str, results: list[str], before: Said) -> tuple[int, int] | None:
    """Return a number that nothing gives, where the reply leaves out a number of the results."""
    here = numbers_in("\n".join(results))
    if not here or len(here) > MOST_NUMBERS:
        return None
    known = before.numbers | {sum(values) for values in _columns(results)}
    stated, wrong = set(numbers_in(text)), []
    for found in quantities(text):
        if found.kind == "time":
            if not any((h % 12, m) == (found.hour % 12, found.minute) for h, m in before.times):
                left = set().union(*map(clock_times, results)) - clock_times(text)
                return found.span if left or not clock_times("\n".join(results)) else None
        elif (sources := _sources(found, known, here)) is None:
            wrong.append(found)
        else:
            stated |= sources
    values = {value for values in _columns(results) for value in values}
    left_out = (values or here) - stated
    close = (f for f in wrong if any(n / NEAR <= f.value <= n * NEAR for n in left_out))
    return next((found.span for found in close), None)


def _columns(results: list[str]) -> Iterator[list[float]]:
    """Yield the numbers of results that have one name."""
    columns: dict[str, list[float]] = {}
    for result in results:
        for name, value in leaves_of(decoded(result)):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                columns.setdefault(name, []).append(float(value))
            elif isinstance(value, str) and (amount := AMOUNT.fullmatch(value)):
                columns.setdefault(name, []).append(float(amount[1].replace(",", "")))
    yield from columns.values()


def _sources(
    found: Quantity, known: Collection[float], here: Collection[float]
) -> set[float] | None:
    """Return the numbers that give a number as it is, rounded, in another unit, or by one step.

    The step is a sum, a difference, a product, a quotient or a share in percent. None if there are
    no such numbers.
    """
    value, near = found.value, found.step / 2 + 1e-9
    same = {n for n in known for scale in SCALES if abs(n * scale - value) <= near}
    if same:
        return same
    for a, b in product(here, sorted(known)[:60]):
        results = [a + b, abs(a - b)]
        results += [a * b] if min(a, b) <= 31 else []
        results += [a / b] if b and b <= 31 else []
        results += [100 * a / b] if 0 <= a <= b and b else []
        if any(abs(result - value) <= near for result in results):
            return {a, b}
    return None


def _wrong_date(text: str, results: list[str], before: Said) -> tuple[int, int] | None:
    """Return a date that nothing gives, where the reply leaves out a date of the results."""
    given = set().union(*map(dates_in, results))
    named = list(dated(text))
    if not given or not named or {date[1:] for _, date in named} >= {date[1:] for date in given}:
        return _wrong_year(named, given, before)
    known = {date[1:] for date in set().union(*map(dates_in, before.texts))}
    numbers = numbers_in(ISO_DATE.sub(" ", before.text))
    for span, (_, month, day) in named:
        steps = (abs(31 * (month - m) + day - d) for m, d in known)
        if (month, day) not in known and not any(step in numbers for step in steps):
            return span
    return None


def _wrong_year(
    named: list[tuple[tuple[int, int], Date]], given: set[Date], before: Said
) -> tuple[int, int] | None:
    """Return a date whose year differs from that of the results, by no number of years given."""
    for span, (year, month, day) in named:
        years = {y for y, m, d in given if (m, d) == (month, day) and y}
        if year and years and not any(abs(year - y) in before.numbers | {0} for y in years):
            return span
    return None


def _wrong_day(text: str, results: list[str]) -> tuple[int, int] | None:
    """Return a day of the week that the results do not name, where they name another one."""
    stated = set().union(*map(weekdays, results))
    named = weekdays(text)
    if not stated or not named or named & stated or len(stated) > 1:
        return None
    match = WEEKDAYS.search(text)
    return match.span() if match else None


def _wrong_count(text: str, results: list[str]) -> tuple[int, int] | None:
    """Return a count of people or things that differs from the count in a result."""
    counts: dict[str, float] = {}
    values: set[float] = set()
    for result in results:
        for name, value in leaves_of(decoded(result)):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.add(float(value))
                if COUNTS.fullmatch(name.rpartition(".")[2]):
                    counts[name] = float(value)
    if len(counts) != 1:
        return None
    (stated,) = counts.values()
    said = [(m, n) for m, n in number_words(text) if n <= 20]
    if not said or any(n == stated for _, n in said):
        return None
    match, number = said[0]
    follows = text[match[1] :]
    if number in values or not re.match(r" (?:[a-z]+ ){0,2}[A-Za-z]+s\b| on\b| at\b|[,.]", follows):
        return None
    return (
        match
        if re.search(r"\bfor $|\bput $|\bordered:? ?$|\bhave $|\bthe $|\A$", text[: match[0]], re.I)
        else None
    )


def number_words(text: str) -> list[tuple[tuple[int, int], float]]:
    """Return the spans and values of small numbers in words or digits."""
    found = []
    for match in re.finditer(
        r"(?<![\w.:,-])(?:[a-z]+|\d{1,2})(?![\w:-]|[.,]\d)", text, re.IGNORECASE
    ):
        numbers = numbers_in(match[0])
        if numbers and match[0].lower() not in ("a", "an", "first", "second", "third"):
            found.append((match.span(), max(numbers)))
    return found
