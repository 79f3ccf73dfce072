"""SituatedGen as a task: two contrasting sentences from keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_tasks.situatedgen.examples import halved
from grice_tasks.situatedgen.models import SituatedModels, open_models
from grice_tasks.situatedgen.records import Output, Sample, read_samples
from grice_tasks.situatedgen.scores import score_outputs
from grice_tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.estimate import Estimate


def _predict(models: SituatedModels, samples: Sequence[Sample]) -> list[Output]:
    texts = models.generate([sample.keywords for sample in samples])
    return [Output(sample.id, text) for sample, text in zip(samples, texts, strict=True)]


def _score(samples: Sequence[Sample], answers: Sequence[Output]) -> dict[str, Estimate]:
    """Return the measures of ``grice situatedgen score`` that need no model, over all samples."""
    outputs = {answer.id: answer.output for answer in answers}
    return score_outputs(samples, outputs, name="")[0].measures


def _baselines(samples: Sequence[Sample]) -> dict[str, list[Output]]:
    """Return the keywords cut in two, and all of them twice."""
    pairs = [(sample, " ".join(sample.keywords)) for sample in samples]
    return {
        "halved": [Output(sample.id, halved(sample.keywords)) for sample in samples],
        "twice": [Output(sample.id, f"{words}. {words}.") for sample, words in pairs],
    }


TASK = Task("situatedgen", read_samples, open_models, _predict, _score, _baselines)
