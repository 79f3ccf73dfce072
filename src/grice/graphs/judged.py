"""SeCA, EA and substance of predictions, by the shipped judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.graphs.features import Reading, texts_of
from grice.graphs.graph import Graph
from grice.graphs.reader import read_graph
from grice.graphs.scores import score_sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.graphs.check import RuleSet
    from grice.graphs.judges import GraphJudges
    from grice.graphs.samples import Prediction, Sample
    from grice.graphs.scores import Gate

__all__ = ["JUDGED", "judge"]

JUDGED = ("seca", "ea", "substance")
"""``seca``: the graph says the gold stance to a judge that does not see the argument. ``ea``: share
of facts without which the gold stance is less likely. Both are 0 behind the gate. ``substance``:
see :mod:`grice.graphs.substance`; never gated, for an empty graph is empty whatever its stance."""

LARGEST_JUDGED = 100
"""Most facts of a graph that is judged; a larger one gets 0."""


def judge(
    samples: Sequence[Sample],
    predictions: Mapping[str, Prediction],
    judges: GraphJudges,
    *,
    rules: RuleSet = "released",
    gate: Gate = "paper",
) -> dict[str, dict[str, float]]:
    """Return the measures of :data:`JUDGED` of each sample that has a prediction, by its id.

    Raises:
        InputError: If a sample has no gold stance or graph.
    """
    found = {}
    readings = {}
    for sample in samples:
        if sample.id in predictions:
            graph = read_graph(predictions[sample.id].graph.lower()).graph
            known = graph if len(graph.edges) <= LARGEST_JUDGED else Graph(())
            readings[sample.id] = Reading(sample.belief, sample.argument, known)
    judges.know(texts_of(readings.values()))
    for sample in samples:
        if sample.id not in predictions:
            continue
        if sample.stance is None:
            raise InputError(f"sample {sample.id!r} has no gold stance to judge by")
        reading = readings[sample.id]
        score = score_sample(sample, predictions[sample.id], rules=rules, gate=gate, likeness={})
        values = dict.fromkeys(JUDGED, 0.0)
        values["substance"] = judges.substances([reading])[0].value
        if score.compared and reading.graph.edges:
            said = judges.meanings([(reading.belief, reading.graph)])[0].label
            important = judges.importance(reading, sample.stance)
            values["seca"] = float(said == sample.stance)
            values["ea"] = sum(important) / len(important) if important else 0.0
        found[sample.id] = values
    return found
