"""Flaws of an assistant that calls tools: arguments, results, claims, errors, repeated calls.

Calls are those of OpenAI's messages (``tool_calls``, ``function_call``) and of Anthropic's
(``tool_use``), as readers keep them in ``turn.meta``; results are the turns of tools.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from difflib import SequenceMatcher
from itertools import islice, product, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from grice.data import Span
from grice.detectors.conversation import READ, Flaw, squash
from grice.detectors.rules import Rule
from grice.detectors.values import (
    MONTHS,
    RELATIVE,
    WEEKDAYS,
    Quantity,
    clock_times,
    fits_said,
    numbers_in,
    quantities,
    weekdays,
)
from grice.errors import excerpt
from grice.readers.roles import TOOL, USER, role_of, roles_of
from grice.text.wordlists import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Turn
    from grice.detectors.conversation import Background

READ_BACK = 100  # turns before a call or reply in which something may have been said
MOST_NUMBERS = 40  # of a result; in longer ones almost every number can be derived
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
    r"guest|driver|tag|account|card|licen[cs]e|plate",
    re.IGNORECASE,
)
"""Names of arguments whose texts are copied and not paraphrased."""
SIMILAR = 0.6  # of an argument to words that were said, from which on it is a slip
FAILED = re.compile(
    r"\b(?:sorry|apolog\w+|unfortunately|afraid|unable|fail\w*|errors?|problems?|issues?|trouble|"
    r"unavailable|declined|sold out|not|no|none|cannot|nothing|again|later|reach\w*|"
    r"mistake|wrong|correct(?:ion)?|instead|full|missing|invalid|offline|down|outage)\b|n['’]t\b|"
    r"\?",
    re.IGNORECASE,
)
"""Words of a reply that tells that something did not work, or asks how to go on."""
READS = words_of(
    "get search find list lookup look query fetch read check show view estimate quote track count "
    "describe retrieve test compare calculate compute convert"
)
WRITES = words_of(
    "book reserve cancel order add create update set change send submit move reschedule delete "
    "remove renew transfer pay buy purchase enrol enroll register sign hold put refund block "
    "notify email mail message schedule confirm place make post write insert assign close open "
    "start stop activate deactivate subscribe unsubscribe rent issue apply save edit modify switch "
    "upgrade downgrade replace return execute run call invite remind"
)
_DONE = (
    r"booked|reserved|cancell?ed|ordered|sent|transferred|changed|updated|deleted|removed|added|"
    r"scheduled|rescheduled|moved|renewed|refunded|created|informed|notified|switched|registered|"
    r"submitted|blocked|emailed|enroll?ed|paid|bought|purchased|replaced|upgraded|activated|placed"
)
CLAIM = re.compile(
    rf"\bI(?:['’]ve| have)?(?: just| now| already| also| successfully)? (?P<verb>{_DONE}|put)\b"
    rf"|\b(?:is|are|has been|have been|was) (?:now |successfully |all )?(?P<passive>{_DONE})\b"
    rf"|\A\W*(?:done|all set)\b",
    re.IGNORECASE,
)
"""A claim that something was done just now."""
POLLS = words_of("status track tracking poll wait check position progress weather time now balance")
"""Calls whose answer changes by itself."""
EXPECTED = ("expected_trajectory", "reference_trajectory", "expected_tools")


class Call(NamedTuple):
    """A call of a tool, with the text that answered it."""

    turn: int
    name: str
    arguments: dict[str, Any]
    result: int | None
    error: bool

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name).lower())

    @property
    def writes(self) -> bool:
        """Whether its name says that it changes something."""
        return not WRITES.isdisjoint(self.words) and self.words[0] not in READS


def calls_of(background: Background) -> list[Call]:
    """Return the calls of a conversation, in order, each with its result."""
    if background.calls is None:
        background.calls = list(_calls(background.talk.turns))
    return background.calls


def _calls(turns: Sequence[Turn]) -> Iterator[Call]:
    roles = roles_of(turns)
    for place, turn in enumerate(turns):
        if not turn.meta or roles[place] == TOOL:
            continue
        stated = (
            turn.meta.get("tool_calls")
            or turn.meta.get("function_call")
            or turn.meta.get("content")
        )
        items = stated if isinstance(stated, list) else [stated]
        calls = [
            c for c in items if isinstance(c, dict) and c.get("type") not in ("text", "tool_result")
        ]
        for number, call in enumerate(calls):
            inner = call.get("function") if isinstance(call.get("function"), dict) else call
            name = inner.get("name") if isinstance(inner, dict) else None
            if not isinstance(inner, dict) or not isinstance(name, str):
                continue
            given = inner.get("arguments", inner.get("args", inner.get("input")))
            arguments = _decoded(given)
            result = _result(turns, place, call.get("id"), number)
            error = result is not None and is_error(turns[result].text)
            yield Call(place, name, arguments if isinstance(arguments, dict) else {}, result, error)


def _result(turns: Sequence[Turn], place: int, name: object, number: int) -> int | None:
    """Return the turn that answers a call: by its id, else by its place."""
    after = []
    for turn in range(place + 1, len(turns)):
        if role_of(turns[turn].role, turns[turn].speaker) != TOOL:
            break
        after.append(turn)
    named = [turn for turn in after if name and turns[turn].meta.get("tool_call_id") == name]
    return next(iter(named or after[number : number + 1]), None)


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value[:READ])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return value


def is_error(text: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    value = _decoded(text)
    if not isinstance(value, dict):
        return bool(
            re.match(
                r"\W{0,3}(?:error|exception|traceback|HTTP/?\S{0,4} ?[45]\d\d|timeout)\b",
                text,
                re.I,
            )
        )
    if any(value.get(key) for key in ("error", "errors", "exception", "is_error", "isError")):
        return True
    status = str(value.get("status", "")).lower()
    return any(value.get(key) is False for key in ("ok", "success")) or status in (
        "error",
        "failed",
        "failure",
    )


# Arguments


def unsaid_arguments(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find arguments that differ from everything said before, where something like it was said."""
    turns, roles = background.talk.turns, background.roles
    for call in calls_of(background):
        before = range(max(0, call.turn - READ_BACK), call.turn)
        user = "\n".join(turns[i].text[:READ] for i in before if roles[i] == USER)
        said = "\n".join([user, *(turns[i].text[:READ] for i in before if roles[i] != USER)])
        recent = "\n".join([turns[i].text[:READ] for i in before if roles[i] == USER][-2:])
        leaves = list(_leaves(call.arguments))
        used = {float(value) for _, value in leaves if isinstance(value, (int, float))}
        for name, value in leaves:
            if TECHNICAL.search(name) or isinstance(value, bool) or value in ("", None):
                continue
            if _is_unsaid(name, value, user, said, recent, used):
                words = excerpt(str(value), 60)
                last = max((i for i in before if roles[i] == USER), default=None)
                others = () if last is None else (Span(last, 0, len(turns[last].text)),)
                yield (
                    call.turn,
                    Flaw(f'{call.name}: {name} is "{words}", which nobody said', (), others),
                )


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for inner in value[:20]:
            yield from _leaves(inner, name)
    else:
        yield name, value


def _is_unsaid(
    name: str, value: object, user: str, said: str, recent: str, used: set[float]
) -> bool:
    if isinstance(value, (int, float)):
        if fits_said(float(value), numbers_in(said)) or value in (0, 1):
            return False
        # Another number of the last turns that no argument has, or a count out of nothing.
        other = {n for n in numbers_in(recent) if n > 1} - used
        return bool(other) or bool(COUNTED.search(name) and not numbers_in(user))
    if not isinstance(value, str) or squash(value) in squash(said):
        return False
    if day := weekdays(value):
        return (
            len(value) < 12
            and not day & weekdays(said)
            and bool(weekdays(recent))
            and not RELATIVE.search(recent)
        )
    if date := re.match(r"\d{4}-(\d\d)-(\d\d)", value):
        return _date_unsaid(int(date[1]), int(date[2]), user, said)
    if re.fullmatch(r"\d{1,2}:\d\d(?::\d\d)?", value):
        times = clock_times(user)
        (time,) = clock_times(value) or {(-1, -1)}
        known = times | clock_times(said)
        return bool(times) and not any((h % 12, m) == (time[0] % 12, time[1]) for h, m in known)
    if not IDENTITY.search(name) or len(value) > 80:
        return False
    return _nearly_said(value, said)


def _date_unsaid(month: int, day: int, user: str, said: str) -> bool:
    numbers = numbers_in(said)
    months = {MONTHS[m] for m in re.findall(r"[a-z]{3,9}", user.lower()) if m in MONTHS}
    dates = re.findall(r"\b(\d{1,2})[./](\d{1,2})[./]\d{2,4}\b", user)
    if not (months or dates) or (RELATIVE.search(user) and not months):
        return False
    if months and month not in months and not {month - 1 or 12} & months:
        return True
    # The end of a stay is the sum of its beginning and length.
    stays = re.search(r"\b(?:nights?|days?|weeks?)\b", said, re.IGNORECASE)
    sums = {a + b for a, b in product(numbers, numbers) if a + b < 32} if stays else set()
    return day not in numbers and day not in sums


def _nearly_said(value: str, said: str) -> bool:
    """Return whether a text differs a little from words that were said."""
    tokens = re.findall(r"\w+", value.lower())
    known = set(re.findall(r"\w+", said.lower()))
    strange = [token for token in tokens if token not in known and not fits_said_word(token, said)]
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


def fits_said_word(token: str, said: str) -> bool:
    """Return whether a token is a number that was said in words."""
    return token.isdigit() and float(token) in numbers_in(said)


# Results


def _block(background: Background, turn: int) -> list[Call]:
    """Return the calls between the last turn of a user and a reply."""
    start = background.user_before(turn)
    calls = calls_of(background)
    first = bisect_right(calls, start, key=lambda call: call.turn)
    return list(takewhile(lambda call: call.turn <= turn, islice(calls, first, None)))


def conflicts(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find numbers, times and days in a reply that no result and no turn before has."""
    turns = background.talk.turns
    for turn in background.replies if calls_of(background) else ():
        block = [c for c in _block(background, turn) if c.result is not None and c.turn < turn]
        fine = [call for call in block if not call.error]
        if not fine:
            continue
        results = [turns[call.result].text[:READ] for call in fine if call.result is not None]
        before = "\n".join(
            [
                *(t.text[:READ] for t in turns[max(0, turn - READ_BACK) : turn]),
                *(str(c.arguments) for c in calls_of(background) if c.turn < turn),
            ]
        )
        text = turns[turn].text[:READ]
        if (place := _wrong_number(text, results, before)) or (
            place := _wrong_day(text, results) or _wrong_count(text, results)
        ):
            source = max(call.result for call in fine if call.result is not None)
            others = (Span(source, 0, len(turns[source].text)),)
            words = text[place[0] : place[1]]
            yield turn, Flaw(f'"{words}" is in no result', (place,), others)


def _wrong_number(text: str, results: list[str], before: str) -> tuple[int, int] | None:
    known, here = numbers_in(before), numbers_in("\n".join(results))
    if not here or len(here) > MOST_NUMBERS:
        return None
    times = clock_times(before)
    for found in quantities(text):
        if found.kind == "time":
            if not any((h % 12, m) == (found.hour % 12, found.minute) for h, m in times):
                return found.span
        elif found.kind == "amount" and not _derived(found, known, here):
            return found.span
    return None


def _derived(found: Quantity, known: set[float], here: set[float]) -> bool:
    """Return whether a number is known, rounded, in another unit, a sum or a product."""
    value, step = found.value, found.step
    scales = (1, 10, 100, 1000, 0.1, 0.01, 0.001, 60, 1 / 60)
    if any(abs(n * scale - value) <= step / 2 + 1e-9 for n in known for scale in scales):
        return True
    small = sorted(known)[:60]
    return any(
        abs(result - value) <= step / 2 + 1e-9
        for a, b in product(here, small)
        for result in (
            a + b,
            abs(a - b),
            a * b if min(a, b) <= 31 else -1.0,
            a / b if b and b <= 31 else -1.0,
        )
    )


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
        for name, value in _leaves(_decoded(result)):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.add(float(value))
                if COUNTED.fullmatch(name.rpartition(".")[2]):
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


# Claims, errors, repeated calls


def claims(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find claims of an action without a call for it, in a conversation with tools."""
    claimed: set[str] = set()
    calls = calls_of(background)
    for turn in background.replies if calls else ():
        text = background.talk.turns[turn].text[:READ]
        match = CLAIM.search(text)
        if match is None or any(call.writes for call in _block(background, turn)):
            continue
        verb = (match["verb"] or match["passive"] or "").lower()
        if not verb or (match["passive"] and not _opens(text, match.start())):
            continue
        stem = verb[:4]
        earlier = [
            c for c in calls if c.turn < turn and not c.error and (c.writes or _is_about(c, stem))
        ]
        if stem in claimed or any(_is_about(call, stem) for call in earlier):
            continue
        claimed.add(stem)
        yield turn, Flaw(f'claims "{match[0].strip()}" without a call for it', (match.span(),))


def _opens(text: str, start: int) -> bool:
    """Return whether only a subject stands before a place in its sentence."""
    return len(re.split(r"[.!?:,]", text[:start])[-1].split()) <= 6


def _is_about(call: Call, stem: str) -> bool:
    return any(
        word.startswith(stem) or stem.startswith(word) for word in call.words if len(word) > 2
    )


def ignored_errors(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find replies to a failed call that say nothing of it."""
    turns = background.talk.turns
    for turn in background.replies if calls_of(background) else ():
        block = [
            call
            for call in _block(background, turn)
            if call.result is not None and call.result < turn
        ]
        if not block or not block[-1].error or not turns[turn].text.strip():
            continue
        if not FAILED.search(turns[turn].text):
            source = block[-1].result or 0
            others = (Span(source, 0, len(turns[source].text)),)
            yield (
                turn,
                Flaw(
                    f"says nothing of the error of {block[-1].name}",
                    ((0, len(turns[turn].text)),),
                    others,
                ),
            )


def repeated_calls(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find a call with the same arguments as an earlier one, after which nothing was changed."""
    seen: dict[tuple[str, str], int] = {}
    for call in calls_of(background):
        key = call.name, msgspec.json.encode(call.arguments, order="sorted").decode()
        earlier = seen.get(key)
        if earlier is not None and POLLS.isdisjoint(call.words):
            yield call.turn, Flaw(f"repeats the call of turn {earlier}: {call.name}")
            continue
        if call.writes and not call.error:
            seen.clear()
        if not call.error:
            seen[key] = call.turn


def trajectories(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find calls that differ from the expected ones, if the record states those.

    The record has a list of names, or ``{"mode": …, "calls": […]}`` with the mode ``strict`` (the
    same in this order), ``unordered``, ``subset`` (no others) or ``superset`` (at least these).
    """
    meta = background.talk.meta
    stated = next((meta[name] for name in EXPECTED if name in meta), None)
    mode, wanted = ("strict", stated)
    if isinstance(stated, dict):
        mode, wanted = str(stated.get("mode", "strict")), stated.get("calls", stated.get("tools"))
    if not isinstance(wanted, list) or not background.talk.turns:
        return
    names = [str(item.get("name") if isinstance(item, dict) else item) for item in wanted]
    made = [call.name for call in calls_of(background)]
    missing, more = Counter(names) - Counter(made), Counter(made) - Counter(names)
    fine = {
        "strict": made == names,
        "unordered": not missing and not more,
        "subset": not more,
        "superset": not missing,
    }
    if not fine.get(mode, True):
        calls = calls_of(background)
        turn = calls[-1].turn if calls else len(background.talk.turns) - 1
        yield (
            turn,
            Flaw(f"calls {', '.join(made) or 'nothing'}; expected ({mode}): {', '.join(names)}"),
        )


RULES = (
    Rule("A401", "unsaid-argument", "argument nobody said", scan=unsaid_arguments),
    Rule("A402", "conflicts-with-result", "conflicts with a tool's result", scan=conflicts),
    Rule("A403", "claims-action", "claims an action without a call", scan=claims),
    Rule("A404", "ignores-error", "ignores a tool's error", scan=ignored_errors),
    Rule(
        "A405",
        "repeated-call",
        "repeats an identical call",
        scan=repeated_calls,
        severity="warning",
    ),
    Rule("A406", "unexpected-calls", "not the expected calls", scan=trajectories),
)
