"""Coherence: does the conversation hang together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.declaration import Example, metric
from grice.records import Judgement, TurnEvidence
from grice.runtime.protocols import Thread
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation
    from grice.runtime.protocols import ThreadReader

__all__ = ["coherence"]

NEUTRAL = 0.5
SHOWN = 3
"""How many turns the evidence names, those that carry the thread on worst."""


@metric(
    "coherence",
    version="1",
    summary="Does the conversation hang together?",
    judges="conversation",
    models={"model": "bundle:coherence"},
    source=(
        "After DEAM (Ghazarian et al., ACL 2022): trained on conversations broken on purpose, "
        "with ratings of conversations beside them."
    ),
    neutral=NEUTRAL,
    example=Example(
        ["Do you have any pets?", "Yes, a dog. He loves the park.", "What is his name?", "Rex!"],
        0.4,
        1.0,
    ),
)
def coherence(conversations: Sequence[Conversation], *, model: ThreadReader) -> Iterator[Judgement]:
    """Return how well a conversation hangs together, 0 to 1.

    The evidence are the turns that carry the thread on worst: the effect of a turn is how much
    less than the conversation's usual turn it looks like one that belongs there. A turn is read
    beside what was said before it, so a conversation of any length costs one encoding a turn.
    """
    judged = [one for one in conversations if not _nothing_to_judge(one)]
    threads = [
        Thread(
            tuple(turn.speaker for turn in one.turns if turn.text.strip()),
            tuple(turn.text for turn in one.turns if turn.text.strip()),
        )
        for one in judged
    ]
    found = iter(zip(threads, model.read(threads), strict=True))
    for conversation in conversations:
        if reason := _nothing_to_judge(conversation):
            yield Judgement(NEUTRAL, "abstained", reason)
            continue
        thread, (value, turns) = next(found)
        places = [i for i, turn in enumerate(conversation.turns) if turn.text.strip()]
        evidence = _weakest(places, turns)
        flags = ("truncated",) if any(model.truncated(thread.texts)) else ()
        yield Judgement(value, "ok", _reason(evidence), flags, evidence)


def _weakest(places: Sequence[int], turns: Sequence[float]) -> tuple[TurnEvidence, ...]:
    """Return the turns that carry on worst; the first turn carries nothing on."""
    usual = sorted(turns)[len(turns) // 2]
    worst = sorted(range(1, len(turns)), key=lambda i: turns[i])[:SHOWN]
    return tuple(TurnEvidence(places[i], turns[i] - usual) for i in worst if turns[i] < usual)


def _reason(evidence: Sequence[TurnEvidence]) -> str:
    if not evidence:
        return "no turn stands out"
    return f"turn {evidence[0].turn} carries the thread on worst ({evidence[0].effect:+.2f})"


def _nothing_to_judge(conversation: Conversation) -> str | None:
    texts = [turn.text for turn in conversation.turns if turn.text.strip()]
    if len(texts) < 2:
        return "fewer than two turns hold text"
    reasons = [unreadable(text) for text in texts]
    return f"the conversation {reasons[0]}" if all(reasons) else None
