"""Replies that no metric of a reply and its history can judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.text.script import unreadable

if TYPE_CHECKING:
    from grice.records import Response

__all__ = ["nothing_to_judge"]


def nothing_to_judge(response: Response) -> str | None:
    """Return why a reply cannot be judged beside its history, in words; None if it can."""
    if not response.text.strip():
        return "the reply is empty"
    if reason := unreadable(response.text):
        return f"the reply {reason}"
    reasons = [unreadable(turn.text) for turn in response.history]
    if not reasons:
        return "no turn before it"
    return f"what was said before {reasons[-1]}" if all(reasons) else None
