"""Replies to judge: to a context or a question, of a preference pair, of a Label Studio task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from grice.data import Conversation, Turn
from grice.readers._formats import json_format
from grice.readers._json import FieldError, expect, field_names, kind
from grice.readers.layouts import ID, conversation, references, take, turn, turns_of
from grice.readers.messages import history_of, json_of, replies_of, turns_in
from grice.readers.roles import ASSISTANT, USER, partner_of
from grice.readers.text import prefixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.data import Json

HISTORY = ("context", "history")
CONTEXT = (*HISTORY, "query", "prompt")
RESPONSE = ("response", "reply", "completion")
QUESTIONS = ("question", "user_message", "query", "prompt", "instruction", "input")
"""Fields that hold one turn of the user; the first that is there counts."""
ANSWERS = ("bot_response", *RESPONSE, "output", "answer")
"""Fields that hold the answer. Beside any other, ``answer`` is the expected one."""
SIDES = ("chosen", "rejected")
_SEPARATORS = ("</UTT>", "__eou__")
_TURN_LISTS = ("turns", "messages", "conversations", "conversation", "dialogue", "dialog")


def question_text(texts: Sequence[str]) -> str:
    """Return the text of a question whose fields hold these texts."""
    return "\n\n".join(text for text in texts if text.strip())


def _pair(record: dict[str, Any]) -> tuple[tuple[str, ...], str] | None:
    """Return the fields of a question, and of its answer.

    The question of an ``instruction`` with an ``input`` is both. None without a question or an
    answer, and beside a context: then the response is one to the context.
    """
    names = [name for name in (*QUESTIONS, *ANSWERS) if isinstance(record.get(name), str)]
    question = next((name for name in names if name in QUESTIONS), None)
    answer = next((name for name in names if name in ANSWERS), None)
    has_context = any(record.get(name) is not None for name in HISTORY)
    if question is None or answer is None or (has_context and answer in RESPONSE):
        return None
    both = question == "instruction" and "input" in names
    return (("instruction", "input") if both else (question,)), answer


def _pair_turns(question: str, answer: str) -> list[Turn]:
    """Return the turns of a question, by ``user``, and of its answer.

    A question that holds several turns (with separators, as a JSON list or as lines that all name
    a speaker) is read as a context is.
    """
    lines = [line for line in question.split("\n") if line.strip()]
    if _separated(question) is not None or prefixed(lines) or prefixed([*lines, answer]):
        return _exchange(question, answer, ("question", "answer"))
    asked = [Turn(USER, question, USER)] if lines else []
    return [*asked, Turn(ASSISTANT, answer, ASSISTANT)]


def _separated(context: str) -> list[str] | None:
    """Return the turns of a text with separators, or of a JSON list; else None."""
    for separator in _SEPARATORS:
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
    if isinstance(context, str):
        separated = _separated(context)
        items = _split(context, "\n") if separated is None else separated
    items = expect(items, list, "a list of turns or text", fields[0])
    turns = None
    if all(type(item) is str for item in items):
        if isinstance(response, str) and (named := prefixed([*items, response])):
            return named
        turns = prefixed(items)
    # Without speakers the response is by A, the turn before it by B, and so on.
    turns = turns or turns_of(items, fields[0], before=len(items))
    if not isinstance(response, (str, dict)):
        raise FieldError(fields[1], f"expected text, found {kind(response)}")
    # By the speaker before the last speaker, else A, or B if A spoke last.
    last = turns[-1].speaker if turns else "B"
    others = (turn.speaker for turn in reversed(turns) if turn.speaker != last)
    try:
        return [*turns, turn(response, next(others, None) or partner_of(last))]
    except FieldError as bad:
        raise bad.inside(fields[1]) from None


def build(record: dict[str, Any], default_id: str) -> Conversation:
    """Return the conversation of a record with context or question, response and references.

    The response is its last turn, and the only one to be judged.
    """
    if (pair := _pair(record)) is not None:
        questions, answer = pair
        asked = question_text([record.pop(name) for name in questions])
        turns = _pair_turns(asked, record.pop(answer))
    else:
        context = next((name for name in CONTEXT if record.get(name) is not None), CONTEXT[0])
        answer = next((name for name in RESPONSE if record.get(name) is not None), RESPONSE[0])
        for name in (context, answer):
            if record.get(name) is None:
                raise FieldError(name, f"missing; found {field_names(record)}")
        turns = _exchange(record.pop(context), record.pop(answer), (context, answer))
    if others := references(take(record, ("references", "reference")), "references"):
        turns[-1] = replace(turns[-1], references=turns[-1].references + others)
    return conversation(record, turns, default_id, targets=(len(turns) - 1,))


def _fits(record: dict[str, Any]) -> bool:
    if any(isinstance(record.get(name), (str, list)) for name in CONTEXT) and any(
        isinstance(record.get(name), (str, dict)) for name in RESPONSE
    ):
        return True
    has_turns = any(isinstance(record.get(name), list) for name in _TURN_LISTS)
    return _pair(record) is not None and not has_turns


def _is_deco(record: dict[str, Any]) -> bool:
    return "response" in record and any("</UTT>" in str(record.get(name)) for name in CONTEXT)


def _build_preference(record: dict[str, Any], default_id: str) -> list[Conversation]:
    """Return a conversation for each side; the reply is the only turn to be judged."""
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
    return isinstance(data, dict) and (_is_response(data) or _dialogue(data) is not None)


def _is_response(data: dict[str, Any]) -> bool:
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
        if _is_response(data):
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
        if isinstance(region, dict) and {"from_name", "value"} <= region.keys():
            value = region["value"]
            is_one = isinstance(value, dict) and len(value) == 1
            proposal[region["from_name"]] = next(iter(value.values())) if is_one else value
    return proposal


# Of formats that are equally sure the first by name counts: `deco`, which reads as `response` does.
FORMATS = (
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
    json_format("response", "JSON lines: a context or question and a response", _fits, build),
)
