"""How well a triple agrees with what is known: the scorers of ACCENT and their alternatives.

A scorer takes triples and sources, and gives a number from 0 to 1 for each triple. ``calibrated``
is the default; ``cosine`` and ``likelihood`` are the two tests of ACCENT (Ghazarian et al.,
Findings of ACL 2023), with COMET's tails and with its loss.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError, did_you_mean
from grice.knowledge.lookup import KnowledgeBase, StoredKnowledge, TailProbabilities, encoded
from grice.knowledge.plausibility import TripleHead
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import head_text, tail_text
from grice.numeric import unit_cosine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.knowledge.lookup import TripleStore
    from grice.models.protocols import Encoder, Vector
    from grice.records import KnownTail, Triple

    Scorer: TypeAlias = Callable[[Sequence[Triple], "Sources"], list[float]]

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
        head: Networks on the vectors of head and tail, or knowledge that judges triples.
        knowledge: Known or generated tails.
        embedder: Turns tails into vectors that are compared.
        tails: How many tails are asked for.
        nearest: The most similar known tail of each triple, where it was looked up already.
    """

    head: TripleHead | KnowledgeBase
    knowledge: KnowledgeBase
    embedder: Encoder
    tails: int = TAILS
    nearest: Sequence[KnownTail | None] | None = None


def find_scorer(name: str) -> Scorer:
    """Return a scorer by name: from triples and sources to a number from 0 to 1 for each triple.

    It refuses a triple without a head or a tail with an :class:`InputError`.
    """
    if name not in _SCORERS:
        raise InputError(f"no compatibility scorer {name!r}{did_you_mean(name, _SCORERS)}")
    scorer = _SCORERS[name]

    def score(triples: Sequence[Triple], sources: Sources) -> list[float]:
        _check(triples)
        return scorer(triples, sources)

    return score


def _calibrated(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return how sensible triples are: 0.5 is as likely a known triple as a mismatched one.

    The networks of the bundle read the most similar known tail beside a triple where there is one;
    knowledge in their place answers by itself.
    """
    if isinstance(sources.head, TripleHead):
        return sources.head.plausibility(triples, sources.nearest)
    return sources.head.plausibility(triples)


def _cosine(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return ``max(0, max_i cos(embed(t), embed(t_i)))`` over the tails asked for.

    ACCENT's generator gives ten; here whatever the sources hold does. Tails in a reply are clauses,
    known ones fragments: both are worded alike before they are compared
    (:func:`grice.knowledge.wording.tail_text`), which the paper leaves out.
    """
    schema = load_schema("atomic2020")
    heads = [triple.head for triple in triples]
    relations = [triple.relation for triple in triples]
    given = sources.knowledge.tails(heads, relations, sources.tails) if triples else []
    own = [tail_text(triple.tail, schema[triple.relation]) for triple in triples]
    known = [
        [tail_text(known_tail.tail, schema[triple.relation]) for known_tail in tails]
        for triple, tails in zip(triples, given, strict=True)
    ]
    vectors = encoded([*own, *(text for each in known for text in each)], sources.embedder)
    return [
        best_cosine(vectors[text], [vectors[tail] for tail in each])
        for text, each in zip(own, known, strict=True)
    ]


def best_cosine(own: Vector, known: Sequence[Vector]) -> float:
    """Return the largest cosine of a unit vector with others, from 0 (also if there are none)."""
    return max([0.0, *(unit_cosine(own, vector) for vector in known)])


def _likelihood(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return ``exp(-loss)`` of each tail given head and relation: ACCENT's "COMET (neural)".

    It is the geometric mean of the probabilities of the word pieces; stored triples have none.
    """
    if not isinstance(sources.knowledge, TailProbabilities):
        raise InputError(
            "the scorer likelihood needs knowledge that generates tails; this one stores them. "
            "Name a generator, such as bundle:comet, or take the scorer cosine"
        )
    tails = sources.knowledge.likelihoods(triples) if triples else []
    return [0.0 if tail is None else math.exp(tail.given) for tail in tails]


_SCORERS: dict[str, Scorer] = {
    "calibrated": _calibrated,
    "cosine": _cosine,
    "likelihood": _likelihood,
}


def _check(triples: Sequence[Triple]) -> None:
    for triple in triples:
        for part in ("head", "tail"):
            if not getattr(triple, part).strip():
                raise InputError(
                    f"triple ({triple.head!r}, {triple.relation}, {triple.tail!r}): its {part} is "
                    "empty; give the event in words"
                )


def as_knowledge_base(knowledge: KnowledgeBase | TripleStore, encoder: Encoder) -> KnowledgeBase:
    """Return stored triples as a knowledge base; what is one already stays as it is."""
    if isinstance(knowledge, KnowledgeBase):
        return knowledge
    return StoredKnowledge(knowledge, encoder)


def nearest_known(
    triples: Sequence[Triple], knowledge: KnowledgeBase | TripleStore, encoder: Encoder
) -> list[KnownTail | None]:
    """Return for each triple the known or generated tail most like its own, if there is one."""
    if not triples:
        return []
    schema = load_schema("atomic2020")
    tails = [tail_text(triple.tail, schema[triple.relation]) for triple in triples]
    # A store asks one relation after the other. Asked for all texts at once, an encoder that
    # keeps its answers fills its batches, which is a third faster.
    encoded([*(head_text(triple.head) for triple in triples), *tails], encoder)
    if hasattr(knowledge, "best_known"):
        nearest: list[KnownTail | None] = knowledge.best_known(triples, encoder=encoder, tails=EACH)
        return nearest
    base = as_knowledge_base(knowledge, encoder)
    heads = [triple.head for triple in triples]
    relations = [triple.relation for triple in triples]
    given = base.tails(heads, relations, TAILS)
    texts = [
        [tail_text(known.tail, schema[r]) for known in each]
        for r, each in zip(relations, given, strict=True)
    ]
    vectors = encoded([*tails, *(text for each in texts for text in each)], encoder)
    return [
        max(
            (
                msgspec.structs.replace(
                    known, tail_similarity=unit_cosine(vectors[own], vectors[text])
                )
                for known, text in zip(each, worded, strict=True)
            ),
            key=lambda known: known.tail_similarity,
            default=None,
        )
        for own, each, worded in zip(tails, given, texts, strict=True)
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
