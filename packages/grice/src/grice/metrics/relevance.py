"""Relevance: does this reply answer what was said?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from grice.data import Judgement, Response, TurnEvidence
from grice.metrics.common import flag_truncated, repeated_share, unscorable_reply
from grice.metrics.declaration import Count, Example, metric
from grice.models.protocols import Pair, PairClassifier
from grice.text.content import novelty

NEUTRAL = 0.5
NOTICEABLE = 0.005  # an effect below this would be printed as nothing


@metric(
    "relevance",
    version="4",
    summary="Does this reply answer what was said?",
    judges="response",
    models={"model": "builtin:relevance"},
    protocols={"model": PairClassifier},
    source=(
        "After the unreferenced score of RUBER (Tao et al., AAAI 2018) with contextual "
        "embeddings (Ghazarian et al., NeuralGen 2019)."
    ),
    neutral=NEUTRAL,
    default=True,
    abstain=unscorable_reply,
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def relevance(
    responses: Sequence[Response], *, model: PairClassifier, history: Count = 4
) -> Iterator[Judgement]:
    """Return the probability that the reply answers its history rather than another one.

    At 0.5 a true reply and a random one are equally likely. The evidence is the
    effect of each earlier turn: the score with it minus the score without it. A reply without
    history has 0.5.

    The log odds are a sum of three parts with weights of one sign: small networks on the vectors of
    the turns, the cosine of the reply with the last turn, and the fluency of the reply by a small
    dialogue language model. Sentences that repeat an earlier turn, or that ask for a good score,
    are stripped, and the score is multiplied by the fraction of the reply's words that is left.

    When to use it:
        To find replies that are off topic, and to compare systems on the same conversations.

    When not to:
        To judge whether a reply on the topic makes sense, is true or agrees with earlier turns: it
        does not detect negations and contradictions (``grice perturb --score``). Where
        the cosine with the turn before ranks as well, ``cosine_last_turn`` is the simpler choice.

    Args:
        history: Number of turns before the reply that are used.
    """
    items = [_item(response, history) for response in responses]
    values = iter(model.classify([pair for item in items for pair in item.pairs]))
    judgements = (_judgement(item, list(islice(values, len(item.pairs)))) for item in items)
    texts = [(*item.pairs[0].left, item.pairs[0].right) for item in items]
    return flag_truncated(judgements, texts, model, [item.pairs[0] for item in items])


class _Item(NamedTuple):
    """A reply to score."""

    pairs: tuple[Pair, ...]  # without repetition; then, of several turns, without each of them
    positions: tuple[int, ...]
    novel: float  # fraction of the reply's words that is no repetition


def _item(response: Response, history: int) -> _Item:
    novel = novelty(response.text, [turn.text for turn in response.history])
    turns = tuple(turn.text for turn in response.history[-history:])
    without = [turns[:i] + turns[i + 1 :] for i in range(len(turns)) if len(turns) > 1]
    pairs = tuple(Pair(left, novel.text) for left in (turns, *without))
    return _Item(pairs, tuple(response.positions[-history:]), novel.novel_fraction)


def _judgement(item: _Item, values: Sequence[float]) -> Judgement:
    """Return the judgement of a reply from the values of its pairs."""
    value, *without = (value * item.novel for value in values)
    effects = [value - other for other in without or (NEUTRAL,)]
    evidence = tuple(map(TurnEvidence, item.positions, effects))
    repeats = value < NEUTRAL <= max(values[0], 1 - item.novel)
    reason = repeated_share(item.novel) if repeats else _reason(value, evidence)
    return Judgement(value, "ok", reason, (), evidence)


def _reason(value: float, evidence: Sequence[TurnEvidence]) -> str:
    """Return the turn that contributes most to a high score, or least to a low one."""
    best, worst = (pick(evidence, key=lambda item: item.effect) for pick in (max, min))
    single = len(evidence) == 1
    if value < NEUTRAL and worst.effect > -NOTICEABLE:
        return f"low relevance to all turns (most: turn {best.turn}, {best.effect:+.2f})"
    if value < NEUTRAL:
        degree, shown = "not relevant" if single else "least relevant", worst
    elif best.effect < NOTICEABLE:
        return f"no turn contributes {NOTICEABLE} or more"
    else:
        degree, shown = "relevant" if single else "most relevant", best
    return f"{degree} to turn {shown.turn} (contribution {shown.effect:+.2f})"
