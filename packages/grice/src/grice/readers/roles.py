"""Decide the role of each turn: user, assistant, system prompt or tool.

No other module compares role words. A role that the file states comes first, the speaker's name
second. Words of one format alone have a table of their own, which the reader of that one applies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from grice.data import Conversation, Turn

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]

USER: Role = "user"
ASSISTANT: Role = "assistant"
SYSTEM: Role = "system"
TOOL: Role = "tool"

ASSISTANTS = (
    "assistant", "ai assistant", "virtual assistant", "ai", "bot", "chatbot", "chat bot", "chatgpt",
    "gpt", "model", "agent", "ai agent", "support", "support agent", "customer support",
    "customer service", "service agent",
)  # fmt: skip
USERS = (
    "user", "end user", "enduser", "human", "prompter", "customer", "client", "visitor", "caller",
)  # fmt: skip
_SPOKEN: dict[str, Role] = {
    **dict.fromkeys(ASSISTANTS, ASSISTANT),
    **dict.fromkeys(USERS, USER),
    "system": SYSTEM,
    "tool": TOOL,
}
_STATED: dict[str, Role] = {**_SPOKEN, "developer": SYSTEM, "function": TOOL}
"""Side of each role; as the name of a speaker, a developer is a person."""
LANGCHAIN: dict[str, Role] = {
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk"), USER),
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk", "model"), ASSISTANT),
    "SystemMessage": SYSTEM,
    "ToolMessage": TOOL,
    "FunctionMessage": TOOL,
}
"""Names of LangChain and Gemini for the roles of OpenAI."""
TYPES = (SYSTEM, TOOL, "function")  # roles that messages of LangChain state as their type
SHAREGPT: dict[str, Role] = {
    "human": USER,
    **dict.fromkeys(("gpt", "chatgpt", "bing", "bard"), ASSISTANT),
    **dict.fromkeys(("function_call", "observation"), TOOL),
}
OTEL_EVENTS: dict[str, Role] = {
    "gen_ai.system.message": SYSTEM,
    "gen_ai.user.message": USER,
    "gen_ai.assistant.message": ASSISTANT,
    "gen_ai.tool.message": TOOL,
}
"""Roles of events by the GenAI conventions of OpenTelemetry up to 1.36."""
PARTNERS = {"user": "system", "system": "user", "A": "B"}
"""Name of the second speaker where a record names one alone; else A."""


@lru_cache(4096)
def role_of(role: str | None, speaker: str | None = None) -> Role | None:
    """Return the role that a turn's stated role means, or else its speaker's name, if known.

    Upper case, hyphens and underscores make no difference.

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
    if SYSTEM not in roles or ASSISTANT in roles:
        return roles
    pairs = list(zip(turns, roles, strict=True))
    speakers = {turn.speaker for turn, role in pairs if role != TOOL}
    meant: Role | None = ASSISTANT if len(speakers) <= 2 else None
    return [
        meant if role == SYSTEM and role_of(turn.role) is None else role for turn, role in pairs
    ]


def user_turns(turns: Sequence[Turn]) -> list[bool]:
    """Return of each turn whether it is the user's.

    If roles name neither a user nor an assistant, the user is the speaker of the first turn. If
    they name one of the two, all other speakers are the other.
    """
    roles = roles_of(turns)
    if USER in roles:
        return [role == USER for role in roles]
    if ASSISTANT in roles:
        return [role is None for role in roles]
    return [turn.speaker == turns[0].speaker for turn in turns]


def assistant_alone(conversation: Conversation, speakers: Collection[str] = ()) -> bool:
    """Return whether only an assistant's turns are judged, since nothing else is asked for."""
    is_asked = speakers or conversation.targets is not None
    return not is_asked and ASSISTANT in roles_of(conversation.turns)


def unknown_roles(conversation: Conversation) -> list[str]:
    """Return the stated roles that are no known word, beside an assistant or a user."""
    roles = roles_of(conversation.turns)
    if ASSISTANT not in roles and USER not in roles:
        return []
    stated = zip((turn.role or "" for turn in conversation.turns), roles, strict=True)
    return [word for word, role in stated if word.strip() and role is None]


def is_by(turn: Turn, role: Role | None, names: Collection[str]) -> bool:
    """Return whether a turn is by one of these speakers or roles; without any, it is."""
    if not names or turn.speaker in names or turn.role in names:
        return True
    words = {name.strip().casefold() for name in names} - {""}
    return (turn.role or "").strip().casefold() in words or role in words


def is_tool_traffic(turn: Turn) -> bool:
    """Return whether a turn calls a tool without a word, or is what a tool answered."""
    if role_of(turn.role, turn.speaker) == TOOL:
        return True
    if turn.text.strip() or not turn.meta:
        return False
    content = turn.meta.get("content")
    parts = content if isinstance(content, list) else []
    is_part = any(TOOL in str(part.get("type")) for part in parts if isinstance(part, dict))
    return is_part or bool(turn.meta.get("tool_calls") or turn.meta.get("function_call"))


def unspoken(turns: Sequence[Turn]) -> list[bool]:
    """Return of each turn whether it instructs a model, or calls a tool or answers such a call."""
    return [
        role == SYSTEM or is_tool_traffic(turn)
        for turn, role in zip(turns, roles_of(turns), strict=True)
    ]


def prompt_role(turn: Turn, last: Turn) -> Role:
    """Return the role of a turn in a prompt; without roles, the last speaker is the user."""
    role = role_of(turn.role)
    if role in (SYSTEM, TOOL):
        return SYSTEM
    if turn.role:
        return ASSISTANT if role == ASSISTANT else USER
    return USER if turn.speaker == last.speaker else ASSISTANT


def _plain(name: str | None) -> str:
    return " ".join((name or "").replace("_", " ").replace("-", " ").casefold().split())
