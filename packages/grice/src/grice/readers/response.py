"""Responses to a context, as the rated sets of the field have them."""

from __future__ import annotations

from functools import partial
from typing import Any

from grice.readers._format import Format
from grice.readers._json import confidence, records
from grice.readers._response import CONTEXT, RESPONSE, build, pair_in

_TURN_LISTS = ("turns", "messages", "conversations", "conversation", "dialogue", "dialog")


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
