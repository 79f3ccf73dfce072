"""Replies that no metric of a reply and its history can judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.text.language import other_language
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
    if language := other_language(response.text):
        return f"the reply is in {language}, not in English"
    last = None
    for turn in reversed(response.history):  # mostly the first that is looked at can be read
        if (reason := unreadable(turn.text)) is None:
            return None
        last = last or reason
    return "no turn before it" if last is None else f"what was said before {last}"
