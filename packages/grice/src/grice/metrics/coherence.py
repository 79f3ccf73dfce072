"""Coherence of a conversation, by small networks on vectors of its turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grice.data import Conversation, Judgement, Turn, TurnEvidence
from grice.metrics.common import flag_truncated
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Dialogue, DialogueClassifier
from grice.text.language import other_language, unreadable

NEUTRAL = 0.5
SHOWN = 3  # number of the least coherent turns in the evidence


def _spoken(conversation: Conversation) -> dict[int, Turn]:
    return {i: turn for i, turn in enumerate(conversation.turns) if turn.text.strip()}


def _reason_against(conversation: Conversation) -> str | None:
    texts = [turn.text for turn in _spoken(conversation).values()]
    if len(texts) < 2:
        return "fewer than two turns contain text"
    unread = [reason for text in texts if (reason := unreadable(text))]
    if len(unread) == len(texts):
        return f"the conversation {unread[0]}"
    if len(unread) == len(texts) - 1:
        return f"only one turn can be read; another {unread[0]}"
    if language := other_language(" ".join(texts)):
        return f"the conversation is in {language}, not in English"
    return None


@metric(
    "coherence",
    version="7",
    summary="Is the conversation coherent?",
    judges="conversation",
    models={"model": "builtin:coherence"},
    protocols={"model": DialogueClassifier},
    source=(
        "After DEAM (Ghazarian et al., ACL 2022): trained on conversations broken on purpose, "
        "with ratings of conversations beside them."
    ),
    neutral=NEUTRAL,
    abstain=_reason_against,
    example=Example(
        ["Do you have any pets?", "Yes, a dog. He loves the park.", "What is his name?", "Rex!"],
        0.4,
        1.0,
    ),
)
def coherence(
    conversations: Sequence[Conversation], *, model: DialogueClassifier
) -> Iterator[Judgement]:
    """Return how coherent a conversation is, 0 to 1.

    Each turn is scored in context: against its neighbours, and against turns from elsewhere. The
    conversation score aggregates the turn scores, with further features: verbatim repetition, and
    how each turn was rated out of context. The cost is one encoding a turn, however long the
    conversation is.

    The evidence is the least coherent turns; the effect of a turn is its score minus the median
    turn score of the conversation.

    When to use it:
        To rank whole conversations of one kind, and to find turns that do not belong.

    When not to:
        For single replies (use ``relevance``), and for contradictions between turns, which it does
        not detect. It does not run by default, since simple baselines such as the mean cosine of
        neighbouring turns are nearly as good on every rated set of conversations.
    """
    spoken = list(map(_spoken, conversations))
    texts = [tuple(turn.text for turn in turns.values()) for turns in spoken]
    speakers = [tuple(turn.speaker for turn in turns.values()) for turns in spoken]
    readings = model.read(list(map(Dialogue, speakers, texts)))
    judgements = map(_judgement, map(list, spoken), readings)
    return flag_truncated(judgements, texts, model)


def _judgement(places: list[int], reading: tuple[float, tuple[float, ...]]) -> Judgement:
    value, each = reading
    usual = sorted(each)[len(each) // 2]
    # The first turn follows nothing.
    worst = sorted(range(1, len(each)), key=lambda i: each[i])[:SHOWN]
    evidence = tuple(TurnEvidence(places[i], each[i] - usual) for i in worst if each[i] < usual)
    reason = f"no turn is below the median turn ({usual:.2f})"
    if evidence:
        reason = f"turn {{turn}} is {-evidence[0].effect:.2f} below the median turn"
    return Judgement(value, "ok", reason, (), evidence)
