"""SeCA, EA and informativeness of predictions, by the shipped classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.progress import track
from grice_tasks.explagraphs.features import Reading, texts_of
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.reader import read_graph
from grice_tasks.explagraphs.scores import score_sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice_tasks.explagraphs.check import RuleSet
    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.samples import Prediction, Sample
    from grice_tasks.explagraphs.scores import Gate

CLASSIFIER_MEASURES = ("seca", "ea", "informativeness")
"""``seca``: a classifier that does not see the argument finds the gold stance in the graph. ``ea``:
proportion of facts without which the gold stance is less likely. Both are 0 behind the gate.
``informativeness``: see :mod:`grice_tasks.explagraphs.informativeness`; never gated, for an empty
graph is empty whatever its stance."""

MOST_FACTS = 100
"""Most facts of a graph that is classified; a larger one gets 0."""


def classifier_measures(
    samples: Sequence[Sample],
    predictions: Mapping[str, Prediction],
    classifiers: GraphClassifiers,
    *,
    rules: RuleSet = "released",
    gate: Gate = "paper",
) -> dict[str, dict[str, float]]:
    """Return the :data:`CLASSIFIER_MEASURES` of each sample that has a prediction, by its id."""
    measures = {}
    readings = {}
    for sample in samples:
        if sample.id in predictions:
            graph = read_graph(predictions[sample.id].graph.lower()).graph
            known = graph if len(graph.edges) <= MOST_FACTS else Graph(())
            readings[sample.id] = Reading(sample.belief, sample.argument, known)
    classifiers.encode(texts_of(readings.values()))
    for sample in track(samples, "graphs", len(samples)):
        if sample.id not in predictions:
            continue
        if sample.stance is None:
            raise InputError(f"sample {sample.id!r} has no gold stance to judge by")
        reading = readings[sample.id]
        score = score_sample(sample, predictions[sample.id], rules=rules, gate=gate, likeness={})
        values = dict.fromkeys(CLASSIFIER_MEASURES, 0.0)
        values["informativeness"] = classifiers.informativeness([reading])[0].value
        if score.compared and reading.graph.edges:
            stance = classifiers.meanings([(reading.belief, reading.graph)])[0].label
            important = classifiers.importance(reading, sample.stance)
            values["seca"] = float(stance == sample.stance)
            values["ea"] = sum(important) / len(important) if important else 0.0
        measures[sample.id] = values
    return measures
