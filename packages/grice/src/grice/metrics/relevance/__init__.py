"""Relevance: does this reply answer what was said?"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import judge_or_abstain, nothing_to_judge
from grice.models.protocols import Pair, PairClassifier
from grice.records import Judgement, TurnEvidence
from grice.text.repetition import novelty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.metrics.declaration import Count
    from grice.models.protocols import PairClassifier
    from grice.records import Response

__all__ = ["relevance"]

NEUTRAL = 0.5
NOTICEABLE = 0.005
"""An effect below this would be printed as nothing."""


@metric(
    "relevance",
    version="4",
    summary="Does this reply answer what was said?",
    judges="response",
    models={"model": "bundle:relevance"},
    protocols={"model": PairClassifier},
    source=(
        "After the unreferenced score of RUBER (Tao et al., AAAI 2018) with contextual "
        "embeddings (Ghazarian et al., NeuralGen 2019)."
    ),
    neutral=NEUTRAL,
    default=True,
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def relevance(
    responses: Sequence[Response], *, model: PairClassifier, history: Count = 4
) -> Iterator[Judgement]:
    """Return the probability that the reply answers its history and not another one.

    0.5 means that the reply is as likely to belong here as a random one is. The evidence is the
    effect of each earlier turn: the score with it minus the score without it. Without any turn
    before it, a reply has 0.5.

    The log odds are a sum of three parts with weights of one sign: small networks on the vectors of
    the turns, the cosine of the reply with the last turn, and how fluent the reply is by a small
    dialogue language model. Sentences that repeat an earlier turn, or that ask for a good mark, are
    stripped, and the score is multiplied by the fraction of the reply's words that is left.

    When to use it:
        To find replies that are off topic, and to compare systems on the same conversations.

    When not to:
        To judge whether a reply on the topic makes sense, is true or agrees with what was said
        before: negations and contradictions go unnoticed (``grice perturb --score``). Where the
        cosine with the turn before ranks as well, ``cosine_last_turn`` is the simpler choice.

    Args:
        history: How many turns before the reply are read.
    """

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        items = [_item(response, history) for response in judged]
        pairs = [pair for item in items for pair in (item.pair, *item.shortened)]
        values = iter(model.classify(pairs))
        cut = _cut_texts(model, items)
        return (_judgement(item, list(islice(values, item.size)), cut) for item in items)

    return judge_or_abstain(responses, nothing_to_judge, judge, NEUTRAL)


class _Item(NamedTuple):
    """A reply that can be judged.

    Attributes:
        pair: The history that is read, and the reply without repetition.
        shortened: The pair without each turn of the history; none where there is only one.
        positions: The index of each turn of the history.
        novel: Fraction of the reply's words that is no repetition.
    """

    pair: Pair
    shortened: tuple[Pair, ...]
    positions: tuple[int, ...]
    novel: float

    @property
    def size(self) -> int:
        return 1 + len(self.shortened)


def _item(response: Response, history: int) -> _Item:
    novel = novelty(response.text, (turn.text for turn in response.history))
    turns = tuple(turn.text for turn in response.history[-history:])
    shortened = tuple(
        Pair(turns[:i] + turns[i + 1 :], novel.text) for i in range(len(turns)) if len(turns) > 1
    )
    positions = tuple(response.positions[-history:])
    return _Item(Pair(turns, novel.text), shortened, positions, novel.novel_fraction)


def _judgement(item: _Item, values: Sequence[float], cut: frozenset[str]) -> Judgement:
    """Return the judgement of a reply from the values of its pair and of its shortened pairs."""
    value, *without = (value * item.novel for value in values)
    effects = [value - other for other in without or (NEUTRAL,)]
    evidence = tuple(map(TurnEvidence, item.positions, effects))
    flags = ("truncated",) if not cut.isdisjoint((*item.pair.left, item.pair.right)) else ()
    repeated = value < NEUTRAL <= max(values[0], 1 - item.novel)
    reason = _repeats(item.novel) if repeated else _reason(value, evidence)
    return Judgement(value, "ok", reason, flags, evidence)


def _repeats(novel: float) -> str:
    return f"only {novel:.0%} of its words are new" if novel else "none of its words is new"


def _reason(value: float, evidence: Sequence[TurnEvidence]) -> str:
    """Return what supports a good reply, or speaks against another one."""
    low = value < NEUTRAL
    most = (min if low else max)(evidence, key=lambda item: item.effect)
    verb, effect = ("speaks against", -most.effect) if low else ("supports", most.effect)
    among = " most" if len(evidence) > 1 else ""
    if effect >= NOTICEABLE:
        return f"turn {most.turn} {verb} it{among} ({most.effect:+.2f})"
    if not low:
        return "no single turn decides"
    supported = any(item.effect >= NOTICEABLE for item in evidence)
    return "no earlier turn supports it" + (" enough" if supported else "")


def _cut_texts(model: PairClassifier, items: Sequence[_Item]) -> frozenset[str]:
    """Return the texts that are too long for the model to read whole."""
    texts = list({text for item in items for text in (*item.pair.left, item.pair.right)})
    return frozenset(text for text, cut in zip(texts, model.truncated(texts), strict=True) if cut)
