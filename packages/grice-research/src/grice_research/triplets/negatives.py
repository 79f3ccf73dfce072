"""Triplets that a dialogue does not entail, made from those it does, in four ways.

Of a valid (A, R, B) of a dialogue: ``reverse`` (B, R, A); ``relation`` (A, Q, B); ``span``
(X, R, B) or (A, R, X), X another annotated span of the dialogue; ``combined``, any of these at
once. What is annotated is never a negative: neither the spans as they stand nor their lemmas,
case aside, in both directions of a symmetric relation.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from grice.knowledge.schema import load_schema
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["FROZEN", "STRATEGIES", "Made", "Strategy", "is_symmetric", "make_negatives"]

Strategy: TypeAlias = Literal["reverse", "relation", "span", "combined"]
STRATEGIES: tuple[Strategy, ...] = ("reverse", "relation", "span", "combined")

FROZEN = "cider-nli-v1"
"""Name that draws the frozen set: another name draws another set by the same rule."""

STEPS: tuple[tuple[Strategy, int | None], ...] = (
    ("reverse", 1),
    ("relation", 2),
    ("span", 2),
    ("combined", None),
    ("relation", None),
)
"""How many are taken of each kind, in this order; None: as many as are still wanted."""


class Made(NamedTuple):
    """A negative.

    Attributes:
        number: The triplet of the dialogue that it was made from.
        strategy: How.
        triple: What is not entailed.
        train: Whether it is one of those taken for training.
    """

    number: int
    strategy: Strategy
    triple: Triple
    train: bool


def make_negatives(
    dialogue: str,
    triplets: Sequence[Triple],
    *,
    lemma: Callable[[str], str] = str,
    each: int = 8,
    train: int = 2,
    draw: str = FROZEN,
) -> list[Made]:
    """Return up to ``each`` negatives per triplet of a dialogue, ``train`` of them marked.

    The draw is by hash: it depends on the dialogue's id, the triplet and ``draw`` alone.

    Args:
        dialogue: Its id.
        triplets: Everything annotated in it, in order.
        lemma: Gives the form in which two spans count as the same, besides their own.
        each: Negatives per triplet; fewer if the dialogue has too few spans.
        train: How many of them are marked for training.
        draw: Name of the draw.
    """
    triplets = [
        Triple(triple.head.strip(), triple.relation, triple.tail.strip()) for triple in triplets
    ]
    spans = list(dict.fromkeys(side for triple in triplets for side in (triple.head, triple.tail)))
    taken: set[Triple] = set()
    positive = {key for triple in triplets for key in _keys(triple, lemma)}
    negatives = []
    for index, triplet in enumerate(triplets):
        chosen: list[tuple[Strategy, Triple]] = []
        drawn = {
            strategy: _shuffled(
                _candidates(strategy, triplet, spans), draw, dialogue, index, strategy
            )
            for strategy in STRATEGIES
        }
        for strategy, most in STEPS:
            end = each if most is None else min(each, len(chosen) + most)
            for candidate in drawn[strategy]:
                if len(chosen) >= end:
                    break
                if candidate not in taken and _is_negative(candidate, positive, lemma):
                    taken.add(candidate)
                    chosen.append((strategy, candidate))
        marks = _by_mark(chosen, draw, dialogue, index)[:train]
        negatives += [
            Made(index, strategy, triple, (strategy, triple) in marks)
            for strategy, triple in chosen
        ]
    return negatives


def is_symmetric(relation: str) -> bool:
    """Return whether a relation of CIDER holds in both directions."""
    return load_schema("cider")[relation].symmetric


def _candidates(strategy: Strategy, triple: Triple, spans: Sequence[str]) -> Iterator[Triple]:
    head, relation, tail = triple.head, triple.relation, triple.tail
    others = [span for span in spans if span not in (head, tail)]
    relations = [name for name in load_schema("cider").relations if name != relation]
    if strategy == "reverse":
        if not is_symmetric(relation):
            yield Triple(tail, relation, head)
    elif strategy == "relation":
        yield from (Triple(head, name, tail) for name in relations)
    elif strategy == "span":
        for span in others:
            yield Triple(span, relation, tail)
            yield Triple(head, relation, span)
    else:
        yield from (Triple(tail, name, head) for name in relations)
        for span in others:
            yield Triple(tail, relation, span)
            yield Triple(span, relation, head)
            for name in relations:
                yield Triple(span, name, tail)
                yield Triple(head, name, span)
                yield Triple(span, name, head)
                yield Triple(tail, name, span)


def _is_negative(triple: Triple, positive: set[Triple], lemma: Callable[[str], str]) -> bool:
    same = triple.head.lower() == triple.tail.lower()
    same = same or lemma(triple.head).lower() == lemma(triple.tail).lower()
    return not same and not any(key in positive for key in _keys(triple, lemma))


def _keys(triple: Triple, lemma: Callable[[str], str]) -> Iterator[Triple]:
    for form in (str, lemma):
        head, tail = form(triple.head).lower(), form(triple.tail).lower()
        yield Triple(head, triple.relation, tail)
        if is_symmetric(triple.relation):
            yield Triple(tail, triple.relation, head)


def _digest(*parts: object) -> str:
    return hashlib.sha256("\t".join(map(str, parts)).encode()).hexdigest()


def _shuffled(
    candidates: Iterator[Triple], draw: str, dialogue: str, index: int, strategy: str
) -> list[Triple]:
    def key(triple: Triple) -> str:
        return _digest(draw, dialogue, index, strategy, triple.head, triple.relation, triple.tail)

    return sorted(dict.fromkeys(candidates), key=key)


def _by_mark(
    chosen: Sequence[tuple[Strategy, Triple]], draw: str, dialogue: str, index: int
) -> list[tuple[Strategy, Triple]]:
    def key(candidate: tuple[Strategy, Triple]) -> str:
        strategy, triple = candidate
        return _digest(
            draw, dialogue, index, "train", strategy, triple.head, triple.relation, triple.tail
        )

    return sorted(chosen, key=key)
