"""Relevance: does this reply answer what was said?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import nothing_to_judge
from grice.records import Judgement, TurnEvidence
from grice.runtime.protocols import Pair, PairClassifier
from grice.text.anew import read_anew

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.metrics.declaration import Count
    from grice.records import Response

__all__ = ["relevance"]

NEUTRAL = 0.5
NOTICEABLE = 0.005
"""An effect below this would be printed as nothing."""


@metric(
    "relevance",
    version="3",
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
    """Return the probability that the reply belongs to its history.

    0.5 is the point at which a reply is as likely to be the true one as a random one. The
    evidence is what each earlier turn does: the score with it minus the score without it.

    A reply whose words are odd in their place, dropped, bent or out of order, loses a little by the
    judgement of a small language model of dialogue. A negation is not noticed (``grice sanity``).

    Sentences that were said before or ask for a good mark are not read: the score is multiplied by
    the share of the reply's words that are left.

    Args:
        history: How many turns before the reply are read.
    """
    reasons = [nothing_to_judge(r) for r in responses]
    readable = [r for r, reason in zip(responses, reasons, strict=True) if not reason]
    windows = [r.history[-history:] for r in readable]
    anew = [read_anew(r.text, (turn.text for turn in r.history)) for r in readable]
    shares = iter([found.share for found in anew])
    pairs = [Pair(tuple(turn.text for turn in window), found.text)
             for found, window in zip(anew, windows, strict=True)]  # fmt: skip
    shortened = [
        Pair(pair.left[:i] + pair.left[i + 1 :], pair.right)
        for pair in pairs
        if len(pair.left) > 1
        for i in range(len(pair.left))
    ]
    values = model.classify([*pairs, *shortened])
    whole = iter(values[: len(pairs)])
    without = iter(values[len(pairs) :])
    truncated = iter(_truncated(model, pairs))
    for response, unjudged in zip(responses, reasons, strict=True):
        if unjudged:
            yield Judgement(NEUTRAL, "abstained", unjudged)
            continue
        share = next(shares)
        value = next(whole) * share
        positions = response.positions[-history:]
        # With one turn only there is no history left without it to compare with.
        effects = [value - next(without) * share for _ in positions] if len(positions) > 1 else []
        evidence = tuple(map(TurnEvidence, positions, effects))
        flags = ("truncated",) if next(truncated) else ()
        reason = _reason(evidence) if share == 1 else f"{share:.0%} of its words are new"
        yield Judgement(value, "ok", reason, flags, evidence)


def _reason(evidence: Sequence[TurnEvidence]) -> str | None:
    if not evidence:
        return None
    most = max(evidence, key=lambda item: abs(item.effect))
    if abs(most.effect) < NOTICEABLE:
        return "no earlier turn makes a difference"
    verb = "supports" if most.effect > 0 else "speaks against"
    return f"turn {most.turn} {verb} it most ({most.effect:+.2f})"


def _truncated(model: PairClassifier, pairs: Sequence[Pair]) -> list[bool]:
    texts = list({text for pair in pairs for text in (*pair.left, pair.right)})
    cut = dict(zip(texts, model.truncated(texts), strict=True))
    return [any(cut[text] for text in (*pair.left, pair.right)) for pair in pairs]
