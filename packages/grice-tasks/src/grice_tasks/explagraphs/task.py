"""ExplaGraphs as a task: a stance and a graph for a belief and an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_tasks.explagraphs.classifiers import GraphClassifiers
from grice_tasks.explagraphs.samples import Prediction, Sample, read_samples
from grice_tasks.explagraphs.scores import score_system
from grice_tasks.explagraphs.wording import nonsense_graph, word_polarity
from grice_tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence


def _baselines(samples: Sequence[Sample]) -> dict[str, list[Prediction]]:
    """Return a chain of the longest words, with the stance by negating words, and always one."""
    chains = [nonsense_graph(sample.belief, sample.argument) for sample in samples]
    polarities = [word_polarity(sample.belief, sample.argument) for sample in samples]
    return {
        "nonsense, polarity": [
            Prediction(sample.id, stance, chain)
            for sample, stance, chain in zip(samples, polarities, chains, strict=True)
        ],
        "nonsense, support": [
            Prediction(sample.id, "support", chain)
            for sample, chain in zip(samples, chains, strict=True)
        ],
    }


TASK = Task(
    "explagraphs",
    read_samples,
    lambda models: models.load("builtin:graphs", GraphClassifiers),
    lambda models, samples: models.predict(samples),
    lambda samples, answers: score_system(samples, answers).measures,
    _baselines,
)
