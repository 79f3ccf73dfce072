"""Calls of models, as tracers log them, put together into conversations.

A tracer logs each call with all that was sent. The calls of a conversation repeat one another: each
holds the history again, or a part of it. Here they become one conversation, whose targets are the
replies.
"""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import RecordError
from grice.readers.roles import ASSISTANT, role_of
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.readers._format import Found
    from grice.records import Json, Turn

HELD = 50_000
"""Calls that are kept until the end of a file; beyond that, the conversation that has been quiet
for longest is taken to be over."""


class Call(NamedTuple):
    """One call of a model.

    Attributes:
        trace: Which trace; of one trace only the calls of the highest rank count.
        rank: How near to what the user sees.
        time: When it was made, in any unit that sorts; calls without keep the order of the file.
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
