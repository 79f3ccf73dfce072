"""Coherence: does the conversation hang together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.declaration import Example, metric
from grice.records import Judgement, TurnEvidence
from grice.runtime.protocols import Pair, Thread
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation, Turn
    from grice.runtime.protocols import PairClassifier, ThreadReader

__all__ = ["coherence"]

NEUTRAL = 0.5
TURNS = 4
"""Turns before a turn that its fit is judged by."""
SHOWN = 3
"""How many turns the evidence names, those that carry the thread on worst."""


@metric(
    "coherence",
    version="1",
    summary="Does the conversation hang together?",
    judges="conversation",
    models={"model": "bundle:coherence", "relevance": "bundle:relevance"},
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
    relevance: PairClassifier,
    share: float = 0.5,
) -> Iterator[Judgement]:
    """Return how well a conversation hangs together, 0 to 1.

    A network reads every turn beside what was said before it and judges the whole; mixed in is how
    well its turns fit what was said before them, on average. The evidence are the turns that carry
    the thread on worst: the effect of a turn is how much less than the conversation's usual turn
    it looks like one that belongs there. A conversation of any length costs one encoding a turn.

    Args:
        share: Share of the mean fit of the turns in the score.
    """
    spoken = [_spoken(one) for one in conversations]
    judged = [turns for turns in spoken if not _nothing_to_judge(turns)]
    found = iter(_judge(judged, model, relevance, share))
    for turns in spoken:
        if reason := _nothing_to_judge(turns):
            yield Judgement(NEUTRAL, "abstained", reason)
            continue
        value, each = next(found)
        evidence = _weakest(turns, each)
        cut = any(model.truncated([turn.text for turn in turns.values()]))
        flags = ("truncated",) if cut else ()
        yield Judgement(value, "ok", _reason(evidence), flags, evidence)


def _spoken(conversation: Conversation) -> dict[int, Turn]:
    """Return the turns that hold text, by their index."""
    return {i: turn for i, turn in enumerate(conversation.turns) if turn.text.strip()}


def _judge(
    judged: Sequence[dict[int, Turn]], model: ThreadReader, relevance: PairClassifier, share: float
) -> Iterator[tuple[float, list[float]]]:
    """Yield the value of each conversation, and one of each turn."""
    texts = [tuple(turn.text for turn in turns.values()) for turns in judged]
    speakers = [tuple(turn.speaker for turn in turns.values()) for turns in judged]
    read = model.read([Thread(*both) for both in zip(speakers, texts, strict=True)])
    pairs = [
        Pair(said[max(0, i - TURNS) : i], said[i]) for said in texts for i in range(1, len(said))
    ]
    fits = iter(relevance.classify(pairs) if share else [0.0] * len(pairs))
    for value, turns in read:
        own = [next(fits) for _ in turns[1:]]
        mean = sum(own) / len(own)
        # Nothing was said before the first turn, which it could fit.
        each = [
            (1 - share) * turn + share * fit for turn, fit in zip(turns, [mean, *own], strict=True)
        ]
        yield (1 - share) * value + share * mean, each


def _weakest(turns: dict[int, Turn], each: Sequence[float]) -> tuple[TurnEvidence, ...]:
    """Return the turns that carry on worst; the first turn carries nothing on."""
    places = list(turns)
    usual = sorted(each)[len(each) // 2]
    worst = sorted(range(1, len(each)), key=lambda i: each[i])[:SHOWN]
    return tuple(TurnEvidence(places[i], each[i] - usual) for i in worst if each[i] < usual)


def _reason(evidence: Sequence[TurnEvidence]) -> str:
    if not evidence:
        return "no turn stands out"
    return f"turn {evidence[0].turn} carries the thread on worst ({evidence[0].effect:+.2f})"


def _nothing_to_judge(turns: dict[int, Turn]) -> str | None:
    if len(turns) < 2:
        return "fewer than two turns hold text"
    reasons = [unreadable(turn.text) for turn in turns.values()]
    return f"the conversation {reasons[0]}" if all(reasons) else None
