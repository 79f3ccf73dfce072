"""What is judged: the replies of a conversation, each with what was said before it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from grice.records import (
    Conversation,
    FeatureEvidence,
    Response,
    TripleEvidence,
    TurnEvidence,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grice.records import Evidence, Judgement, Span

__all__ = ["Utterances", "in_place", "responses", "utterances"]

TURN = re.compile(r"\bturn (\d+)\b")

INSTRUCTIONS = frozenset({"system", "developer", "tool", "function"})
"""Roles of a chat log that steer a model and are not part of the conversation."""


def responses(conversation: Conversation, speakers: Collection[str] = ()) -> list[Response]:
    """Return the replies to judge, in order.

    Args:
        conversation: Its ``targets`` are judged, or every turn if it names none.
        speakers: Judge only turns of these speakers or roles; empty means all.
    """
    wanted = conversation.targets
    spoken: list[int] = []
    items = []
    for index, turn in enumerate(conversation.turns):
        if turn.role in INSTRUCTIONS:
            continue
        is_target = wanted is None or index in wanted
        if is_target and (not speakers or turn.speaker in speakers or turn.role in speakers):
            items.append(
                Response(
                    conversation.id,
                    index,
                    turn.text,
                    turn.speaker,
                    tuple(conversation.turns[i] for i in spoken[-READ_BACK:]),
                    tuple(spoken[-READ_BACK:]),
                    turn.references,
                )
            )
        spoken.append(index)
    return items


READ_BACK = 64
"""Turns of history a reply carries: bounds the work for conversations of thousands of turns."""


class Utterances(NamedTuple):
    """A conversation without the turns that only instruct a model.

    Attributes:
        conversation: What metrics judge.
        positions: Index in the conversation as it came of each turn that is left.
    """

    conversation: Conversation
    positions: tuple[int, ...]


def utterances(conversation: Conversation) -> Utterances:
    """Return what was said in a conversation, and where it stands there."""
    turns = conversation.turns
    left = tuple(i for i, turn in enumerate(turns) if turn.role not in INSTRUCTIONS)
    if len(left) == len(turns):
        return Utterances(conversation, left)
    said = tuple(turns[i] for i in left)
    return Utterances(Conversation(conversation.id, said, None, conversation.meta), left)


def in_place(judgement: Judgement, positions: Sequence[int]) -> Judgement:
    """Return a judgement of utterances with its turns counted as the conversation has them.

    Args:
        judgement: Names turns in its evidence, and as ``turn N`` in its reason.
        positions: Index in the conversation of each utterance.
    """
    if positions == tuple(range(len(positions))):
        return judgement

    reason = judgement.reason
    return replace(
        judgement,
        reason=reason and TURN.sub(lambda named: f"turn {_at(int(named[1]), positions)}", reason),
        evidence=tuple(_evidence_in_place(one, positions) for one in judgement.evidence),
    )


def _evidence_in_place(evidence: Evidence, positions: Sequence[int]) -> Evidence:
    match evidence:
        case TurnEvidence(turn=turn):
            return replace(evidence, turn=_at(turn, positions))
        case FeatureEvidence(span=span):
            return replace(evidence, span=_span_in_place(span, positions))
        case TripleEvidence(triple=triple):
            spans = {
                name: _span_in_place(getattr(triple, name), positions)
                for name in ("head_span", "tail_span")
            }
            return replace(evidence, triple=replace(triple, **spans))


def _span_in_place(span: Span | None, positions: Sequence[int]) -> Span | None:
    return span and replace(span, turn=_at(span.turn, positions))


def _at(turn: int, positions: Sequence[int]) -> int:
    # A metric may be anyone's code: a turn that is not there stays what it was called.
    return positions[turn] if 0 <= turn < len(positions) else turn
