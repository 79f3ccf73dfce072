"""Which turns of a conversation are the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grice.records import Conversation, Turn

USERS = frozenset({"human", "user"})
SYSTEMS = frozenset({"assistant", "bot", "chatbot", "system"})


def user_turns(conversation: Conversation) -> list[bool]:
    """Return of each turn whether it is the user's.

    The user is a speaker of that name or role, otherwise whoever opens the conversation.
    """
    named = [_side(turn) for turn in conversation.turns]
    if "user" in named or "system" in named:
        # Where only one side is named, the rest is the other.
        default = "system" if "user" in named else "user"
        return [(side or default) == "user" for side in named]
    return [turn.speaker == conversation.turns[0].speaker for turn in conversation.turns]


def _side(turn: Turn) -> str | None:
    for name in (turn.role, turn.speaker):
        if name is not None and name.lower() in USERS:
            return "user"
        if name is not None and name.lower() in SYSTEMS:
            return "system"
    return None
