"""Responses with a history whose turns end in ``</UTT>``: the layout of DECO (ACCENT)."""

from __future__ import annotations

from functools import partial
from typing import Any

from grice.readers._format import Format
from grice.readers._json import confidence, records
from grice.readers._response import CONTEXT, build


def _fits(record: dict[str, Any]) -> bool:
    return "response" in record and any("</UTT>" in str(record.get(name)) for name in CONTEXT)


def _sniff(prefix: bytes) -> float:
    # A little surer than the format `response`, which would read the same.
    return min(1.0, confidence(prefix, _fits) * 1.02)


FORMAT = Format(
    name="deco",
    summary="JSON lines with `history`, turns ended by `</UTT>`, and a response (DECO, ConTurE)",
    description="""\
Empty slots of the history are left out, white space around a turn too. The last turn of the
history is by B, the response is by A, and only the response is to be judged (`targets`). The id is
`GUID`.""",
    example="""\
{"history": "</UTT></UTT>Hi!</UTT>Is it far?</UTT>", "response": "Ten minutes.", "GUID": 7, "event_cs": 4.0}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=_sniff,
    read=partial(records, build=build),
)
