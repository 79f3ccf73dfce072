"""Files of explanation graphs: joined with their samples, scored, described, drawn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError, did_you_mean
from grice_tasks.explagraphs.samples import Sample, read_predictions, read_samples
from grice_tasks.explagraphs.scores import OVERLAPS, paired, score_samples, score_table

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from grice.stats.estimate import Estimate
    from grice_tasks.explagraphs.analysis import Leak, Shapes
    from grice_tasks.explagraphs.check import RuleSet
    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.samples import Prediction
    from grice_tasks.explagraphs.scores import FurtherMeasures, Gate, Row


class SampleGraph(NamedTuple):
    """A sample with one written graph: its own, or a system's."""

    sample: Sample
    graph: str


class BertModel(NamedTuple):
    """Model of BERTScore for facts; see :mod:`grice_tasks.explagraphs.embedding`."""

    name: str | None = None
    layer: int | None = None


class ScoreOptions(NamedTuple):
    """How graphs are scored."""

    rules: RuleSet = "released"
    gate: Gate = "paper"
    embedding: bool = False  # add ``g_embedding``, by the shipped encoder
    bertscore: BertModel | None = None  # add ``g_bertscore``, by this model
    classifiers: GraphClassifiers | None = None  # add ``seca``


class ShapeScores(NamedTuple):
    """A system's scores by the shape of the gold graphs."""

    parts: dict[str, dict[str, Estimate]]  # mean of each measure by depth and linearity
    missing: int  # how many samples have no prediction; they are left out
    total: int


class Description(NamedTuple):
    """Statistics of a set of graphs."""

    shapes: Shapes
    negated: dict[str, float]
    relations: dict[str, Counter[str]]
    leaks: list[Leak]  # how far the stance follows from the form alone; empty without stances


def read_graphs(samples: Path, predictions: Path | None = None) -> list[SampleGraph]:
    """Return each sample of a file with each graph of it: a system's, or its own."""
    known = {sample.id: sample for sample in read_samples(samples)}
    if predictions is None:
        graphs = [
            SampleGraph(sample, graph) for sample in known.values() for graph in sample.graphs
        ]
        if not graphs:
            raise InputError(f"{samples}: no sample has a graph")
        return graphs
    graphs = []
    for prediction in read_predictions(predictions):
        if prediction.id not in known:
            raise InputError(f"{predictions}: no sample {prediction.id!r} in {samples}")
        graphs.append(SampleGraph(known[prediction.id], prediction.graph))
    return graphs


def score_files(
    samples: Path, predictions: Path, options: ScoreOptions | None = None
) -> tuple[list[Row], int]:
    """Score a system's file against gold graphs, with the baselines below."""
    how = options or ScoreOptions()
    gold, answers = read_samples(samples), read_predictions(predictions)
    rows = score_table(
        gold,
        answers,
        name=predictions.name,
        rules=how.rules,
        gate=how.gate,
        likeness=_likeness(how, gold, answers),
        further=_classifiers(how),
    )
    return rows, len(gold)


def score_files_by_shape(
    samples: Path, predictions: Path, options: ScoreOptions | None = None
) -> ShapeScores:
    """Score a system's file by the depth and linearity of the gold graphs."""
    from grice_tasks.explagraphs.analysis import by_shape

    how = options or ScoreOptions()
    gold, answers = read_samples(samples), read_predictions(predictions)
    likeness = _likeness(how, gold, answers)
    pairs = paired(gold, answers)
    answered = [sample for sample, _ in pairs]
    scores = score_samples(
        answered,
        {answer.id: answer for _, answer in pairs},
        rules=how.rules,
        gate=how.gate,
        likeness=likeness,
        further=_classifiers(how),
    )
    return ShapeScores(by_shape(answered, scores), len(gold) - len(answered), len(gold))


def _likeness(
    how: ScoreOptions, samples: Sequence[Sample], predictions: Sequence[Prediction]
) -> Mapping[str, Callable[[str, str], float]]:
    likeness: dict[str, Callable[[str, str], float]] = dict(OVERLAPS)
    if how.embedding:
        from grice_tasks.explagraphs.embedding import facts_to_encode, shipped_likeness

        likeness["g_embedding"] = shipped_likeness(facts_to_encode(samples, predictions))
    if how.bertscore is not None:
        from grice_tasks.explagraphs.embedding import bert_likeness

        likeness["g_bertscore"] = bert_likeness(how.bertscore.name, how.bertscore.layer)
    return likeness


def _classifiers(how: ScoreOptions) -> FurtherMeasures | None:
    if how.classifiers is None:
        return None
    from grice_tasks.explagraphs.scores import classifier_measures

    return partial(classifier_measures, classifiers=how.classifiers, rules=how.rules, gate=how.gate)


def describe_graphs(graphs: Sequence[SampleGraph]) -> Description:
    """Return sizes, relations and order of graphs, and how far form gives the stance away."""
    from grice_tasks.explagraphs.analysis import (
        leaks,
        negation_by_stance,
        relations_by_stance,
        shapes,
    )

    samples = [msgspec.structs.replace(entry.sample, graphs=(entry.graph,)) for entry in graphs]
    return Description(
        shapes(samples),
        negation_by_stance(samples),
        relations_by_stance(samples),
        leaks(samples) if any(sample.stance for sample in samples) else [],
    )


def draw_page(graphs: Sequence[SampleGraph], sample_id: str | None = None) -> str:
    """Return a self-contained page of all graphs, or of those of one sample."""
    from grice_tasks.explagraphs.drawing import Shown, graph_page

    shown = [
        Shown(sample.id, sample.belief, sample.argument, sample.stance or "", graph)
        for sample, graph in graphs
        if sample_id in (None, sample.id)
    ]
    if not shown:
        raise _no_graph(str(sample_id), graphs)
    return graph_page(shown)


def draw_sample(graphs: Sequence[SampleGraph], sample_id: str | None = None) -> str:
    """Return the first graph of a sample, by default of the first one, as SVG."""
    from grice_tasks.explagraphs.drawing import draw_graph
    from grice_tasks.explagraphs.graph import read_graph

    for sample, graph in graphs:
        if sample_id in (None, sample.id):
            read = read_graph(graph).graph
            return draw_graph(read, sample.belief, sample.argument, sample.stance or "")
    raise _no_graph(str(sample_id), graphs)


def _no_graph(sample_id: str, graphs: Sequence[SampleGraph]) -> InputError:
    names = {sample.id for sample, _ in graphs}
    return InputError(f"no graph of a sample {sample_id!r}{did_you_mean(sample_id, names)}")


def samples_to_explain(
    path: Path | None, belief: str | None = None, argument: str | None = None
) -> list[Sample]:
    """Return the samples of a file, or the one of a belief and an argument."""
    stated = belief is not None or argument is not None
    if stated == (path is not None):
        raise InputError("give either SAMPLES or both --belief and --argument")
    if path is not None:
        return read_samples(path)
    if belief is None or argument is None:
        raise InputError("--belief and --argument belong together")
    return [Sample("0", belief, argument)]
