"""Requests of OpenAI's interfaces beside their responses, as proxies and logs keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.readers._calls import Call, dialogue_of, export_format, json_of, text_in
from grice.readers._format import Bad
from grice.readers._json import field_names

if TYPE_CHECKING:
    from collections.abc import Sequence

SENT = ("messages", "input", "prompt")
RETURNED = ("choices", "output")
REQUEST, RESPONSE = ("request", "request_body", "kwargs"), ("response", "response_body")
CONVERSATION = ("conversation_id", "conversation", "session_id", "thread_id")
TIME = ("created_at", "created", "timestamp", "time")
WRAPPERS = ("data",)


def _part(record: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the request or the response of a record, out of what a batch or a proxy put around."""
    for name in names:
        inner = json_of(record.get(name))
        if isinstance(inner, dict):
            body = json_of(inner.get("body"))
            return body if isinstance(body, dict) else inner
    return record


def _calls(record: dict[str, Any], otherwise: str) -> Sequence[Call]:
    request, response = _part(record, REQUEST), _part(record, RESPONSE)
    fields = field_names(record)
    if not any(request.get(name) for name in SENT):
        if any(response.get(name) for name in RETURNED):
            raise Bad("messages", f"missing: a response without its request; found {fields}")
        raise Bad("messages", f"missing; found {fields}")
    trace = text_in(response, "id") or text_in(record, "id", "custom_id") or otherwise
    before = text_in(response, "previous_response_id")
    conversation = response.get("conversation")
    named = text_in(conversation, "id") if isinstance(conversation, dict) else ""
    name = named or text_in(record, *CONVERSATION) or before or trace
    time = text_in(response, *TIME) or text_in(record, *TIME)
    meta = {"model": response["model"]} if isinstance(response.get("model"), str) else {}
    returned = {key: response[key] for key in RETURNED if response.get(key)}
    sent = {key: request[key] for key in (*SENT, "instructions") if request.get(key)}
    call = Call(name, trace, 0, time, [], [], meta)
    return dialogue_of(call, sent, returned or None, ("request", "response"))


def _is_call(record: object) -> bool:
    if not isinstance(record, dict):
        return False
    request, response = _part(record, REQUEST), _part(record, RESPONSE)
    returned = any(isinstance(response.get(name), list) for name in RETURNED)
    return returned and any(request.get(name) for name in SENT)


FORMAT = export_format(
    "openai",
    summary="requests beside responses of OpenAI's interfaces (Chat Completions, Responses)",
    description="""\
What was sent stands in `messages`, `input` or `prompt`, of the record itself or of its `request`;
what came back in `choices` (the first counts) or `output`, of the record or of its `response`.
Calls of tools and reasoning are left out. Records with one `conversation_id` (or `conversation`,
`session_id`, `thread_id`) are one conversation, others one each. A response without its request
is a broken record. Records are held until the file ends, at most 50,000.""",
    example="""\
{"request": {"model": "m", "input": [{"role": "user", "content": "Is it far?"}]}, "response": {"id": "resp_1", "object": "response", "model": "m", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ten minutes."}]}]}}
""",  # noqa: E501 - an example stands as it would in a file
    is_item=_is_call,
    calls_of=_calls,
    wrappers=WRAPPERS,
)
