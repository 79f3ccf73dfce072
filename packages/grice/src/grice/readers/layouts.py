"""JSON lines: a conversation per record, by where its turns stand and what their fields are called.

A layout is a row of names. A message and a task of Label Studio need a function beside it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from grice.readers import response
from grice.readers._build import JsonLayout, conversation, list_of, turn
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, field_names, kind, records
from grice.readers.roles import ASSISTANT, SHAREGPT, role_of
from grice.records import Conversation, Json, Turn


def _holds_no_list(items: list[Any]) -> bool:
    return not any(isinstance(item, list) for item in items)


def _begins_with_role(items: list[Any]) -> bool:
    return bool(items) and isinstance(items[0], dict) and "role" in items[0]


def _text_of_parts(content: list[Any]) -> str:
    """Return the texts of a list of content parts, joined by line ends."""
    texts = []
    for index, part in enumerate(content):
        if not isinstance(part, dict):
            raise Bad(f"content[{index}]", f"expected an object, found {kind(part)}")
        if part.get("type") == "reasoning":
            continue  # it is not said
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        if isinstance(text, str):
            texts.append(text)
        elif str(part.get("type", "text")).endswith("text"):
            raise Bad(f"content[{index}].text", f"expected text, found {kind(text)}")
    return "\n".join(texts)


def _message_turn(message: object, _: str) -> Turn:
    if not isinstance(message, dict):
        raise Bad(None, f"expected an object, found {kind(message)}")
    role = message.get("role")
    if not isinstance(role, str):
        raise Bad("role", f"expected text such as user or assistant, found {kind(role)}")
    content = message.pop("content", None)
    if content is None and isinstance(message.get("parts"), list):
        content = message.pop("parts")
    if isinstance(content, list):
        text = _text_of_parts(content)
    elif content is None:
        # A call of a tool says nothing. It stays an empty turn, so that the index of a turn is
        # the index of its message.
        refusal = message.get("refusal")
        if refusal is None and not (
            role_of(role) == ASSISTANT
            and (message.get("tool_calls") or message.get("function_call"))
        ):
            raise Bad("content", "missing; only a message that calls a tool may have none")
        text = refusal if isinstance(refusal, str) else ""
    else:
        text = content
    message["content"] = text
    built = turn(message, role, text=("content",), speaker=("name",))
    if isinstance(content, list) and content != [{"type": "text", "text": text}]:
        return replace(built, meta=built.meta | {"content": content})
    return built


def _sharegpt_turn(item: object, otherwise: str) -> Turn:
    if not isinstance(item, dict):
        raise Bad(None, f"expected an object, found {kind(item)}")
    speaker = item.get("from")
    if isinstance(speaker, str):
        item.setdefault("role", SHAREGPT.get(speaker, speaker))
    return turn(item, otherwise, text=("value",), speaker=("from",))


TURN_LISTS = JsonLayout(
    keys=("turns", "dialogue", "utterances", "dialog"), holds=_holds_no_list, has_targets=True
)
MESSAGES = JsonLayout(
    keys=("messages", "conversation", "conversations"),
    sure=("messages",),
    holds=_begins_with_role,
    turn=_message_turn,
    items="messages with role and content",
)
SHAREGPT_LISTS = JsonLayout(
    keys=("conversations",),
    holds=lambda items: any(isinstance(item, dict) and "value" in item for item in items),
    turn=_sharegpt_turn,
)
PARLAI_LISTS = JsonLayout(
    keys=("dialog",),
    holds=lambda items: any(isinstance(item, list) for item in items),
    turn=partial(turn, text=("text",), speaker=("id",)),
    items="exchanges",
    is_nested=True,
)
TASK = JsonLayout(
    keys=(),
    text=("text", "content", "utterance", "message"),
    speaker=("author", "speaker", "role", "name", "user"),
)


def _is_task(record: dict[str, Any]) -> bool:
    data = record.get("data")
    return isinstance(data, dict) and (_dialogue(data) is not None or _is_response(data))


def _is_response(data: dict[str, Any]) -> bool:
    return any(name in data for name in response.RESPONSE) and any(
        name in data for name in response.CONTEXT
    )


def _dialogue(data: dict[str, Any]) -> str | None:
    """Return the field whose items have a text and somebody who says it."""
    for name, value in data.items():
        first = value[0] if isinstance(value, list) and value else None
        if (
            isinstance(first, dict)
            and first.keys() & set(TASK.text)
            and first.keys() & set(TASK.speaker)
            and not _is_response(data)
        ):
            return name
    return None


def _build_task(record: dict[str, Any], default_id: str) -> Conversation:
    data = record.pop("data", None)
    if not isinstance(data, dict):
        raise Bad("data", f"expected an object, found {kind(data)}")
    predictions = list_of(record.pop("predictions", None) or [], "predictions", "predictions")
    number = record.pop("id", None)
    name = str(data.pop("key", None) or (default_id if number is None else number))
    proposal = _proposal(predictions[0]) if predictions else None
    rest = {**record, **data, **({"proposal": proposal} if proposal else {})}
    try:
        if _is_response(data):
            return response.build(rest, name)
        field = _dialogue(data)
        if field is None:
            raise Bad(
                None, f"expected a list of objects with author and text; found {field_names(data)}"
            )
        built = TASK.turns(rest.pop(field), field)
        return conversation(rest, built, name, field=field)
    except Bad as bad:
        raise bad.inside("data") from None


def _proposal(prediction: object) -> dict[str, Json]:
    """Return what a prediction says, by the control it is for: a number, choices or a text."""
    if not isinstance(prediction, dict):
        raise Bad("predictions[0]", f"expected an object, found {kind(prediction)}")
    results = list_of(prediction.get("result", []), "predictions[0].result", "regions")
    return {
        result["from_name"]: _content(result["value"])
        for result in results
        if isinstance(result, dict) and {"from_name", "value"} <= result.keys()
    }


def _content(value: Json) -> Json:
    """Return the content of a region that has one, and all of any other."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


TURNS_FORMAT = TURN_LISTS.format(
    "turns",
    summary="JSON lines with a list of turns: what grice itself writes",
    description="""\
The list stands in `turns`, or in `dialogue`, `utterances` or `dialog`. A turn is an object with
`text` (or `utterance`, `message`, `content`) and `speaker` (or `agent`, `name`, `from`; a number
is taken as a name), or only the text. A missing speaker is the `role`, else A or B by turns; if
every item is a text that opens with `Name: `, the names are the speakers. A turn may have `role`,
`time` and `references`; the record may have `targets`, the indices of the turns to judge.""",
    example="""\
{"id": "d1", "turns": [{"speaker": "Ann", "text": "Is it far?"}, {"speaker": "Bob", "text": "Ten minutes."}], "split": "test"}
{"dialogue": ["Hello!", "Hi, how are you?"]}
""",  # noqa: E501 - an example stands as it would in a file
)
MESSAGES_FORMAT = MESSAGES.format(
    "messages",
    summary="JSON lines with `messages`, each with role and content, as chat interfaces log them",
    description="""\
The list stands in `messages` (or `conversation`, `conversations`). The speaker is `name` if there
is one, else the role; the role is kept whatever it is, and messages of the system, the developer
and of tools are turns too, so that the index of a turn is the index of its message. Content is a
text or a list of parts (`parts` in the AI SDK of Vercel); texts of parts are joined by line ends,
reasoning is left out, and parts that are more than one text are kept under `content` in the meta of
the turn. A message that calls a tool and says nothing
is a turn with empty text; its `tool_calls` are kept in its meta.""",
    example="""\
{"id": "c1", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it far?"}, {"role": "assistant", "content": [{"type": "text", "text": "Ten minutes."}]}], "model": "m"}
""",  # noqa: E501 - an example stands as it would in a file
)
SHAREGPT_FORMAT = SHAREGPT_LISTS.format(
    "sharegpt",
    summary="JSON lines with `conversations` of `from` and `value`, as ShareGPT data sets have",
    description="""\
The speaker is `from` as it stands; the role is what it means (`human`: user; `gpt`, `chatgpt`,
`bing`, `bard`: assistant; `function_call`, `observation`: tool; anything else as it stands).""",
    example="""\
{"id": "s1", "conversations": [{"from": "human", "value": "Is it far?"}, {"from": "gpt", "value": "Ten minutes."}]}
""",  # noqa: E501 - an example stands as it would in a file
)
PARLAI_FORMAT = PARLAI_LISTS.format(
    "parlai_log",
    summary="JSON lines with `dialog`, a list of exchanges, as ParlAI and ACUTE-Eval log them",
    description="""\
The exchanges are put one after the other. The speaker of a turn is its `id`; other fields become
meta of the turn.""",
    example="""\
{"dialog": [[{"id": "human", "text": "Is it far?", "episode_done": false}, {"id": "bot", "text": "Ten minutes."}]], "context": []}
""",  # noqa: E501 - an example stands as it would in a file
)
TASK_FORMAT = Format(
    name="label_studio",
    summary="Label Studio's tasks: `data` with a dialogue or a reply, and predictions",
    description="""\
The turns are the list in `data` whose items have `author` (or `speaker`, `role`, `name`) and
`text` (or `content`), as the tags Paragraphs and Chat take them; or a context and a response, as
the format `response` has them. The id is `key` of the data, else that of the task. Results of the
first prediction become `proposal`, by `from_name`: an answer to start from. Annotations and other
fields stay in the meta.""",
    example="""\
{"id": 7, "data": {"dialogue": [{"author": "Ann", "text": "Is it far?"}, {"author": "Bot", "text": "Ten minutes."}]}, "predictions": [{"model_version": "m1", "result": [{"from_name": "overall", "to_name": "reply", "type": "number", "value": {"number": 4}}]}]}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_is_task),
    read=partial(records, build=_build_task),
)
