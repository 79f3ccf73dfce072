"""Facts about a reply that every score of it states, whatever the metric."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from grice.text.markup import thinks_aloud

if TYPE_CHECKING:
    from grice.records import Judgement

EMPTY, THINKING, JSON = "empty", "thinking_skipped", "json"
FLAGS = (EMPTY, THINKING, JSON)
"""A reply without a word; one whose thinking is not judged; one that is a JSON object."""


def flagged(judgement: Judgement, text: str) -> Judgement:
    """Return a judgement with the flags of its reply.

    Args:
        judgement: What a metric says of the reply.
        text: The reply as it came.
    """
    flags = judgement.flags
    if thinks_aloud(text):
        flags = (*flags, THINKING)
    if _is_object(text):
        flags = (*flags, JSON)
    return judgement if flags == judgement.flags else replace(judgement, flags=flags)


def _is_object(text: str) -> bool:
    bare = text.strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        return False
    try:
        return isinstance(json.loads(bare), dict)
    except (ValueError, RecursionError):
        return False
