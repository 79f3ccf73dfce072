"""Messages as interfaces of the field write them, and calls of models as tracers log them.

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
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, decode, field_names, kind, object_of, parsed_lines
from grice.readers.roles import ASSISTANT, LANGCHAIN, SYSTEM, TYPES, USER, role_of
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from grice.readers._format import Found, Line
    from grice.records import Json

LISTS = ("messages", "input", "contents", "prompt", "message", "chat_history")
"""Fields of what is sent that hold messages, or a text."""
QUESTIONS = ("input", "question", "query", "prompt", "message", "text", "content", "user_input")
"""Fields of what is sent that hold the last message alone, beside those that hold the history."""
ANSWERS = ("choices", "output", "messages", "message", "generations", "answer", "response")
"""Fields of what comes back that hold messages."""
TEXTS = ("output_text", "text", "content", "completion", "result", "reply", "output")
"""Fields of what comes back that hold the text."""
NO_SPEECH = ("function_call", "function_call_output", "reasoning", "item_reference")
"""Items of OpenAI's Responses that nobody says."""


def json_of(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a text that holds JSON, and anything else as it is.

    Tracers write structures into attributes as texts.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode())
        except Bad:
            return value
    return value


def history_of(sent: object) -> list[Turn]:
    """Return the turns of messages sent to a model, of an object with them, or of a text."""
    sent = json_of(sent)
    if isinstance(sent, str):
        return _spoken(sent, USER)
    if isinstance(sent, list):
        inner = sent[0] if len(sent) == 1 and isinstance(sent[0], list) else sent
        return [turn for item in inner for turn in _turns(item, USER)]
    if not isinstance(sent, dict):
        raise Bad(None, f"expected messages or text, found {kind(sent)}")
    if is_message(sent):
        return _turns(sent, USER)
    before = _spoken(sent.get("instructions") or sent.get("system") or "", SYSTEM)
    for name in LISTS:
        inner = json_of(sent.get(name))
        if isinstance(inner, (list, dict)) and inner:
            return [*before, *history_of(inner), *_last(sent, name)]
    if question := _last(sent, None):
        return [*before, *question]
    texts = [value for value in sent.values() if isinstance(value, str)]
    if len(texts) == 1:
        return [*before, *_spoken(texts[0], USER)]
    raise Bad(None, f"expected messages or text; found {field_names(sent)}")


def replies_of(returned: object) -> list[Turn]:
    """Return the turns that a model returned: its first choice, calls of tools left out."""
    returned = json_of(returned)
    if isinstance(returned, str):
        return _spoken(returned, ASSISTANT)
    if isinstance(returned, list):
        first = returned[0] if returned else None
        if isinstance(first, list):
            return replies_of(first)
        if isinstance(first, dict) and ("message" in first or "index" in first):
            return replies_of(first)  # choices, of which the first counts
        if isinstance(first, dict) and not is_message(first) and not _is_item(first):
            return replies_of(first)
        return [turn for item in returned for turn in _turns(item, ASSISTANT)]
    if not isinstance(returned, dict):
        raise Bad(None, f"expected a reply, found {kind(returned)}")
    if is_message(returned):
        return _turns(returned, ASSISTANT)
    for name in ANSWERS:
        if isinstance(inner := json_of(returned.get(name)), (list, dict)) and inner:
            return replies_of(inner)
    for name in (*TEXTS, *ANSWERS):
        if isinstance(text := returned.get(name), str):
            return _spoken(text, ASSISTANT)
    texts = [value for value in returned.values() if isinstance(value, str)]
    if len(texts) == 1:
        return _spoken(texts[0], ASSISTANT)
    raise Bad(None, f"expected a reply; found {field_names(returned)}")


def turns_in(read: Callable[[object], list[Turn]], value: object, field: str) -> list[Turn]:
    """Return what one of the readers above makes of a field, which a complaint about it names."""
    try:
        return read(value)
    except Bad as bad:
        raise bad.inside(field) from None


def is_message(item: object) -> bool:
    """Return whether an object is a message: somebody's role, and what it says."""
    if not isinstance(item, dict):
        return False
    inner = _fields_of(item)
    return _role(item) is not None and bool(inner.keys() & {"content", "parts", "tool_calls"})


def _is_item(item: dict[str, Any]) -> bool:
    return item.get("type") in NO_SPEECH or item.get("type") == "message"


def _last(sent: dict[str, Any], besides: str | None) -> list[Turn]:
    """Return the question that stands beside the history, or alone."""
    for name in QUESTIONS:
        value = json_of(sent.get(name))
        if name != besides and isinstance(value, str) and value:
            return _spoken(value, USER)
    return []


def _turns(item: object, otherwise: str) -> list[Turn]:
    """Return the turn of a message; none where nothing is said."""
    if isinstance(item, str):
        return _spoken(item, otherwise)
    match item:  # as LangChain takes a message in short
        case [str(role), str(text)]:
            return _spoken(text, LANGCHAIN.get(role, role))
    if not isinstance(item, dict):
        raise Bad(None, f"expected a message, found {kind(item)}")
    if item.get("type") in NO_SPEECH:
        return []
    inner = _fields_of(item)
    content = inner.get("content")
    text = _text(inner.get("parts") if content is None else content)
    if not text and isinstance(refusal := inner.get("refusal"), str):
        text = refusal
    role = _role(item) or otherwise
    name = inner.get("name")
    speaker = name if isinstance(name, str) and name else role
    return [Turn(speaker, text, role)] if text else []


def _spoken(text: Json, role: str) -> list[Turn]:
    spoken = _text(text)
    return [Turn(role, spoken, role)] if spoken.strip() else []


def _fields_of(item: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message that LangChain or OpenInference has wrapped."""
    for name in ("kwargs", "data", "message"):
        if isinstance(inner := item.get(name), dict) and not item.keys() & {"content", "parts"}:
            return _fields_of(inner)
    prefix = "message."
    if f"{prefix}role" in item:
        return {name.removeprefix(prefix): value for name, value in item.items()}
    return item


def _role(item: dict[str, Any]) -> str | None:
    """Return the role of a message, by OpenAI's names where it has one of LangChain's."""
    inner = _fields_of(item)
    serialized = item.get("id")
    last = serialized[-1] if isinstance(serialized, list) and serialized else None
    for role in (inner.get("role"), last, item.get("type"), inner.get("type")):
        if isinstance(role, str) and (role == inner.get("role") or role in LANGCHAIN):
            return LANGCHAIN.get(role, role)
    if item.get("type") in TYPES:
        return str(item["type"])
    return None


def _text(content: Json) -> str:
    """Return the texts of content, joined by line ends; of parts that are no text, nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text, content)))
    if isinstance(content, dict):
        inner = {name.removeprefix("message_content."): value for name, value in content.items()}
        if str(inner.get("type", "text")) in ("text", "input_text", "output_text", "refusal"):
            for name in ("text", "content", "refusal"):
                if isinstance(text := inner.get(name), str):
                    return text
    return ""


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
