"""Calls of tools in a conversation: names, arguments, results and errors.

Calls are those of OpenAI's messages (``tool_calls``, ``function_call``) and of Anthropic's
(``tool_use``), as readers keep them in ``turn.meta``; results are the turns of tools.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from grice.detectors.conversation import READ
from grice.readers.roles import TOOL, role_of
from grice.text.wordlists import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Turn
    from grice.detectors.conversation import Background
    from grice.readers.roles import Role

READ_BACK = 100  # turns before a call or reply in which something may have been said
DEEPEST, LARGEST = 20, 1e15
"""Levels of arguments and results that are read, and their largest number."""
READS = words_of(
    "get search find list lookup look query fetch read check show view estimate quote track count "
    "describe retrieve test compare calculate compute convert "
    "price prices stock status weather balance availability slots info details forecast rate rates "
    "fees inventory"
)
WRITES = words_of(
    "book reserve cancel order add create update set change send submit move reschedule delete "
    "remove renew transfer pay buy purchase enrol enroll register sign hold put refund block "
    "notify email mail message schedule confirm place make post write insert assign close open "
    "start stop activate deactivate subscribe unsubscribe rent issue apply save edit modify switch "
    "upgrade downgrade replace return execute run call invite remind"
)


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
        return words_of_name(self.name)

    @property
    def key(self) -> str:
        """Its name and arguments, the same for calls that are the same."""
        return f"{self.name} {sorted(leaves_of(self.arguments), key=lambda leaf: leaf[0])}"

    @property
    def told(self) -> str:
        """Its arguments as text."""
        return " ".join(f"{name} {value}" for name, value in leaves_of(self.arguments))

    @property
    def may_write(self) -> bool:
        """Whether its name leaves open that it changes something."""
        return bool(self.words) and self.words[0] not in READS

    @property
    def writes(self) -> bool:
        """Whether its name says that it changes something."""
        return not WRITES.isdisjoint(self.words) and self.words[0] not in READS


def words_of_name(name: str) -> list[str]:
    """Return the words of the name of a tool.

    >>> words_of_name("updateOrder_v2")
    ['update', 'order', 'v']
    """
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def calls_of(background: Background) -> list[Call]:
    """Return the calls of a conversation, in order, each with its result."""
    if background.calls is None:
        background.calls = list(_calls(background.talk.turns, background.roles))
    return background.calls


def _calls(turns: Sequence[Turn], roles: Sequence[Role | None]) -> Iterator[Call]:
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
            arguments = decoded(given)
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


def decoded(value: object) -> object:
    """Return the value of a JSON text, and any other text unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value[:READ])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return value


def is_error(text: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    value = decoded(text)
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


def block_before(background: Background, turn: int) -> list[Call]:
    """Return the calls between the last turn of a user and a reply."""
    start = background.user_before(turn)
    calls = calls_of(background)
    first = bisect_right(calls, start, key=lambda call: call.turn)
    return list(takewhile(lambda call: call.turn <= turn, islice(calls, first, None)))


def leaves_of(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield texts and numbers within a value with their names, but no number that is too large."""
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves_of(inner, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list):
        for inner in value[:20]:
            yield from leaves_of(inner, name, depth + 1)
    elif not isinstance(value, (int, float)) or abs(value) < LARGEST:
        yield name, value
