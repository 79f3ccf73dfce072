"""Coherence: does the conversation hang together?"""

from __future__ import annotations

import math
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Literal

from grice.metrics.declaration import Example, metric
from grice.records import Judgement, TurnEvidence
from grice.runtime.protocols import Thread, ThreadReader
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation, Turn

__all__ = ["coherence"]

NEUTRAL = 0.5
SHOWN = 3
"""How many turns the evidence names, those that carry the thread on worst."""
TRIED = 24
"""How many turns are left out, those that look worst: a long conversation stays affordable."""
LEAST = 1e-6


@metric(
    "coherence",
    version="5",
    summary="Does the conversation hang together?",
    judges="conversation",
    models={"model": "bundle:coherence"},
    protocols={"model": ThreadReader},
    source=(
        "After DEAM (Ghazarian et al., ACL 2022): trained on conversations broken on purpose, "
        "with ratings of conversations beside them."
    ),
    neutral=NEUTRAL,
    default=True,
    example=Example(
        ["Do you have any pets?", "Yes, a dog. He loves the park.", "What is his name?", "Rex!"],
        0.4,
        1.0,
    ),
)
def coherence(
    conversations: Sequence[Conversation],
    *,
    model: ThreadReader,
    evidence: Literal["turns", "left-out"] = "turns",
) -> Iterator[Judgement]:
    """Return how well a conversation hangs together, 0 to 1.

    Small networks read every turn beside the turns around it and what was said before, and how
    well it fits there beside elsewhere; the whole is judged from its turns. The evidence are the
    turns that carry the thread on worst: the effect of a turn is how much less than the
    conversation's usual turn it looks like one that belongs there. A conversation of any length
    costs one encoding a turn.

    Beside the networks stands which words look as if they did not belong where they stand, by a
    small network on the encoder's token states, what is said again word for word, and how turns
    sound by themselves to a network that learned from people's ratings.

    Args:
        evidence: What points at turns. ``left-out`` also judges the conversation without each of
            the turns that look worst, and the effect of a turn is what it adds to the score: it
            finds a turn from elsewhere more often, and takes several times as long.
    """
    spoken = [_spoken(one) for one in conversations]
    judged = [turns for turns in spoken if not _nothing_to_judge(turns)]
    found = iter(model.read([_thread(turns) for turns in judged]))
    for turns in spoken:
        if reason := _nothing_to_judge(turns):
            yield Judgement(NEUTRAL, "abstained", reason)
            continue
        value, each = next(found)
        shown = (
            _weakest(turns, each) if evidence == "turns" else _left_out(turns, each, value, model)
        )
        cut = any(model.truncated([turn.text for turn in turns.values()]))
        flags = ("truncated",) if cut else ()
        yield Judgement(value, "ok", _reason(shown), flags, shown)


def _spoken(conversation: Conversation) -> dict[int, Turn]:
    """Return the turns that hold text, by their index."""
    return {i: turn for i, turn in enumerate(conversation.turns) if turn.text.strip()}


def _thread(turns: dict[int, Turn]) -> Thread:
    said = turns.values()
    return Thread(tuple(turn.speaker for turn in said), tuple(turn.text for turn in said))


def _weakest(turns: dict[int, Turn], each: Sequence[float]) -> tuple[TurnEvidence, ...]:
    """Return the turns that carry on worst; the first turn carries nothing on."""
    places = list(turns)
    usual = sorted(each)[len(each) // 2]
    worst = sorted(range(1, len(each)), key=lambda i: each[i])[:SHOWN]
    return tuple(TurnEvidence(places[i], each[i] - usual) for i in worst if each[i] < usual)


def _left_out(
    turns: dict[int, Turn], each: Sequence[float], value: float, model: ThreadReader
) -> tuple[TurnEvidence, ...]:
    """Return the turns that carry on worst, by themselves and by what they cost the whole."""
    places = list(turns)
    tried = sorted(range(1, len(each)), key=lambda i: each[i])[:TRIED]
    if len(places) < 3:
        return ()  # nothing is left to judge without a turn
    without = model.read([_thread({k: turns[k] for k in places if k != places[i]}) for i in tried])
    effects = [value - other for other, _ in without]
    ranks = zip(
        _standard([_logit(each[i]) for i in tried]),
        _standard([_logit(value) - _logit(other) for other, _ in without]),
        strict=True,
    )
    order = sorted(zip((a + b for a, b in ranks), tried, effects, strict=True))
    return tuple(TurnEvidence(places[i], effect) for _, i, effect in order[:SHOWN] if effect < 0)


def _logit(value: float) -> float:
    kept = min(max(value, LEAST), 1 - LEAST)
    return math.log(kept / (1 - kept))


def _standard(values: Sequence[float]) -> list[float]:
    spread = pstdev(values) or 1.0
    return [(value - mean(values)) / spread for value in values]


def _reason(evidence: Sequence[TurnEvidence]) -> str:
    if not evidence:
        return "no turn stands out"
    return f"turn {evidence[0].turn} carries the thread on worst ({evidence[0].effect:+.2f})"


def _nothing_to_judge(turns: dict[int, Turn]) -> str | None:
    if len(turns) < 2:
        return "fewer than two turns hold text"
    unread = [reason for turn in turns.values() if (reason := unreadable(turn.text))]
    if len(unread) == len(turns):
        return f"the conversation {unread[0]}"
    if len(unread) == len(turns) - 1:
        return f"only one turn can be read: another {unread[0]}"
    return None
