"""A generator of explanation graphs that fills templates instead of writing.

:class:`~grice.graphs.generator.GraphGenerator` proposes graphs, and a classifier picks one of the
best. Nothing here was taught on the topics that ``informativeness`` was taught on, and neither asks
the other: see the recipe ``graphs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.graphs.features import Reading
from grice.graphs.reader import write_graph
from grice.graphs.repair import repair_graph
from grice.graphs.samples import Prediction
from grice.graphs.wording import phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.graphs.classifiers import GraphClassifiers
    from grice.graphs.samples import Sample, Stance

__all__ = ["generate_graphs"]


def generate_graphs(
    samples: Sequence[Sample],
    classifiers: GraphClassifiers,
    *,
    stances: Sequence[Stance] | None = None,
) -> list[Prediction]:
    """Return a stance and a graph for each sample; neither gold is looked at.

    Args:
        samples: Beliefs and arguments.
        classifiers: The shipped models.
        stances: The stances to explain; by default the classifiers predict them.
    """
    texts = [(sample.belief, sample.argument) for sample in samples]
    if stances is None:
        stances = [stance for stance, _ in classifiers.stances(texts)]
    classifiers.encode(word for word, _ in classifiers.generator.outside)
    classifiers.encode(
        text for pair in texts for text in (*pair, *phrases(pair[0]), *phrases(pair[1]))
    )
    proposed = [
        classifiers.generator.proposals(*pair, stance)
        for pair, stance in zip(texts, stances, strict=True)
    ]
    # All at once: encoding a few facts for each sample is several times slower.
    readings = [
        Reading(*pair, graph)
        for pair, graphs in zip(texts, proposed, strict=True)
        for graph in graphs
    ]
    meanings = iter(classifiers.choices(readings))
    predictions = []
    for sample, stance, graphs in zip(samples, stances, proposed, strict=True):
        scores = [getattr(next(meanings), stance) for _ in graphs]
        best = write_graph(graphs[int(np.argmax(scores))]) if graphs else _anything(sample)
        predictions.append(Prediction(sample.id, stance, best))
    return predictions


def _anything(sample: Sample) -> str:
    """Return a valid graph for texts that fill no template, by way of a repair."""
    return repair_graph("", sample.belief, sample.argument).graph or ""
