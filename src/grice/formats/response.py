"""Responses to a context, as the rated sets of the field have them."""

from __future__ import annotations

from functools import partial
from typing import Any

from grice.formats._format import Format
from grice.formats._json import confidence, records
from grice.formats._response import CONTEXT, RESPONSE, build


def _fits(record: dict[str, Any]) -> bool:
    return any(isinstance(record.get(name), (str, list)) for name in CONTEXT) and any(
        isinstance(record.get(name), (str, dict)) for name in RESPONSE
    )


FORMAT = Format(
    name="response",
    summary="JSON lines with a context, a response and references (FED, USR, GRADE, … turn level)",
    description="""\
`context` (or `history`, `query`, `prompt`) is a list of turns or texts, or one text: parted by
`</UTT>` or `__eou__`, or a JSON list, or one turn per line. `response` (or `reply`, `completion`)
is the last turn and the only one to be judged (`targets`). `references` (or `reference`) are its
references. If no speakers are said, the response is by A, the turn before it by B, and so on
backwards; if every context turn opens with `Name: `, the names are the speakers.""",
    example="""\
{"id": "r1", "context": [{"speaker": "user", "text": "Is it far?"}], "response": "Ten minutes.", "references": ["No."], "ratings": {"relevant": [2, 1, 2]}}
{"context": "Hi!\\nHello. Is it far?", "response": "Ten minutes."}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=partial(records, build=build),
)
