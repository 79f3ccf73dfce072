"""What is judged: the replies of a conversation, each with what was said before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.records import Conversation, Response

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["responses", "utterances"]

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


def utterances(conversation: Conversation) -> Conversation:
    """Return the conversation without the turns that only instruct a model."""
    if all(turn.role not in INSTRUCTIONS for turn in conversation.turns):
        return conversation
    turns = tuple(turn for turn in conversation.turns if turn.role not in INSTRUCTIONS)
    return Conversation(conversation.id, turns, None, conversation.meta)
