"""What the classifiers of triples read: the frozen encoder's vectors of their texts.

The shapes are those of the baselines of CSKB Population (Fang et al., EMNLP 2021): BERT reads head,
relation and tail each by itself, KG-BERT (Yao et al. 2019) reads them as one text, and SAGE joins
the mean of the neighbours in the graph of knowledge to each. There the encoder is fine-tuned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.knowledge.lookup import encoded
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import gloss_text, head_text, tail_text
from grice.numeric import sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.metrics.commonsense.scorers import Sources
    from grice.models.mlp import Mlp
    from grice.models.protocols import Encoder, Vector
    from grice.records import Triple

    Array: TypeAlias = NDArray[np.float32]

ROWS = 256
"""Triples whose features are held at once."""


def worded_parts(triple: Triple) -> tuple[str, str, str]:
    """Return head, relation and tail as the encoder reads them.

    >>> from grice.records import Triple
    >>> worded_parts(Triple("PersonX is tired", "xWant", "to sleep"))
    ('he is tired', 'as a result, he wants', 'he sleep')
    """
    relation = load_schema("atomic2020")[triple.relation]
    return head_text(triple.head), gloss_text(relation), tail_text(triple.tail, relation)


def one_text(triple: Triple) -> str:
    """Return a triple as one text."""
    head, relation, tail = worded_parts(triple)
    return f"{head}, {relation} {tail}"


def separate(triples: Sequence[Triple], encoder: Encoder) -> Array:
    """Return the vectors of head, relation and tail side by side, shape ``(n, 3 * d)``."""
    parts = [worded_parts(triple) for triple in triples]
    vectors = encoded([text for each in parts for text in each], encoder)
    return _scaled(np.stack([np.concatenate([vectors[text] for text in each]) for each in parts]))


def together(triples: Sequence[Triple], encoder: Encoder) -> Array:
    """Return the vector of each triple as one text, shape ``(n, d)``."""
    texts = [one_text(triple) for triple in triples]
    vectors = encoded(texts, encoder)
    return _scaled(np.stack([vectors[text] for text in texts]))


def neighbours(triples: Sequence[Triple], sources: Sources, encoder: Encoder) -> Array:
    """Return the mean vector of the tails known for the head, and that of the tail, ``(n, 2 * d)``.

    Of the tail, those that are known when it is itself the head. Nothing known gives zeros.
    """
    schema = load_schema("atomic2020")
    means = []
    for events in ([triple.head for triple in triples], [triple.tail for triple in triples]):
        relations = [triple.relation for triple in triples]
        given = sources.knowledge.tails(events, relations, sources.tails)
        texts = [
            [tail_text(known.tail, schema[relation]) for known in each]
            for relation, each in zip(relations, given, strict=True)
        ]
        vectors = encoded([text for each in texts for text in each], encoder)
        nothing = np.zeros(_dimensions(encoder), np.float32)
        means.append(np.stack([_mean([vectors[t] for t in each], nothing) for each in texts]))
    return _scaled(np.concatenate(means, axis=1))


def judged(features: Array, network: Mlp) -> list[float]:
    """Return what a network makes of features, 0 to 1 for each row."""
    parts = [
        network(features[start : start + ROWS])[:, 0] for start in range(0, len(features), ROWS)
    ]
    return [float(value) for part in parts for value in sigmoid(part)]


def _scaled(vectors: Array) -> Array:
    # A unit vector has elements of about 1 / sqrt(d): scaled, they are of order one.
    return np.asarray(vectors * np.float32(20), np.float32)


def _mean(vectors: Sequence[Vector], nothing: Array) -> Array:
    return np.mean(vectors, axis=0, dtype=np.float32) if vectors else nothing


def _dimensions(encoder: Encoder) -> int:
    return len(encoder.encode(["it"])[0])
