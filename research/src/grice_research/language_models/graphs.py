"""Explanation graphs written after examples and held to the schema: ExplaGraphs dev."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.graphs.baselines import nonsense_graph
from grice.graphs.classified import classifier_measures
from grice.graphs.classifiers import GraphClassifiers
from grice.graphs.language_model import LanguageModelGraphs
from grice.graphs.samples import Prediction, read_samples
from grice.graphs.scores import score_sample
from grice.stats import mean
from grice_research.language_models.read import judged_shares
from grice_research.language_models.samples import LANGUAGE_MODEL, SHIPS, Place, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.graphs.language_model import WrittenGraph
    from grice.graphs.samples import Sample
    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.language_models.read import Task
    from grice_research.rows import Row

__all__ = ["rows", "written_graphs"]

MODEL, SHIPPED = "bundle:graphs-medium", "bundle:graphs"
COUNT = 30
ON = "graphs, ExplaGraphs dev, sample"
MEASURES = {"stca": "stca", "seca": "seca", "g_rouge2": "g_rouge_2", "ged": "ged"}
READ: dict[str, Task] = {"facts that make sense": "facts", "explains the gold stance": "explains"}
SECA = "seca is by the shipped judge; what ships picks by one of its kind"


def rows(context: BenchContext) -> Iterator[Row]:
    """Yield the measures of both systems and of a nonsense chain, and how graphs came about."""
    samples, written = written_graphs(context)
    models = context.models()
    judges = models.open(SHIPPED, GraphClassifiers)
    stances = [stance for stance, _ in models.open(MODEL, LanguageModelGraphs).stances(
        [(sample.belief, sample.argument) for sample in samples])]  # fmt: skip
    systems = {
        LANGUAGE_MODEL: [
            Prediction(sample.id, stance, graph.text)
            for sample, stance, graph in zip(samples, stances, written, strict=True)
        ],
        SHIPS: judges.predict(samples),
    }
    systems["nonsense chain"] = [
        Prediction(sample.id, given.stance, nonsense_graph(sample.belief, sample.argument))
        for sample, given in zip(samples, systems[SHIPS], strict=True)
    ]
    place = Place(ON, models, MODEL, SECA)
    values = {name: _values(samples, each, judges) for name, each in systems.items()}
    for measure, column in MEASURES.items():
        columns = {name: [row[column] for row in rows] for name, rows in values.items()}
        estimates = {name: mean(each, interval="percentile") for name, each in columns.items()}
        gaps = [a - b for a, b in zip(columns[LANGUAGE_MODEL], columns[SHIPS], strict=True)]
        gap = mean(gaps, interval="percentile")
        yield from place.rows(measure, estimates, gap, lower=measure == "ged")
    yield from place.rows("share of graphs", _origins(written))
    texts = [(sample.id, graph.text) for sample, graph in zip(samples, written, strict=True)]
    for measure, task in READ.items():
        if len(read := judged_shares(task, texts)) > 1:
            estimates = {LANGUAGE_MODEL: mean(read, interval="percentile", bounds=(0, 1))}
            yield from place.rows(f"{measure}, read by one person", estimates)


def _values(
    samples: Sequence[Sample], predictions: Sequence[Prediction], judges: GraphClassifiers
) -> list[dict[str, float]]:
    """Return every measure of each sample."""
    by_id = {prediction.id: prediction for prediction in predictions}
    judged = classifier_measures(samples, by_id, judges)
    return [score_sample(sample, by_id[sample.id]).values | judged[sample.id] for sample in samples]


def written_graphs(context: BenchContext) -> tuple[list[Sample], list[WrittenGraph]]:
    """Return the samples and what the language model writes for its own stances."""
    everything = read_samples(context.folder / "explagraphs" / "dev.jsonl.gz")
    samples = sampled(everything, COUNT, lambda sample: sample.id)
    model = context.models().open(MODEL, LanguageModelGraphs)
    pairs = [(sample.belief, sample.argument) for sample in samples]
    stances = [stance for stance, _ in model.stances(pairs)]
    return samples, model.write(samples, stances)


def _origins(written: Sequence[WrittenGraph]) -> dict[str, Estimate]:
    """Return how many graphs were valid at once, after a retry, and after a repair."""
    return {
        f"{LANGUAGE_MODEL}, {name}": mean(
            list(map(float, values)), interval="percentile", bounds=(0, 1)
        )
        for name, values in {
            "valid at once": [graph.attempts == 1 and not graph.edits for graph in written],
            "valid after a retry": [graph.attempts > 1 and not graph.edits for graph in written],
            "repaired": [graph.edits > 0 for graph in written],
        }.items()
    }
