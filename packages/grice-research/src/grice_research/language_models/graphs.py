"""Explanation graphs written after examples and held to the schema: ExplaGraphs dev."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.stats import mean
from grice_research.language_models.read import judged_shares
from grice_research.language_models.samples import SHIPS, Place, sampled
from grice_tasks.explagraphs.baselines import nonsense_graph
from grice_tasks.explagraphs.classified import classifier_measures
from grice_tasks.explagraphs.classifiers import GraphClassifiers
from grice_tasks.explagraphs.language_model import LanguageModelGraphs
from grice_tasks.explagraphs.samples import Prediction, read_samples
from grice_tasks.explagraphs.scores import score_sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.language_models.read import Task
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row
    from grice_tasks.explagraphs.language_model import WrittenGraph
    from grice_tasks.explagraphs.samples import Sample, Stance

__all__ = ["rows", "written_graphs"]

SHIPPED = "bundle:graphs"
COUNTS: dict[Size, int] = {"medium": 30, "large": 20}
ON = "graphs, ExplaGraphs dev, sample"
MEASURES = {"stca": "stca", "seca": "seca", "g_rouge2": "g_rouge_2", "ged": "ged"}
READ: dict[str, Task] = {"facts that make sense": "facts", "explains the gold stance": "explains"}
SECA = "seca is by the shipped judge; what ships picks by one of its kind"


def rows(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield the measures of both systems and of a nonsense chain, and how graphs came about."""
    samples, stances, written = written_graphs(context, candidate)
    models = context.models()
    judges = models.open(SHIPPED, GraphClassifiers)
    systems = {
        candidate.row: [
            Prediction(sample.id, stance, graph.text)
            for sample, stance, graph in zip(samples, stances, written, strict=True)
        ],
        SHIPS: judges.predict(samples),
    }
    systems["nonsense chain"] = [
        Prediction(sample.id, given.stance, nonsense_graph(sample.belief, sample.argument))
        for sample, given in zip(samples, systems[SHIPS], strict=True)
    ]
    on = candidate.on(ON)
    place = Place(on, models, candidate, candidate.bundle("graphs"), SECA)
    values = {name: _values(samples, each, judges) for name, each in systems.items()}
    for measure, column in MEASURES.items():
        columns = {name: [row[column] for row in rows] for name, rows in values.items()}
        estimates = {name: mean(each, interval="percentile") for name, each in columns.items()}
        gaps = [a - b for a, b in zip(columns[candidate.row], columns[SHIPS], strict=True)]
        gap = mean(gaps, interval="percentile")
        yield from place.rows(measure, estimates, gap, lower=measure == "ged")
    yield from place.rows("share of graphs", _origins(candidate.row, written))
    texts = [(sample.id, graph.text) for sample, graph in zip(samples, written, strict=True)]
    for measure, task in READ.items():
        if len(read := judged_shares(task, candidate.size, texts)) > 1:
            estimates = {candidate.row: mean(read, interval="percentile", bounds=(0, 1))}
            yield from place.rows(f"{measure}, read by one reader", estimates)


def _values(
    samples: Sequence[Sample], predictions: Sequence[Prediction], judges: GraphClassifiers
) -> list[dict[str, float]]:
    """Return every measure of each sample."""
    by_id = {prediction.id: prediction for prediction in predictions}
    judged = classifier_measures(samples, by_id, judges)
    return [score_sample(sample, by_id[sample.id]).values | judged[sample.id] for sample in samples]


def written_graphs(
    context: BenchContext, candidate: Candidate
) -> tuple[list[Sample], list[Stance], list[WrittenGraph]]:
    """Return the samples, the language model's own stances, and what it writes for them."""
    everything = read_samples(context.folder / "explagraphs" / "dev.jsonl.gz")
    samples = sampled(everything, COUNTS[candidate.size], lambda sample: sample.id)
    model = context.models().open(candidate.bundle("graphs"), LanguageModelGraphs)
    pairs = [(sample.belief, sample.argument) for sample in samples]
    stances = [stance for stance, _ in model.stances(pairs)]
    return samples, stances, model.write(samples, stances)


def _origins(row: str, written: Sequence[WrittenGraph]) -> dict[str, Estimate]:
    """Return how many graphs were valid at once, after a retry, and after a repair."""
    return {
        f"{row}, {name}": mean(list(map(float, values)), interval="percentile", bounds=(0, 1))
        for name, values in {
            "valid at once": [graph.attempts == 1 and not graph.edits for graph in written],
            "valid after a retry": [graph.attempts > 1 and not graph.edits for graph in written],
            "repaired": [graph.edits > 0 for graph in written],
        }.items()
    }
