"""What a reader of a summary must know of what was judged and what was not, in lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from grice.errors import plural, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.scoring.summary import Summary

FLAGGED = {
    "empty": ("is empty and has the lowest score", "are empty and have the lowest score"),
    "thinking_skipped": (
        "thinks aloud; what stands between <think> and </think> is not judged",
        "think aloud; what stands between <think> and </think> is not judged",
    ),
    "json": ("is a JSON object, judged as it stands", "are JSON objects, judged as they stand"),
}
"""What is said of one reply with a flag, and of several."""


def notes(summary: Summary) -> Iterator[str]:
    """Yield a line for everything that was judged in another way than a reader would think."""
    if alone := summary.assistant_alone:
        where = "" if alone == summary.conversations else f" in {plural(alone, 'conversation')}"
        yield f"only the assistant's turns are judged{where}; --speaker all judges everybody"
    for role, count in summary.unknown_roles.items():
        turns = plural(count, "turn is", "turns are")
        yield (
            f"{turns} of the role {shortened(role, 40)!r} and not judged: --speaker assistant "
            f"--speaker {shlex.quote(shortened(role, 40))} judges both"
        )
    for role, count in summary.unknown_answering.items():
        turns = plural(count, "turn is", "turns are")
        yield (
            f"{turns} of the role {shortened(role, 40)!r}, which is not known as an assistant's: "
            f"the user is judged too; --speaker {shlex.quote(shortened(role, 40))} judges it alone"
        )
    if tools := summary.tool_turns:
        yield plural(
            tools, "tool call or result is not judged", "tool calls and results are not judged"
        )
    for flag, (singular, several) in FLAGGED.items():
        if count := summary.flags.get(flag, 0):
            yield plural(count, f"reply {singular}", f"replies {several}")
