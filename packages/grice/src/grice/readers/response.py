"""Responses to a context or a question, as the rated sets of the field have them.

The response alone is to be judged.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from grice.readers._build import conversation, references, take, turn
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, decode, field_names, kind, records
from grice.readers.roles import ASSISTANT, USER, partner_of
from grice.readers.transcript import prefixed
from grice.records import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from grice.records import Conversation

HISTORY = ("context", "history")
CONTEXT = (*HISTORY, "query", "prompt")
RESPONSE = ("response", "reply", "completion")
QUESTIONS = ("question", "user_message", "query", "prompt", "instruction", "input")
"""Fields that hold one turn of the user; the first that is there counts."""
ANSWERS = ("bot_response", *RESPONSE, "output", "answer")
"""Fields that hold the answer. Beside any other, ``answer`` is the expected one."""
_REFERENCES = ("references", "reference")
_MARKS = ("</UTT>", "__eou__")
_TURN_LISTS = ("turns", "messages", "conversations", "conversation", "dialogue", "dialog")


def pair_of(names: Collection[str]) -> tuple[tuple[str, ...], str] | None:
    """Return the fields of a question, and of its answer, among the fields with a text.

    The question of an ``instruction`` with an ``input`` is both. None without a question or an
    answer, and beside a context: then the response is one to the context.
    """
    question = next((name for name in QUESTIONS if name in names), None)
    answer = next((name for name in ANSWERS if name in names), None)
    has_context = any(name in names for name in HISTORY)
    if question is None or answer is None or (has_context and answer in RESPONSE):
        return None
    both = question == "instruction" and "input" in names
    return (("instruction", "input") if both else (question,)), answer


def question_text(texts: Iterable[str]) -> str:
    """Return the text of a question whose fields hold these texts."""
    return "\n\n".join(text for text in texts if text.strip())


def pair_turns(question: str, answer: str) -> tuple[list[Turn], Turn]:
    """Return the turns of a question, and the turn that answers it.

    They are by ``user`` and ``assistant``. A question that holds several turns, parted by marks, as
    a JSON list or as lines that all name a speaker, is read as a context is.
    """
    lines = [line for line in question.split("\n") if line.strip()]
    if _parted(question) is not None or prefixed(lines) or prefixed([*lines, answer]):
        return exchange(question, answer, names=("question", "answer"))
    asked = [Turn(USER, question, USER)] if lines else []
    return asked, Turn(ASSISTANT, answer, ASSISTANT)


def _parted(context: str) -> list[str] | None:
    """Return the turns of a text that parts them by a mark, or is a JSON list; else None."""
    for mark in _MARKS:
        if mark in context:
            return _split(context, mark)
    if context.startswith("[") and context.rstrip().endswith("]"):
        try:
            items = decode(context.encode())
        except Bad:
            return None
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return items
    return None


def _split(context: str, mark: str) -> list[str]:
    return [text for part in context.split(mark) if (text := part.strip())]


def _texts(context: str) -> list[str]:
    """Return the turns of a context written as one text, empty ones left out.

    They are parted by ``</UTT>`` or ``__eou__``, or are a JSON list, or else stand on a line each.
    """
    parted = _parted(context)
    return _split(context, "\n") if parted is None else parted


def _other(index: int, count: int) -> str:
    """Return the speaker of a context turn: the response is by A, the turn before it by B."""
    return "BA"[(count - 1 - index) % 2]


def _context(items: list[Any], field: str) -> list[Turn]:
    turns = []
    for index, item in enumerate(items):
        try:
            turns.append(turn(item, _other(index, len(items))))
        except Bad as bad:
            raise bad.inside(f"{field}[{index}]") from None
    return turns


def _responder(context: Sequence[Turn]) -> str:
    """Return who responds: whoever spoke before the last speaker, else A, or B if A spoke last."""
    if not context:
        return "A"
    last = context[-1].speaker
    for before in reversed(context):
        if before.speaker != last:
            return before.speaker
    return partner_of(last)


def _response(value: object, field: str, speaker: str) -> Turn:
    if isinstance(value, str):
        return Turn(speaker, value)
    if not isinstance(value, dict):
        raise Bad(field, f"expected text, found {kind(value)}")
    try:
        return turn(value, speaker)
    except Bad as bad:
        raise bad.inside(field) from None


def exchange(
    context: object, response: object, *, names: tuple[str, str]
) -> tuple[list[Turn], Turn]:
    """Return the turns of a context, a list or one text, and of the response to it."""
    items = _texts(context) if isinstance(context, str) else context
    if not isinstance(items, list):
        raise Bad(names[0], f"expected a list of turns or text, found {kind(context)}")
    if all(type(item) is str for item in items):
        if isinstance(response, str) and (named := prefixed([*items, response])):
            return named[:-1], named[-1]
        turns = prefixed(items) or _context(items, names[0])
    else:
        turns = _context(items, names[0])
    return turns, _response(response, names[1], _responder(turns))


def response_conversation(
    rest: dict[str, Any],
    context: Sequence[Turn],
    response: Turn,
    others: tuple[str, ...],
    default_id: str,
) -> Conversation:
    """Return the conversation that ends with the response, which alone is to be judged."""
    if others:
        response = replace(response, references=response.references + others)
    return conversation(rest, (*context, response), default_id, targets=(len(context),))


def pair_in(record: Mapping[str, object]) -> tuple[tuple[str, ...], str] | None:
    """Return the fields of a question and its answer in a record; see :func:`pair_of`."""
    names = {name for name in (*QUESTIONS, *ANSWERS) if isinstance(record.get(name), str)}
    return pair_of(names | {name for name in HISTORY if record.get(name) is not None})


def build(record: dict[str, Any], default_id: str) -> Conversation:
    """Return the conversation of a record with context or question, response and references."""
    if (pair := pair_in(record)) is not None:
        questions, answer = pair
        asked, answered = pair_turns(
            question_text(record.pop(name) for name in questions), record.pop(answer)
        )
        others = references(take(record, _REFERENCES), "references")
        return response_conversation(record, asked, answered, others, default_id)
    where = next((name for name in CONTEXT if record.get(name) is not None), CONTEXT[0])
    answer = next((name for name in RESPONSE if record.get(name) is not None), RESPONSE[0])
    for name in (where, answer):
        if record.get(name) is None:
            raise Bad(name, f"missing; found {field_names(record)}")
    context, response = exchange(record.pop(where), record.pop(answer), names=(where, answer))
    others = references(take(record, _REFERENCES), "references")
    return response_conversation(record, context, response, others, default_id)


def _fits(record: dict[str, Any]) -> bool:
    if any(isinstance(record.get(name), (str, list)) for name in CONTEXT) and any(
        isinstance(record.get(name), (str, dict)) for name in RESPONSE
    ):
        return True
    return pair_in(record) is not None and not any(
        isinstance(record.get(name), list) for name in _TURN_LISTS
    )


FORMAT = Format(
    name="response",
    summary="JSON lines with a context or a question, a response and references (FED, USR, …)",
    description="""\
`context` (or `history`) is a list of turns or texts, or one text: parted by `</UTT>` or `__eou__`,
or a JSON list, or one turn per line. `response` (or `reply`, `completion`) is the last turn and the
only one to be judged (`targets`). `references` (or `reference`) are its references. If no speakers
are said, the response is by A, the turn before it by B, and so on backwards; if every context turn
opens with `Name: `, the names are the speakers.

**A question and its answer** are two turns, by `user` and `assistant`, of which the second is
judged. The question is the text of `question` (or `user_message`, `query`, `prompt`, `instruction`
with `input` below it, `input`), whatever lines it has; one that is parted as above, or whose lines
all open with `Name: `, is a context. The answer is `bot_response` (or `response`, `reply`,
`completion`, `output`, `answer`). A `query` or `prompt` that is a list is a context.""",
    example="""\
{"id": "r1", "context": [{"speaker": "user", "text": "Is it far?"}], "response": "Ten minutes.", "references": ["No."], "ratings": {"relevant": [2, 1, 2]}}
{"context": "Hi!\\nHello. Is it far?", "response": "Ten minutes."}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=partial(records, build=build),
)


def _is_deco(record: dict[str, Any]) -> bool:
    return "response" in record and any("</UTT>" in str(record.get(name)) for name in CONTEXT)


def _sniff_deco(prefix: bytes) -> float:
    # A little surer than the format `response`, which would read the same.
    return min(1.0, confidence(prefix, _is_deco) * 1.02)


DECO = Format(
    name="deco",
    summary="JSON lines with `history`, turns ended by `</UTT>`, and a response (DECO, ConTurE)",
    description="""\
Empty slots of the history are left out, white space around a turn too. The last turn of the
history is by B, the response is by A, and only the response is to be judged (`targets`). The id is
`GUID`.""",
    example="""\
{"history": "</UTT></UTT>Hi!</UTT>Is it far?</UTT>", "response": "Ten minutes.", "GUID": 7, "event_cs": 4.0}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=_sniff_deco,
    read=partial(records, build=build),
)
