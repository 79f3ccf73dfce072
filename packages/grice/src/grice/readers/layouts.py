"""JSON lines: a list of turns, a reply to a context or question, a preference pair, a task.

Fields of a record or a turn without a part in it become its meta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Json, Turn
from grice.errors import InputError
from grice.readers._formats import FieldError, expect, field_names, json_format, kind
from grice.readers.messages import history_of, json_of, replies_of, turns_in
from grice.readers.roles import ASSISTANT, PARTNERS, SHAREGPT, USER, role_of
from grice.readers.text import prefixed

TEXT = ("text", "utterance", "message", "content")
SPEAKER = ("speaker", "agent", "name", "from")
ID = ("id", "conversation_id", "dialogue_id", "dialog_id", "conv_id", "GUID")
HISTORY = ("context", "history")
CONTEXT = (*HISTORY, "query", "prompt")
RESPONSE = ("response", "reply", "completion")
QUESTIONS = ("question", "user_message", "query", "prompt", "instruction", "input")
"""Fields that hold one turn of the user; the first that is there counts."""
ANSWERS = ("bot_response", *RESPONSE, "output", "answer")
"""Fields that hold the answer. Beside any other, ``answer`` is the expected one."""
CANDIDATES = "candidates"  # in place of a response, for grice rerank
SIDES = ("chosen", "rejected")
_TURN_LISTS = ("turns", "messages", "conversations", "conversation", "dialogue", "dialog")

BuildTurn: TypeAlias = Callable[[Any, str], Turn]
"""Builds the turn of a list item, by the speaker A or B where it names none."""


def take(record: dict[str, Any], names: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    """Remove and return the first of the named fields that is present and not null."""
    for name in names:
        if record.get(name) is not None:
            return record.pop(name)
    return None


def references(value: object, field: str) -> tuple[str, ...]:
    """Return texts that are given as one text, a list of texts, or not at all."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    texts = expect(value, list, "text or a list of texts", field)
    return tuple(expect(item, str, "text", f"{field}[{index}]") for index, item in enumerate(texts))


def _label(record: dict[str, Any], name: str) -> str | None:
    """Take a field that is a text or a number; anything else is meta."""
    value = record.get(name)
    if value is None or isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(record.pop(name))


def _speaker(record: dict[str, Any], names: Sequence[str], otherwise: str) -> str:
    value = take(record, names)
    if type(value) is str and value:
        return value
    if value is None or value == "":
        for name in names:  # the letter stands for a null, which is not kept
            if record.get(name, name) is None:
                del record[name]
        return otherwise
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise FieldError(names[0], f"expected the name of the speaker, found {kind(value)}")


def _meta(rest: dict[str, Any]) -> dict[str, Json]:
    """Return the other fields; those of a field ``meta`` join them unless a name is in both."""
    inner = rest.get("meta")
    if not isinstance(inner, dict):
        return rest
    if len(rest) == 1:
        return inner
    outer = {name: value for name, value in rest.items() if name != "meta"}
    return rest if outer.keys() & inner.keys() else inner | outer


def turn(
    item: object, otherwise: str, *, text: Sequence[str] = TEXT, speaker: Sequence[str] = SPEAKER
) -> Turn:
    """Return the turn of one list item: an object, which is used up, or just the text."""
    if type(item) is str:
        return Turn(otherwise, item)
    if type(item) is not dict:
        raise FieldError(None, f"expected an object or text, found {kind(item)}")
    for name in text:
        if name in item:
            break
    else:
        raise FieldError(text[0], f"missing; found {field_names(item)}")
    words = item.pop(name)
    if type(words) is not str:
        raise FieldError(name, f"expected text, found {kind(words)}")
    if not item:
        return Turn(otherwise, words)
    # The role names a speaker without a name: user, user, assistant are two speakers, not A, B, A.
    role = _label(item, "role")
    who = _speaker(item, speaker, role or otherwise)
    if not item:
        return Turn(who, words, role)
    time = _label(item, "time")
    others = references(item.pop("references", None), "references")
    return Turn(who, words, role, time, others, _meta(item))


def turns_of(
    items: Sequence[object], field: str, build: BuildTurn = turn, *, before: int = 0
) -> list[Turn]:
    """Return the turn of each item; A and B alternate, ``before`` turns ahead of them."""
    built = []
    for index, item in enumerate(items):
        try:
            built.append(build(item, "AB"[(before + index) % 2]))
        except FieldError as bad:
            raise bad.inside(f"{field}[{index}]") from None
    return built


def conversation(
    rest: dict[str, Any],
    turns: Sequence[Turn],
    default_id: str,
    *,
    field: str = "turns",
    targets: tuple[int, ...] | None = None,
) -> Conversation:
    """Return the conversation of the rest of a record, and its turns."""
    if not turns:
        raise FieldError(field, "no turn")
    name = take(rest, ID)
    if name is None or name == "":
        name = default_id
    elif isinstance(name, bool) or not isinstance(name, (str, int, float)):
        raise FieldError("id", f"expected text or a number, found {kind(name)}")
    return Conversation(str(name), tuple(turns), targets, _meta(rest))


class JsonLayout(msgspec.Struct, frozen=True, kw_only=True):
    """JSON lines with a list of turns under one of some keys, if the list ``holds`` such items."""

    name: str
    summary: str
    keys: tuple[str, ...]
    holds: Callable[[str, list[Any]], bool]
    turn: BuildTurn = turn
    items: str = "turns"
    is_nested: bool = False
    has_targets: bool = False

    def fits(self, record: dict[str, Any]) -> bool:
        """Return whether a record has this layout."""
        return any(
            isinstance(items := record.get(key), list) and self.holds(key, items)
            for key in self.keys
        )

    def build(self, record: dict[str, Any], default_id: str) -> Conversation:
        """Return the conversation of a record, which is used up."""
        stated = [key for key in self.keys if key in record]
        lists = [key for key in stated if isinstance(record[key], list)]
        fitting = [key for key in lists if self.holds(key, record[key])]
        key = next(iter([*fitting, *lists, *stated, self.keys[0]]))
        expected = f"a list of {self.items}"
        if not stated:
            raise FieldError(key, f"missing; found {field_names(record)}; expected {expected}")
        built = self._turns(expect(record.pop(key), list, expected, key), key)
        targets = None
        if self.has_targets and (stated := record.pop("targets", None)) is not None:
            targets = tuple(expect(stated, list, "a list of turn indices", "targets"))
            for place, index in enumerate(targets):
                if type(index) is not int or not 0 <= index < len(built):
                    problem = f"expected a turn index from 0 to {len(built) - 1}, found {index!r}"
                    raise FieldError(f"targets[{place}]", problem)
        return conversation(record, built, default_id, field=key, targets=targets)

    def _turns(self, items: list[Any], field: str) -> list[Turn]:
        if self.is_nested:
            built: list[Turn] = []
            for index, item in enumerate(items):
                place = f"{field}[{index}]"
                inner = expect(item, list, "a list of turns", place)
                built += turns_of(inner, place, self.turn, before=len(built))
            return built
        is_text = self.turn is turn and all(type(item) is str for item in items)
        return (prefixed(items) if is_text else None) or turns_of(items, field, self.turn)


def _message_turn(item: object, _: str) -> Turn:
    message: dict[str, Any] = expect(item, dict, "an object")
    role = expect(message.get("role"), str, "text such as user or assistant", "role")
    content = message.get("content")
    if type(content) is str and len(message) == 2:
        return Turn(role, content, role)
    if content is None and isinstance(message.get("parts"), list):
        content = message.pop("parts")
    text = content
    if isinstance(content, list):
        text = _text_of_parts(content)
    elif content is None:
        # A call of a tool has no text. It stays an empty turn, so that the index of a turn is the
        # index of its message.
        refusal = message.get("refusal")
        calls = message.get("tool_calls") or message.get("function_call")
        if refusal is None and not (role_of(role) == ASSISTANT and calls):
            raise FieldError("content", "missing; only a message that calls a tool may have none")
        text = refusal if isinstance(refusal, str) else ""
    message["content"] = text
    built = turn(message, role, text=("content",), speaker=("name",))
    if isinstance(content, list) and content != [{"type": "text", "text": text}]:
        return replace(built, meta=built.meta | {"content": content})
    return built


def _text_of_parts(content: list[Any]) -> str:
    """Return the texts of a list of content parts, joined by line ends."""
    texts = []
    for index, part in enumerate(content):
        type_ = expect(part, dict, "an object", f"content[{index}]").get("type")
        text = part.get("refusal" if type_ == "refusal" else "text")
        if isinstance(text, str) and type_ != "reasoning":
            texts.append(text)
        elif str(part.get("type", "text")).endswith("text"):
            raise FieldError(f"content[{index}].text", f"expected text, found {kind(text)}")
    return "\n".join(texts)


def _sharegpt_turn(item: object, otherwise: str) -> Turn:
    message: dict[str, Any] = expect(item, dict, "an object")
    if isinstance(speaker := message.get("from"), str):
        message.setdefault("role", SHAREGPT.get(speaker, speaker))
    return turn(message, otherwise, text=("value",), speaker=("from",))


TURNS = JsonLayout(
    name="turns",
    summary="JSON lines with a list of turns: what grice itself writes",
    keys=("turns", "dialogue", "utterances", "dialog"),
    holds=lambda _, items: not any(isinstance(item, list) for item in items),
    has_targets=True,
)
MESSAGES = JsonLayout(
    name="messages",
    summary="JSON lines with `messages`, each with role and content, as chat interfaces log them",
    keys=("messages", "conversation", "conversations"),
    holds=lambda key, items: (
        key == "messages" or any(isinstance(item, dict) and "role" in item for item in items[:1])
    ),
    turn=_message_turn,
    items="messages with role and content",
)
LAYOUTS = (
    TURNS,
    MESSAGES,
    JsonLayout(
        name="sharegpt",
        summary="JSON lines with `conversations` of `from` and `value`, as ShareGPT data sets have",
        keys=("conversations",),
        holds=lambda _, items: any(isinstance(item, dict) and "value" in item for item in items),
        turn=_sharegpt_turn,
    ),
    JsonLayout(
        name="parlai_log",
        summary="JSON lines with `dialog`, a list of exchanges, as ParlAI and ACUTE-Eval log them",
        keys=("dialog",),
        holds=lambda _, items: any(isinstance(item, list) for item in items),
        turn=partial(turn, text=("text",), speaker=("id",)),
        items="exchanges",
        is_nested=True,
    ),
)


def question_text(texts: Sequence[str]) -> str:
    """Return the text of a question whose fields hold these texts."""
    return "\n\n".join(text for text in texts if text.strip())


def _pair(record: dict[str, Any]) -> tuple[tuple[str, ...], str] | None:
    """Return the fields of a question, and of its answer; None if one lacks."""
    question = next((name for name in QUESTIONS if isinstance(record.get(name), str)), None)
    answer = next((name for name in ANSWERS if isinstance(record.get(name), str)), None)
    has_context = any(record.get(name) is not None for name in HISTORY)
    if question is None or answer is None or (has_context and answer in RESPONSE):
        return None
    both = question == "instruction" and isinstance(record.get("input"), str)
    return (("instruction", "input") if both else (question,)), answer


def _pair_turns(question: str, answer: str) -> list[Turn]:
    """Return the turns of a question and its answer; one of several turns is a context."""
    lines = [line for line in question.split("\n") if line.strip()]
    if _separated(question) is not None or prefixed(lines) or prefixed([*lines, answer]):
        return _exchange(question, answer, ("question", "answer"))
    asked = [Turn(USER, question, USER)] if lines else []
    return [*asked, Turn(ASSISTANT, answer, ASSISTANT)]


def _separated(context: str) -> list[str] | None:
    """Return the turns of a text with separators, or of a JSON list; else None."""
    for separator in ("</UTT>", "__eou__"):
        if separator in context:
            return _split(context, separator)
    items = json_of(context) if context.startswith("[") else None
    is_list = isinstance(items, list) and all(isinstance(item, str) for item in items)
    return items if is_list else None


def _split(context: str, separator: str) -> list[str]:
    return [text for part in context.split(separator) if (text := part.strip())]


def _exchange(context: object, response: object, fields: tuple[str, str]) -> list[Turn]:
    """Return the turns of a context, a list or one text, and of the response to it."""
    items = context
    if isinstance(context, str) and (items := _separated(context)) is None:
        items = _split(context, "\n")
    items = expect(items, list, "a list of turns or text", fields[0])
    turns = None
    if all(type(item) is str for item in items):
        if isinstance(response, str) and (named := prefixed([*items, response])):
            return named
        turns = prefixed(items)
    # Without speakers the response is by A, the turn before it by B, and so on.
    turns = turns or turns_of(items, fields[0], before=len(items))
    if response is None:
        return turns
    if not isinstance(response, (str, dict)):
        raise FieldError(fields[1], f"expected text, found {kind(response)}")
    # By the speaker before the last speaker, else A, or B if A spoke last.
    last = turns[-1].speaker if turns else "B"
    others = (turn.speaker for turn in reversed(turns) if turn.speaker != last)
    try:
        return [*turns, turn(response, next(others, None) or PARTNERS.get(last, "A"))]
    except FieldError as bad:
        raise bad.inside(fields[1]) from None


def build(record: dict[str, Any], default_id: str) -> Conversation:
    """Return the conversation of a context or question; the response is its only target."""
    answered = True
    if (pair := _pair(record)) is not None:
        questions, answer = pair
        asked = question_text([record.pop(name) for name in questions])
        turns = _pair_turns(asked, record.pop(answer))
    else:
        context = next((name for name in CONTEXT if record.get(name) is not None), CONTEXT[0])
        answer = next((name for name in RESPONSE if record.get(name) is not None), RESPONSE[0])
        answered = record.get(answer) is not None or not _is_unanswered(record)
        for name in (context, answer) if answered else (context,):
            if record.get(name) is None:
                raise FieldError(name, f"missing; found {field_names(record)}")
        turns = _exchange(record.pop(context), record.pop(answer, None), (context, answer))
    others = references(take(record, ("references", "reference")), "references")
    if turns and others:
        turns[-1] = replace(turns[-1], references=turns[-1].references + others)
    return conversation(record, turns, default_id, targets=(len(turns) - 1,) if answered else None)


def _fits_response(record: dict[str, Any]) -> bool:
    has_turns = any(isinstance(record.get(name), list) for name in _TURN_LISTS)
    asked = any(isinstance(record.get(name), (str, list)) for name in CONTEXT)
    answered = any(isinstance(record.get(name), (str, dict)) for name in RESPONSE)
    if asked and (answered or (_is_unanswered(record) and not has_turns)):
        return True
    return _pair(record) is not None and not has_turns


def _is_unanswered(record: dict[str, Any]) -> bool:
    """Return whether a record is a context to be answered: with candidates, or beside an id."""
    return isinstance(record.get(CANDIDATES), list) or record.keys() <= {"id", *HISTORY}


def _is_deco(record: dict[str, Any]) -> bool:
    return "response" in record and any("</UTT>" in str(record.get(name)) for name in CONTEXT)


def _build_preference(record: dict[str, Any], default_id: str) -> list[Conversation]:
    """Return a conversation for each side, whose reply is the target."""
    sides = {}
    for side in SIDES:
        if record.get(side) is None:
            raise FieldError(side, f"missing; found {field_names(record)}")
        sides[side] = turns_in(replies_of, record.pop(side), side)
    prompt = record.pop("prompt", None)
    history = history_of(prompt) if prompt else []
    name = str(take(record, ID) or default_id)
    built = []
    for side, replies in sides.items():
        # Without a prompt both sides begin with it, and the reply is the last message.
        whole = replies if replies[: len(history)] == history else [*history, *replies]
        if not whole:
            raise FieldError(side, "no turn")
        meta = {**record, "preference": side}
        built.append(Conversation(f"{name}:{side}", tuple(whole), (len(whole) - 1,), meta))
    return built


_TASK_TEXT = ("text", "content", "utterance", "message")
_TASK_SPEAKER = ("author", "speaker", "role", "name", "user")
_task_turn = partial(turn, text=_TASK_TEXT, speaker=_TASK_SPEAKER)


def _is_task(record: dict[str, Any]) -> bool:
    data = record.get("data")
    return isinstance(data, dict) and (_is_reply(data) or _dialogue(data) is not None)


def _is_reply(data: dict[str, Any]) -> bool:
    return any(name in data for name in RESPONSE) and any(name in data for name in CONTEXT)


def _dialogue(data: dict[str, Any]) -> str | None:
    """Return the field whose items have a text and a speaker."""
    for name, value in data.items():
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, dict) and all(
            first.keys() & set(names) for names in (_TASK_TEXT, _TASK_SPEAKER)
        ):
            return name
    return None


def _build_task(record: dict[str, Any], default_id: str) -> Conversation:
    data: dict[str, Any] = expect(record.pop("data", None), dict, "an object", "data")
    stated = record.pop("predictions", None) or []
    predictions = expect(stated, list, "a list of predictions", "predictions")
    number = record.pop("id", None)
    name = str(data.pop("key", None) or (default_id if number is None else number))
    proposal = _proposal(predictions[0]) if predictions else None
    rest = {**record, **data, **({"proposal": proposal} if proposal else {})}
    try:
        if _is_reply(data):
            return build(rest, name)
        if (field := _dialogue(data)) is None:
            expected = "expected a list of objects with author and text"
            raise FieldError(None, f"{expected}; found {field_names(data)}")
        return conversation(rest, turns_of(rest.pop(field), field, _task_turn), name, field=field)
    except FieldError as bad:
        raise bad.inside("data") from None


def _proposal(prediction: object) -> dict[str, Json]:
    """Return the results of a prediction by control: the one value of a region, or all of them."""
    given: dict[str, Any] = expect(prediction, dict, "an object", "predictions[0]")
    proposal: dict[str, Json] = {}
    regions = expect(given.get("result", []), list, "a list of regions", "predictions[0].result")
    for region in regions:
        control = region.get("from_name") if isinstance(region, dict) else None
        if isinstance(control, str) and "value" in region:
            value = region["value"]
            is_one = isinstance(value, dict) and len(value) == 1
            proposal[control] = next(iter(value.values())) if is_one else value
    return proposal


FORMATS = (
    *(json_format(each.name, each.summary, each.fits, each.build) for each in LAYOUTS),
    # Of formats that are equally sure the first by name counts: deco, which is read as a response.
    json_format("deco", "DECO: `history` with `</UTT>`, response", _is_deco, build),
    json_format(
        "label_studio", "Label Studio: tasks of dialogues or replies", _is_task, _build_task
    ),
    json_format(
        "preference",
        "`prompt`, `chosen` and `rejected`",
        lambda record: all(isinstance(record.get(side), (str, list, dict)) for side in SIDES),
        _build_preference,
    ),
    json_format(
        "response", "JSON lines: a context or question and a response", _fits_response, build
    ),
)


def from_objects(items: Sequence[Mapping[str, Any]], name: str) -> Conversation:
    """Return the conversation of a list of messages or turns; InputError if one is no object."""
    if odd := [item for item in items if not isinstance(item, Mapping)]:
        expected = "a list of messages with role and content, or of turns with speaker and text"
        raise InputError(f"{name}: found {type(odd[0]).__name__} in the list; pass {expected}")
    is_chat = any("role" in item and "content" in item for item in items)
    return from_record({"messages" if is_chat else "turns": list(map(dict, items))}, name)


def from_record(record: Mapping[str, Any], name: str) -> Conversation:
    """Return the conversation of an object as in JSON lines; RecordError if it cannot be used."""
    layout = MESSAGES if "messages" in record else TURNS
    try:
        return layout.build(deepcopy(dict(record)), name)
    except FieldError as bad:
        raise bad.at(name) from None
