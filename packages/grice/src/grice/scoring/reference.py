"""Made-up conversations, and the scores that a reference processor gave for them.

``python -m grice_research.recipes.reference_scores`` records the scores again, wherever it is run.
"""

from __future__ import annotations

from importlib import resources

import msgspec

from grice.records import Conversation, Turn

FILE, TALKS = "reference_scores.json", "reference_talks.json"


class Recorded(msgspec.Struct, frozen=True):
    """The scores of one metric.

    Attributes:
        signature: What was computed; other scores compare only if theirs is the same.
        values: In the order of the conversations and their turns; None where one failed.
    """

    signature: str
    values: tuple[float | None, ...]


class ReferenceScores(msgspec.Struct, frozen=True):
    """The scores of :func:`conversations` on one processor.

    Attributes:
        kernels: What multiplied matrices there.
    """

    command: str
    processor: str
    instructions: tuple[str, ...]
    kernels: dict[str, str]
    versions: dict[str, str]
    scores: dict[str, dict[str, Recorded]]


def conversations() -> list[Conversation]:
    """Return the conversations that a machine is tried by.

    Their turns are of many lengths, and several of each, so that batches hold padding and company.
    """
    talks = msgspec.json.decode(_data(TALKS), type=list[list[str]])
    return [
        Conversation(
            f"reference-{i:02}", tuple(Turn("AB"[j % 2], text) for j, text in enumerate(talk))
        )
        for i, talk in enumerate(talks)
    ]


def reference_scores() -> ReferenceScores:
    """Return the recorded scores."""
    return msgspec.json.decode(_data(FILE), type=ReferenceScores)


def _data(name: str) -> bytes:
    return (resources.files("grice") / "data" / name).read_bytes()
