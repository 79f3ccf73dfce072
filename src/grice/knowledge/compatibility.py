"""How well a triple agrees with what is known: the tests of ACCENT and their alternatives.

Each alternative is one module ``compatibility_NAME`` with a function ``compatibility(triples,
sources)``; a further one is one more file.
"""

from __future__ import annotations

import math
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

import grice.knowledge
from grice.errors import InputError, did_you_mean
from grice.knowledge.lookup import StoredKnowledge, encoded
from grice.knowledge.protocols import KnowledgeBase
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import head_text, tail_text
from grice.numeric import unit_cosine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.knowledge.lookup import Shelf
    from grice.knowledge.plausibility import TripleHead
    from grice.records import KnownTail, Triple
    from grice.runtime.protocols import Encoder

    Scorer: TypeAlias = Callable[[Sequence[Triple], "Sources"], list[float]]

__all__ = [
    "EACH",
    "NO_TRIPLE",
    "Sources",
    "as_knowledge_base",
    "cautious_score",
    "checked",
    "find_scorer",
    "mean_score",
    "nearest_known",
    "scorer_names",
]

PREFIX = "compatibility_"
NO_TRIPLE = 0.5
"""ACCENT's score of a reply without a triple."""
LEAST = 0.01
"""What a triple counts at least: a cosine may be 0, which would decide everything."""
TAILS = 10
"""Tails asked for, as many as ACCENT has COMET write."""
EACH = 1
"""Tails looked at of each of the nearest known heads. On the development part of CSKB Population
two tails did no better by more than 0.001, and cost as much again."""


class Sources(NamedTuple):
    """What a scorer may ask.

    Attributes:
        head: Networks on the vectors of head and tail.
        knowledge: Known or generated tails.
        embedder: Turns tails into vectors that are compared.
        tails: How many tails are asked for.
        nearest: The most similar known tail of each triple, where it was looked up already.
    """

    head: TripleHead
    knowledge: KnowledgeBase
    embedder: Encoder
    tails: int = TAILS
    nearest: Sequence[KnownTail | None] | None = None


def scorer_names() -> list[str]:
    """Return the names of the scorers there are."""
    found = [module.name for module in iter_modules(grice.knowledge.__path__)]
    return sorted(name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX))


def find_scorer(name: str) -> Scorer:
    """Return a scorer by name: from triples and sources to a number from 0 to 1 for each triple.

    Raises:
        InputError: If there is none of that name.
    """
    names = scorer_names()
    if name not in names:
        raise InputError(f"no compatibility scorer {name!r}{did_you_mean(name, names)}")
    scorer: Scorer = import_module(f"grice.knowledge.{PREFIX}{name}").compatibility
    return scorer


def checked(triples: Sequence[Triple]) -> None:
    """Refuse a triple without a head or a tail, which no scorer can judge.

    Raises:
        InputError: If there is one.
    """
    for triple in triples:
        for part in ("head", "tail"):
            if not getattr(triple, part).strip():
                raise InputError(
                    f"triple ({triple.head!r}, {triple.relation}, {triple.tail!r}): its {part} is "
                    "empty; give the event in words"
                )


def as_knowledge_base(knowledge: KnowledgeBase | Shelf, encoder: Encoder) -> KnowledgeBase:
    """Return stored triples as a knowledge base; what is one already stays as it is."""
    if isinstance(knowledge, KnowledgeBase):
        return knowledge
    return StoredKnowledge(knowledge, encoder)


def nearest_known(
    triples: Sequence[Triple], knowledge: KnowledgeBase | Shelf, encoder: Encoder
) -> list[KnownTail | None]:
    """Return for each triple the known or generated tail most like its own; None if there is none.

    Args:
        triples: What was said.
        knowledge: A store looks only under the heads nearest to each head; anything else is asked
            for tails, and they are compared here.
        encoder: Compares tails.
    """
    if not triples:
        return []
    schema = load_schema("atomic2020")
    said = [tail_text(triple.tail, schema[triple.relation]) for triple in triples]
    # A store asks one relation after the other. Asked for all texts at once, an encoder that
    # keeps its answers fills its batches, which is a third faster.
    encoded([*(head_text(triple.head) for triple in triples), *said], encoder)
    if hasattr(knowledge, "best_known"):
        found: list[KnownTail | None] = knowledge.best_known(triples, encoder=encoder, tails=EACH)
        return found
    base = as_knowledge_base(knowledge, encoder)
    heads = [triple.head for triple in triples]
    relations = [triple.relation for triple in triples]
    given = base.tails(heads, relations, TAILS)
    texts = [[tail_text(one.tail, schema[r]) for one in each]
             for r, each in zip(relations, given, strict=True)]  # fmt: skip
    vectors = encoded([*said, *(text for each in texts for text in each)], encoder)
    return [
        max(
            (
                msgspec.structs.replace(
                    one, tail_similarity=unit_cosine(vectors[own], vectors[text])
                )
                for one, text in zip(each, worded, strict=True)
            ),
            key=lambda one: one.tail_similarity,
            default=None,
        )
        for own, each, worded in zip(said, given, texts, strict=True)
    ]


def mean_score(scores: Sequence[float]) -> float:
    """Return the score of a reply from those of its triples, as ACCENT does: their mean, else 0.5.

    >>> round(mean_score([0.33, 0.12, 0.18]), 2), mean_score([])
    (0.21, 0.5)
    """
    return sum(scores) / len(scores) if scores else NO_TRIPLE


def cautious_score(scores: Sequence[float]) -> float:
    """Return the score of a reply as the harmonic mean of those of its triples, else 0.5.

    People call a reply senseless for one senseless triple, so a low one counts more than a high
    one.

    >>> round(cautious_score([0.8, 0.8]), 2), round(cautious_score([0.8, 0.8, 0.1]), 2)
    (0.8, 0.24)
    """
    if not scores:
        return NO_TRIPLE
    return len(scores) / math.fsum(1 / max(LEAST, score) for score in scores)
