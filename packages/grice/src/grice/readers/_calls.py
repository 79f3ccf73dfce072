"""Calls of models, as tracers log and export them, put together into conversations.

A tracer logs each call with all that was sent. The calls of a conversation repeat one another: each
holds the history again, or a part of it. Here they become one conversation, whose targets are the
replies.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import RecordError
from grice.readers._chat import history_of, replies_of, turns_in
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, kind, object_of, parsed_lines
from grice.readers.roles import ASSISTANT, role_of
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from grice.readers._format import Found, Line
    from grice.records import Json, Turn

HELD = 50_000
"""Calls that are kept until the end of a file; beyond that, the conversation that has been quiet
for longest is taken to be over."""


class Call(NamedTuple):
    """One call of a model; of one trace only the calls of the highest rank count.

    ``time`` has any unit that sorts; calls without one keep the order of the file.
    """

    conversation: str
    trace: str
    rank: int
    time: str
    history: Sequence[Turn]
    replies: Sequence[Turn]
    meta: Mapping[str, Json] = MappingProxyType({})


def conversations(calls: Iterable[Call | RecordError]) -> Iterator[Found]:
    """Yield the conversation of all calls with one name, in the order of their first calls."""
    waiting: OrderedDict[str, list[Call]] = OrderedDict()
    held = 0
    for call in calls:
        if isinstance(call, RecordError):
            yield call
            continue
        waiting.setdefault(call.conversation, []).append(call)
        held += 1
        if held > HELD:
            waiting.move_to_end(call.conversation)
            _, over = waiting.popitem(last=False)
            held -= len(over)
            yield _merged(over)
    for together in waiting.values():
        yield _merged(together)


def _merged(calls: Sequence[Call]) -> Conversation:
    best: dict[str, int] = {}
    for call in calls:
        best[call.trace] = max(call.rank, best.get(call.trace, call.rank))
    turns: list[Turn] = []
    targets: list[int] = []
    meta: dict[str, Json] = {}
    for call in sorted(calls, key=lambda call: call.time):
        if call.rank < best[call.trace]:
            continue
        whole = [*call.history, *call.replies]
        if _shared(turns, whole) == len(whole):
            continue  # logged twice: by the agent, and by the model that it asked
        turns += _new(turns, call.history)
        first = len(turns)
        turns += call.replies
        targets += [
            place
            for place in range(first, len(turns))
            if turns[place].role is None or role_of(turns[place].role) == ASSISTANT
        ]
        meta.update(call.meta)
    return Conversation(calls[0].conversation, tuple(turns), tuple(targets), meta)


def _new(turns: Sequence[Turn], history: Sequence[Turn]) -> Sequence[Turn]:
    """Return what of a history the conversation does not have yet.

    What stands at the begin of both is left out, such as an instruction; and then what the
    conversation ends with, where only the last turns are sent.
    """
    start = _shared(turns, history)
    rest = history[start:]
    for size in range(min(len(turns) - start, len(rest)), 0, -1):
        if all(map(_same, turns[-size:], rest[:size])):
            return rest[size:]
    return rest


def _shared(turns: Sequence[Turn], others: Sequence[Turn]) -> int:
    """Return how many turns stand at the begin of both."""
    for place, (first, second) in enumerate(zip(turns, others, strict=False)):
        if not _same(first, second):
            return place
    return min(len(turns), len(others))


def _same(first: Turn, second: Turn) -> bool:
    return first.role == second.role and first.text.strip() == second.text.strip()


def export_format(
    name: str,
    *,
    summary: str,
    description: str,
    example: str,
    is_item: Callable[[object], bool],
    calls_of: Callable[[dict[str, Any], str], Iterable[Call]],
    wrappers: tuple[str, ...] = (),
) -> Format:
    """Return the format of a tracer that exports an object a call, a line each or in a list.

    ``calls_of`` gets an object and a name for a trace without one; ``wrappers`` are fields that may
    hold a list of such objects.
    """

    def fits(record: dict[str, Any]) -> bool:
        return any(map(is_item, _unwrapped(record, wrappers)[:1]))

    def read(lines: Iterable[Line | RecordError], file: str) -> Iterator[Found]:
        def calls(line: Line) -> Iterator[Call | RecordError]:
            for place, item in enumerate(_unwrapped(object_of(line), wrappers)):
                try:
                    if not isinstance(item, dict):
                        raise Bad(None, f"expected an object, {{…}}, found {kind(item)}")
                    yield from calls_of(item, f"{file}:{line.number}:{place}")
                except Bad as bad:
                    yield bad.at(file, line.number)

        return conversations(parsed_lines(lines, file, calls))

    return Format(
        name=name,
        summary=summary,
        description=description,
        example=example,
        sniff=partial(confidence, fits=fits),
        read=read,
    )


def _unwrapped(record: dict[str, Any], wrappers: tuple[str, ...]) -> list[Any]:
    for wrapper in wrappers:
        if isinstance(items := record.get(wrapper), list):
            return items
    return [record]


def dialogue_of(call: Call, sent: object, returned: object, fields: tuple[str, str]) -> list[Call]:
    """Return a call with the messages sent and returned; none where nothing was said."""
    if returned is None:
        raise Bad(fields[1], "missing: the call failed, or half of it was lost")
    history = turns_in(history_of, sent, fields[0])
    replies = turns_in(replies_of, returned, fields[1])
    if len(replies) > len(history) and replies[: len(history)] == history:
        replies = replies[len(history) :]  # a graph returns all messages
    return [call._replace(history=history, replies=replies)] if replies else []


def object_in(record: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the first of some fields that is an object; else an empty one."""
    return next((record[name] for name in names if isinstance(record.get(name), dict)), {})


def text_in(record: dict[str, Any], *names: str) -> str:
    """Return the first of some fields that is a text or a number, as a text; else nothing."""
    for name in names:
        value = record.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value):
            return str(value)
    return ""
