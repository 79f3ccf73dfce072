"""Coherence: does the conversation hang together?"""

from __future__ import annotations

from statistics import mean, pstdev
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain
from grice.records import Judgement, TurnEvidence
from grice.text.language import other_language
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation, Turn


class Dialogue(NamedTuple):
    """A whole conversation to be judged: who says what, in order."""

    speakers: tuple[str, ...]
    texts: tuple[str, ...]


@runtime_checkable
class DialogueClassifier(Protocol):
    """Judges how coherent conversations are, and which turns are not."""

    identity: str

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation a value, and one for each of its turns, all 0 to 1."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        ...


NEUTRAL = 0.5
SHOWN = 3
"""How many of the least coherent turns the evidence names."""
TRIED = 24
"""How many turns are left out, those that look worst: a long conversation stays affordable."""
LEAST = 1e-6


@metric(
    "coherence",
    version="5",
    summary="Does the conversation hang together?",
    judges="conversation",
    models={"model": "bundle:coherence"},
    protocols={"model": DialogueClassifier},
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
def coherence(
    conversations: Sequence[Conversation],
    *,
    model: DialogueClassifier,
    evidence: Literal["turns", "left-out"] = "turns",
) -> Iterator[Judgement]:
    """Return how coherent a conversation is, 0 to 1.

    Each turn is scored in context: beside the turns around it, and beside turns from elsewhere. The
    conversation score aggregates the turn scores, with further features: replaced-token detection,
    verbatim repetition, and how each turn was rated out of context. The cost is one encoding a
    turn, however long the conversation is.

    The evidence is the least coherent turns; the effect of a turn is its score minus the median
    turn score of the conversation.

    When to use it:
        To rank whole conversations of one kind, and to find turns that do not belong.

    When not to:
        For single replies (use ``relevance``), and for turns that contradict each other: these
        are not noticed. Simple counts come near it on every rated set of conversations, such as
        the mean cosine of neighbouring turns, which is why it does not run by default.

    Args:
        evidence: How the least coherent turns are found. ``left-out`` also scores the conversation
            without each of the worst turns, and the effect of a turn is what it adds to the score:
            it finds inserted turns more often, and takes several times as long.
    """

    def judge(judged: Sequence[dict[int, Turn]]) -> Iterator[Judgement]:
        readings = model.read([_dialogue(turns) for turns in judged])
        for turns, (value, each) in zip(judged, readings, strict=True):
            if evidence == "turns":
                weakest = _weakest(turns, each)
            else:
                weakest = _left_out(turns, each, value, model)
            cut = any(model.truncated([turn.text for turn in turns.values()]))
            flags = ("truncated",) if cut else ()
            yield Judgement(value, "ok", _reason(value, weakest), flags, weakest)

    spoken = [_spoken(conversation) for conversation in conversations]
    return judge_or_abstain(spoken, _nothing_to_judge, judge, NEUTRAL)


def _spoken(conversation: Conversation) -> dict[int, Turn]:
    """Return the turns that hold text, by their index."""
    return {i: turn for i, turn in enumerate(conversation.turns) if turn.text.strip()}


def _dialogue(turns: dict[int, Turn]) -> Dialogue:
    spoken = turns.values()
    return Dialogue(tuple(turn.speaker for turn in spoken), tuple(turn.text for turn in spoken))


def _weakest(turns: dict[int, Turn], each: Sequence[float]) -> tuple[TurnEvidence, ...]:
    """Return the least coherent turns; the first one follows nothing."""
    places = list(turns)
    usual = sorted(each)[len(each) // 2]
    worst = sorted(range(1, len(each)), key=lambda i: each[i])[:SHOWN]
    return tuple(TurnEvidence(places[i], each[i] - usual) for i in worst if each[i] < usual)


def _left_out(
    turns: dict[int, Turn], each: Sequence[float], value: float, model: DialogueClassifier
) -> tuple[TurnEvidence, ...]:
    """Return the least coherent turns, by themselves and by what they cost the whole."""
    from grice.numeric import logit  # metrics are listed without numpy

    places = list(turns)
    tried = sorted(range(1, len(each)), key=lambda i: each[i])[:TRIED]
    if len(places) < 3:
        return ()  # nothing is left to judge without a turn
    without = model.read(
        [_dialogue({k: turns[k] for k in places if k != places[i]}) for i in tried]
    )
    effects = [value - other for other, _ in without]
    ranks = zip(
        _standard([logit(each[i], LEAST) for i in tried]),
        _standard([logit(value, LEAST) - logit(other, LEAST) for other, _ in without]),
        strict=True,
    )
    order = sorted(zip((a + b for a, b in ranks), tried, effects, strict=True))
    return tuple(TurnEvidence(places[i], effect) for _, i, effect in order[:SHOWN] if effect < 0)


def _standard(values: Sequence[float]) -> list[float]:
    spread = pstdev(values) or 1.0
    return [(value - mean(values)) / spread for value in values]


def _reason(value: float, evidence: Sequence[TurnEvidence]) -> str:
    if not evidence:
        return "no turn stands out"
    weakest = f"{evidence[0].turn} ({evidence[0].effect:+.2f})"
    if value >= NEUTRAL:
        return f"coherent as a whole, least at turn {weakest}"
    return f"least coherent turn: {weakest}"


def _nothing_to_judge(turns: dict[int, Turn]) -> str | None:
    if len(turns) < 2:
        return "fewer than two turns hold text"
    unread = [reason for turn in turns.values() if (reason := unreadable(turn.text))]
    if len(unread) == len(turns):
        return f"the conversation {unread[0]}"
    if len(unread) == len(turns) - 1:
        return f"only one turn can be read: another {unread[0]}"
    if language := other_language(" ".join(turn.text for turn in turns.values())):
        return f"the conversation is in {language}, not in English"
    return None
