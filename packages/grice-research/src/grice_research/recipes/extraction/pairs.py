"""The pairs of events of replies as arrays, made once, so that many weightings can be tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.knowledge.extraction.candidates import allowed, candidates, features, worded
from grice.knowledge.extraction.cues import mentions_in
from grice.knowledge.extraction.protocol import KINDS, RELATIONS
from grice.models.models import Models
from grice_research.extraction import as_deco
from grice_research.recipes.extraction.deco import NOTHING, bleu2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.extraction.protocol import Exchange
    from grice_research.recipes.extraction.deco import Reply


class Pairs(NamedTuple):
    """All pairs of events of one reply.

    Attributes:
        features: Shape ``(pairs, features)``.
        allowed: Shape ``(pairs, relations)``.
        likeness: BLEU-2 against people's triples of the relation, 0 where there are none.
    """

    features: np.ndarray
    allowed: np.ndarray
    likeness: np.ndarray


def read(exchanges: Sequence[Exchange], gold: Sequence[dict[str, list[str]]] = ()) -> list[Pairs]:
    """Read the pairs of events of each reply with the shipped tagger."""
    tagger = Models(mode="exact", workers=1, cache=None).open("bundle:events")
    by_reply = []
    for i, (event_mentions, _) in enumerate(mentions_in(exchanges, tagger, KINDS)):  # type: ignore[arg-type]
        pairs = candidates(event_mentions, KINDS)
        own = sum(item.own for item in event_mentions)
        counts = (len(event_mentions) - own, own)
        people = gold[i] if gold else {}
        by_reply.append(
            Pairs(
                features(pairs, counts),
                allowed(pairs),
                np.array(
                    [[_likeness(p, r, people.get(r)) for r in RELATIONS] for p in pairs]
                ).reshape(len(pairs), len(RELATIONS)),
            )
        )
    return by_reply


def _likeness(pair: object, relation: str, people: list[str] | None) -> float:
    if not people:
        return 0.0
    head, tail = worded(pair, relation)  # type: ignore[arg-type]
    return bleu2([f"{as_deco(head)} <sep> {as_deco(tail)}"], people)


def best(by_reply: Sequence[Pairs], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each cell the score and the number of its best pair; -1 where there is none."""
    scores = np.full((len(by_reply), len(RELATIONS)), NOTHING)
    chosen = np.full(scores.shape, -1)
    for i, pairs in enumerate(by_reply):
        if len(pairs.features):
            values = np.where(pairs.allowed, pairs.features @ weights, NOTHING)
            chosen[i] = np.where(pairs.allowed.any(axis=0), values.argmax(axis=0), -1)
            scores[i] = values.max(axis=0)
    return scores, chosen


def likeness(by_reply: Sequence[Pairs], chosen: np.ndarray, replies: Sequence[Reply]) -> np.ndarray:
    """Return BLEU-2 of the chosen pairs in the cells where people gave a triple, else NaN."""
    values = np.full(chosen.shape, np.nan)
    for i, reply in enumerate(replies):
        for j, name in enumerate(RELATIONS):
            if name in reply.gold and chosen[i, j] >= 0:
                values[i, j] = by_reply[i].likeness[chosen[i, j], j]
    return values
