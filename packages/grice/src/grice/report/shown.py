"""A conversation and its scores as one line of JSON for the page.

The line holds ``{"conversation": …, "scores": […], "opening": …, "unspoken": […]}``: the turn by
which the conversation is known, and those that are no replies. The conversation is complete, but
for extra fields that are nested very deeply: they are cut off, and the page says so in their place.
A score leaves out what stands elsewhere in the page: its conversation, a signature equal to its
panel's, meta fields equal to the conversation's. Numbers of the evidence keep four significant
digits, without which they would make half of the file.
"""

from __future__ import annotations

import heapq
import json
import math
from typing import TYPE_CHECKING, Any

import msgspec

from grice.data import Conversation, Json, Status
from grice.readers.roles import ASSISTANT, roles_of, unspoken
from grice.text.markup import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.data import Evidence, Score

EVIDENCE_LIMIT = 24
"""Pieces of evidence that a score keeps in the page."""
EXACT = 2**53
"""Integers from here on lose digits in a browser, so they are shown as text."""
DEEPEST = 32
"""Levels of a nested extra field that the page shows: more are no help, and end in an error."""
ABOVE = 8
"""Levels of the line above an extra field, and some to spare."""
CUT_OFF = f"… cut off: nested deeper than {DEEPEST} levels"


class _ShownScore(msgspec.Struct, frozen=True, omit_defaults=True):
    metric: str
    status: Status
    value: float | None = None
    turn: int | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    evidence: list[Json] = []
    more: int = 0
    signature: str = ""
    meta: Json = None


class _ShownConversation(msgspec.Struct, frozen=True, omit_defaults=True):
    conversation: Conversation
    scores: list[_ShownScore]
    opening: int | None = None
    unspoken: list[int] = []


def shown_line(
    conversation: Conversation, scores: Sequence[Score], signatures: Mapping[str, str]
) -> bytes:
    """Return the line of one conversation, without line break."""
    turns = tuple(
        msgspec.structs.replace(turn, meta=_plain(turn.meta)) if turn.meta else turn
        for turn in conversation.turns
    )
    record = _ShownConversation(
        msgspec.structs.replace(conversation, turns=turns, meta=_plain(conversation.meta)),
        [_shown(score, conversation, signatures[score.metric]) for score in scores],
        opening(conversation),
        [i for i, silent in enumerate(unspoken(conversation.turns)) if silent],
    )
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, but it has an escape in JSON.
        whole = _plain(msgspec.to_builtins(record), DEEPEST + ABOVE)
        return json.dumps(whole, separators=(",", ":")).encode()


def opening(conversation: Conversation) -> int | None:
    """Return the index of the first turn that a user said something in, or else anybody.

    A conversation is best known by it; None if nobody says a word.
    """
    roles = roles_of(conversation.turns)
    silent = unspoken(conversation.turns)
    spoken = [
        i
        for i, turn in enumerate(conversation.turns)
        if not silent[i] and plain_text(turn.text).text.strip()
    ]
    users = (i for i in spoken if roles[i] != ASSISTANT)
    return next(users, spoken[0] if spoken else None)


def _shown(score: Score, conversation: Conversation, signature: str) -> _ShownScore:
    kept = _strongest(score.evidence)
    return _ShownScore(
        score.metric,
        score.status,
        value=score.value,
        turn=score.turn,
        reason=score.reason,
        flags=score.flags,
        evidence=[_plain(msgspec.to_builtins(piece), digits=4) for piece in kept],
        more=len(score.evidence) - len(kept),
        signature="" if score.signature == signature else score.signature,
        meta=None if score.meta == conversation.meta else _plain(score.meta),
    )


def _strongest(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    """Return at most EVIDENCE_LIMIT pieces in their order, without those of the least effect."""
    if len(evidence) <= EVIDENCE_LIMIT:
        return evidence
    effects = [getattr(piece, "effect", None) for piece in evidence]
    ranks = [math.inf if effect is None else abs(effect) for effect in effects]
    kept = heapq.nsmallest(EVIDENCE_LIMIT, range(len(evidence)), key=lambda i: (-ranks[i], i))
    return [evidence[i] for i in sorted(kept)]


def _plain(value: Any, levels: int = DEEPEST, digits: int = 0) -> Any:  # noqa: ANN401 (any JSON value)
    """Return a value as a browser reads it without loss, cut off where it is nested too deeply."""
    match value:
        case dict() | list() | tuple() if not levels:
            return CUT_OFF
        case dict():
            return {key: _plain(part, levels - 1, digits) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part, levels - 1, digits) for part in value]
        case float() if not math.isfinite(value):
            return None
        case float() if digits:
            return float(f"{value:.{digits}g}")
        case int() if abs(value) >= EXACT:
            return str(value)
    return value
