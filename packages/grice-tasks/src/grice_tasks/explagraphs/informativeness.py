"""``informativeness``: does a graph say something, or does it only have the right form?

The lower answer of two classifiers. One was trained on graphs that people wrote against graphs that
look like those but say nothing: chains of phrases, graphs with their concepts moved about, graphs
of another belief, perturbed ones, and what the generator makes. The other was trained on graphs
that people accepted as explanations against those that they refused. Both read the plausibility of
each fact, how well plausible facts connect the argument to the belief, and the features that all
classifiers read. A chain of long words under fixed relations passes every rule of structure and
scores low here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice_tasks.explagraphs.wording import relation_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from grice.knowledge.plausibility import Bilinear
    from grice.models.protocols import Vector
    from grice.records import Triple
    from grice_tasks.explagraphs.graph import Graph

    Array: TypeAlias = NDArray[np.float32]


class Informativeness(NamedTuple):
    """How informative a graph is.

    Attributes:
        value: The lower of ``written`` and ``accepted``, 0 to 1; 0 for a graph without facts.
        written: Beside as many graphs that were made to say nothing as people wrote, the share
            of the latter among graphs of this score.
        accepted: Beside as many graphs that people refused as they accepted, the share of the
            latter among graphs of this score.
        facts: Plausibility of each fact, 0 to 1.
        connection: Plausibility of the weakest fact on the best path, in either direction, from
            a concept of the belief to another one of the argument; 0 if there is none.
    """

    value: float
    written: float
    accepted: float
    facts: tuple[float, ...]
    connection: float


def with_one(vectors: Array) -> Array:
    """Return vectors with a constant one behind, by which a form scores one side alone."""
    return np.concatenate([vectors, np.ones((len(vectors), 1), np.float32)], axis=1)


def fact_logits(form: Bilinear, vectors: Mapping[str, Vector], facts: Sequence[Triple]) -> Array:
    """Return the score of each fact, shape ``(n,)``; 0 is as likely right as wrong.

    A fact under an unknown relation gets the lowest score that it has under a known one.
    """
    if not facts:
        return np.zeros(0, np.float32)
    column = {name: place for place, name in enumerate(relation_names())}
    scores = form(
        with_one(np.stack([vectors[fact.head] for fact in facts])),
        with_one(np.stack([vectors[fact.tail] for fact in facts])),
    )
    return np.array(
        [
            row[column[fact.relation]] if fact.relation in column else row.min()
            for row, fact in zip(scores, facts, strict=True)
        ],
        np.float32,
    )


def informativeness_features(
    belief: str, argument: str | None, graph: Graph, plausible: Array
) -> Array:
    """Return what is known of the facts of a graph in lower case, shape ``(4,)``.

    Mean and least plausibility of the facts, the connection, and the share of facts below one
    half.
    """
    connection = _connection(graph, belief.lower(), (argument or "").lower(), plausible.tolist())
    parts = (plausible.mean(), plausible.min(), connection, (plausible < 0.5).mean())
    return np.array(parts, np.float32)


def _connection(graph: Graph, belief: str, argument: str, plausible: Sequence[float]) -> float:
    """Return the widest path: join concepts by falling plausibility until both sides meet."""
    part = {concept: {concept} for concept in graph.concepts}
    for place in sorted(range(len(plausible)), key=lambda number: -plausible[number]):
        edge = graph.edges[place]
        joined = part[edge.head] | part[edge.tail]
        for concept in joined:
            part[concept] = joined
        ours = {name for name in joined if name in belief}
        theirs = {name for name in joined if name in argument}
        if ours and theirs and len(ours | theirs) > 1:
            return plausible[place]
    return 0.0
