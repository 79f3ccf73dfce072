"""The role of each turn: user, assistant, system prompt or tool.

Every part of the package asks here. A role that the file states comes first, the speaker's name
second. Words of one file format only (``HumanMessage`` of LangChain, ``observation`` of ShareGPT)
are translated into roles by the reader of that format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.records import Turn

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]

ASSISTANTS = (
    "assistant", "ai assistant", "virtual assistant", "ai", "bot", "chatbot", "chat bot", "chatgpt",
    "gpt", "model", "agent", "ai agent", "support", "support agent", "customer support",
    "customer service", "service agent",
)  # fmt: skip
USERS = (
    "user", "end user", "enduser", "human", "prompter", "customer", "client", "visitor", "caller",
)  # fmt: skip
_SPOKEN: dict[str, Role] = {
    **dict.fromkeys(ASSISTANTS, "assistant"),
    **dict.fromkeys(USERS, "user"),
    "system": "system",
    "tool": "tool",
}
_STATED: dict[str, Role] = {**_SPOKEN, "developer": "system", "function": "tool"}
"""Side of each role; as the name of a speaker, a developer is a person."""


def role_of(role: str | None, speaker: str | None = None) -> Role | None:
    """Return the role that a turn's stated role means, or else its speaker's name.

    Upper case, hyphens and underscores make no difference. None if neither is a known word. A
    speaker named ``system`` may be the assistant of a log: see :func:`roles_of`.

    >>> role_of("human"), role_of(None, "Support Agent"), role_of(None, "Ann")
    ('user', 'assistant', None)
    """
    return _STATED.get(_plain(role)) or _SPOKEN.get(_plain(speaker))


def roles_of(turns: Sequence[Turn]) -> list[Role | None]:
    """Return the role of each turn of a conversation, None where it is not known.

    A speaker named ``system``, without a stated role, is the assistant in a conversation of two
    (as in logs of DSTC), the system beside an assistant, and not known otherwise.
    """
    roles = [role_of(turn.role, turn.speaker) for turn in turns]
    named = [
        place
        for place, turn in enumerate(turns)
        if roles[place] == "system" and role_of(turn.role) is None
    ]
    if named and "assistant" not in roles:
        speakers = {turn.speaker for turn, role in zip(turns, roles, strict=True) if role != "tool"}
        meant: Role | None = "assistant" if len(speakers) <= 2 else None
        for place in named:
            roles[place] = meant
    return roles


def user_turns(turns: Sequence[Turn]) -> list[bool]:
    """Return of each turn whether it is the user's.

    If roles name neither a user nor an assistant, the user is the speaker of the first turn. If
    they name one of the two, all other speakers are the other.
    """
    roles = roles_of(turns)
    if "user" in roles:
        return [role == "user" for role in roles]
    if "assistant" in roles:
        return [role is None for role in roles]
    return [turn.speaker == turns[0].speaker for turn in turns]


def _plain(name: str | None) -> str:
    return " ".join((name or "").replace("_", " ").replace("-", " ").casefold().split())
