"""ACCENT's test: the largest cosine of the tail with tails that a knowledge base gives.

``max(0, max_i cos(embed(t), embed(t_i)))`` over k tails (Ghazarian et al., Findings of ACL 2023).
There a generator gives ten; here whatever the sources hold does. Said tails are clauses, known
ones fragments: both are worded alike before they are compared
(:func:`grice.knowledge.wording.tail_text`), which the paper leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.knowledge.compatibility import checked
from grice.knowledge.lookup import encoded
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import tail_text
from grice.numeric import unit_cosine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.compatibility import Sources
    from grice.records import Triple
    from grice.runtime.protocols import Vector

__all__ = ["best_cosine", "compatibility"]


def compatibility(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return the largest cosine of each triple's tail with the tails asked for, 0 to 1."""
    checked(triples)
    schema = load_schema("atomic2020")
    heads = [triple.head for triple in triples]
    relations = [triple.relation for triple in triples]
    given = sources.knowledge.tails(heads, relations, sources.tails) if triples else []
    said = [tail_text(triple.tail, schema[triple.relation]) for triple in triples]
    known = [
        [tail_text(one.tail, schema[triple.relation]) for one in tails]
        for triple, tails in zip(triples, given, strict=True)
    ]
    vectors = encoded([*said, *(text for each in known for text in each)], sources.embedder)
    return [
        best_cosine(vectors[text], [vectors[one] for one in each])
        for text, each in zip(said, known, strict=True)
    ]


def best_cosine(said: Vector, known: Sequence[Vector]) -> float:
    """Return the largest cosine of a unit vector with others, from 0 (also if there are none)."""
    return max([0.0, *(unit_cosine(said, one) for one in known)])
