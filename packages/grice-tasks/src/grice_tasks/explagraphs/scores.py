"""Scores of predicted graphs that need no trained classifier, alone and in a table with baselines.

Source: Saha et al. 2021, ExplaGraphs, and its released evaluation script. SeCA and EA rest on
classifiers that were not released: :mod:`.classified` has others in their place;
``g_embedding`` is computed as BERTScore is, with the encoder of grice, and compares with no
published figure.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.data import Triple
from grice.errors import InputError, did_you_mean
from grice.progress import track
from grice.stats.estimate import scipy_module
from grice_tasks.explagraphs.check import RuleSet, Verdict, check_graph, released_edges
from grice_tasks.explagraphs.distance import edit_distance
from grice_tasks.explagraphs.features import Reading, texts_of
from grice_tasks.explagraphs.graph import Graph, read_graph
from grice_tasks.explagraphs.samples import Prediction, Sample
from grice_tasks.explagraphs.wording import graph_polarity, nonsense_graph, word_polarity
from grice_tasks.overlap import (
    Counts,
    common_length,
    count_ngrams,
    rouge_2,
    shared,
    stem_bigrams,
    stems,
)
from grice_tasks.tokens import BLEU_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grice.stats.estimate import Estimate
    from grice_tasks.explagraphs.check import RuleSet
    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.samples import Prediction, Sample


class Match(msgspec.Struct, frozen=True):
    """How well predicted facts match gold facts, each number 0 to 1."""

    precision: float  # likeness of the pairs over the number of predicted facts
    recall: float  # the same over the number of gold facts
    f1: float  # harmonic mean of both; 0 if both are 0


def match_facts(likeness: Sequence[Sequence[float]]) -> Match:
    """Return the match of the best one-to-one pairing.

    >>> round(match_facts([[0.9, 0.8, 0.1], [0.85, 0.2, 0.1]]).f1, 3)
    0.66
    """
    if not likeness or not likeness[0]:
        return Match(0.0, 0.0, 0.0)
    rows, columns = len(likeness), len(likeness[0])
    total = _best_total(likeness)
    precision, recall = total / rows, total / columns
    both = precision + recall
    return Match(precision, recall, 2 * precision * recall / both if both > 0 else 0.0)


def _best_total(likeness: Sequence[Sequence[float]]) -> float:
    """Return the sum of the best pairing; the rows' own best if they are no rivals."""
    best = [max(range(len(row)), key=row.__getitem__) for row in likeness]
    if len(set(best)) == len(best):
        return sum(row[column] for row, column in zip(likeness, best, strict=True))
    chosen = scipy_module("optimize").linear_sum_assignment(likeness, maximize=True)
    return float(sum(likeness[row][column] for row, column in zip(*chosen, strict=True)))


def best_gold(matches: Sequence[Match]) -> Match:
    """Return the match with the gold graph of the largest F1, the first of equal ones."""
    return max(matches, key=lambda match: match.f1)


ORDERS = 4


def bleu(predicted: str, gold: str) -> float:
    """Return BLEU-4 of a predicted fact, its semicolons being words; 0 without shared 4-gram."""
    total = 0.0
    # Most pairs share no 4-gram, so that the look at the longest settles it.
    for order in range(ORDERS, 0, -1):
        mine = _bleu_ngrams(predicted, order)
        both = shared(mine, _bleu_ngrams(gold, order))
        if not both:
            return 0.0
        total += math.log(both / sum(mine.values()))
    short = min(0.0, 1 - len(_bleu_tokens(gold)) / len(_bleu_tokens(predicted)))
    return math.exp(short + total / ORDERS)


def rouge_2_precision(predicted: str, gold: str) -> float:
    """Return the share of the predicted fact's pairs of stems that the gold fact has.

    The released script takes this for ROUGE-2.
    """
    mine = stem_bigrams(predicted)
    both = shared(mine, stem_bigrams(gold))
    return both / sum(mine.values()) if both else 0.0


def rouge_l(predicted: str, gold: str) -> float:
    """Return the F-measure of the longest common subsequence of stems, 0 to 1."""
    mine, other = stems(predicted), stems(gold)
    both = common_length(mine, other)
    return 2 * both / (len(mine) + len(other)) if both else 0.0


@lru_cache(maxsize=50_000)
def _bleu_tokens(fact: str) -> tuple[str, ...]:
    return tuple(BLEU_TOKENS.findall(fact))


@lru_cache(maxsize=50_000)
def _bleu_ngrams(fact: str, order: int) -> Counts:
    return count_ngrams(_bleu_tokens(fact), order)


Gate: TypeAlias = Literal["paper", "structure", "none"]
"""Condition for comparing the graph of a sample: ``paper`` stance and structure,
``structure`` the structure alone, ``none`` nothing. One that does not pass has 0 everywhere
and an edit distance of 1."""

FurtherMeasures: TypeAlias = (
    "Callable[[Sequence[Sample], Mapping[str, Prediction]], Mapping[str, Mapping[str, float]]]"
)
"""Gives measures of samples by their ids, as ``classified.classifier_measures`` does."""

OVERLAPS: dict[str, Callable[[str, str], float]] = {
    "g_bleu": bleu,
    "g_rouge_2": rouge_2,
    "g_rouge_2_released": rouge_2_precision,
    "g_rouge_l": rouge_l,
}
NOTHING = Match(0.0, 0.0, 0.0)
LARGEST_GOLD = 100  # Most facts of a gold graph: every predicted fact is compared with each of them


class SampleScore(msgspec.Struct, frozen=True):
    """The scores of one prediction."""

    id: str
    stance_correct: bool
    verdict: Verdict
    compared: bool  # whether the graph passed the gate
    values: dict[str, float]  # each measure, 0 to 1
    exact: bool = True  # whether the edit distance is exact, as it always is for legal sizes


class Row(msgspec.Struct, frozen=True):
    """One row of a table: a system or a baseline over all samples."""

    name: str  # the system
    measures: dict[str, Estimate]  # mean of each measure with its 95 % interval
    missing: int  # how many samples have no prediction; they are left out
    inexact: int  # in how many samples the edit distance is an upper bound only


def score_sample(
    sample: Sample,
    prediction: Prediction,
    *,
    rules: RuleSet = "released",
    gate: Gate = "paper",
    likeness: Mapping[str, Callable[[str, str], float]] = OVERLAPS,
) -> SampleScore:
    """Return the scores of one prediction.

    With several gold graphs each measure takes the one with the largest F1, and the distance
    the smallest, as the released script does.
    """
    if gate not in ("paper", "structure", "none"):
        raise InputError(f"gate={gate!r}{did_you_mean(gate, ('paper', 'structure', 'none'))}")
    if sample.stance is None or not sample.graphs:
        raise InputError(f"sample {sample.id!r} has no gold stance or no gold graph to score with")
    verdict = check_graph(prediction.graph, sample.belief, sample.argument, rules=rules)
    agrees = prediction.stance == sample.stance
    correct = verdict.ok and (agrees or gate != "paper")
    values = {"sa": float(agrees), "stca": float(correct), "ged": 1.0}
    matches = dict.fromkeys(likeness, NOTHING)
    graph = _graph_of(prediction.graph, verdict) if correct or gate == "none" else Graph(())
    exact = True
    if graph.edges:
        golds = [_gold(sample.id, text) for text in sample.graphs]
        distances = [edit_distance(graph, gold) for gold in golds]
        nearest = min(distances, key=lambda distance: distance.normalised)
        values["ged"], exact = nearest.normalised, all(distance.exact for distance in distances)
        for name, alike in likeness.items():
            matches[name] = best_gold([_match(graph, gold, alike) for gold in golds])
    for name, match in matches.items():
        values |= {
            f"{name}_precision": match.precision,
            f"{name}_recall": match.recall,
            name: match.f1,
        }
    return SampleScore(sample.id, agrees, verdict, bool(graph.edges), values, exact)


def _gold(name: str, text: str) -> Graph:
    graph = read_graph(text.lower()).graph
    if len(graph.edges) > LARGEST_GOLD:
        raise InputError(
            f"the gold graph of sample {name!r} has {len(graph.edges):,} facts, at most "
            f"{LARGEST_GOLD} can be compared; the task allows 8"
        )
    return graph


def _graph_of(text: str, verdict: Verdict) -> Graph:
    """Return the facts that are compared: those the rules looked at."""
    if verdict.ok and verdict.rules == "released":
        facts = released_edges(text.lower())
        return Graph(tuple(Triple(head, relation, tail) for head, relation, tail in facts))
    return read_graph(text.lower()).graph


def _match(graph: Graph, gold: Graph, alike: Callable[[str, str], float]) -> Match:
    golds = _facts(gold)
    return match_facts([[alike(fact, other) for other in golds] for fact in _facts(graph)])


def _facts(graph: Graph) -> list[str]:
    return [f"{edge.head}; {edge.relation}; {edge.tail}" for edge in graph.edges]


def paired(
    samples: Sequence[Sample], predictions: Sequence[Prediction]
) -> list[tuple[Sample, Prediction]]:
    """Return each sample that has a prediction with it, in the order of the samples."""
    answers = {prediction.id: prediction for prediction in predictions}
    unknown = answers.keys() - {sample.id for sample in samples}
    if unknown:
        raise InputError(
            f"{len(unknown)} predictions belong to no sample, the first being "
            f"{min(unknown)!r}; ids of both files must agree"
        )
    pairs = [(sample, answers[sample.id]) for sample in samples if sample.id in answers]
    if not pairs:
        raise InputError("no sample has a prediction")
    return pairs


def score_samples(
    samples: Sequence[Sample],
    answers: Mapping[str, Prediction],
    *,
    rules: RuleSet = "released",
    gate: Gate = "paper",
    likeness: Mapping[str, Callable[[str, str], float]] = OVERLAPS,
    further: FurtherMeasures | None = None,
) -> list[SampleScore]:
    """Return the scores of each sample, in order; every one needs an answer of its id."""
    scores = [
        score_sample(sample, answers[sample.id], rules=rules, gate=gate, likeness=likeness)
        for sample in track(samples, "graphs", len(samples))
    ]
    if further is None:
        return scores
    measures = further(samples, answers)
    return [
        msgspec.structs.replace(score, values={**score.values, **measures[score.id]})
        for score in scores
    ]


def score_table(
    samples: Sequence[Sample],
    predictions: Sequence[Prediction],
    *,
    name: str = "system",
    rules: RuleSet = "released",
    gate: Gate = "paper",
    likeness: Mapping[str, Callable[[str, str], float]] = OVERLAPS,
    further: FurtherMeasures | None = None,
) -> list[Row]:
    """Return a system's row and, below it, those of the baselines on the same samples."""
    pairs = paired(samples, predictions)
    answered = [sample for sample, _ in pairs]
    rows = []
    for row, answer in _systems(name).items():
        given = {sample.id: answer(sample, prediction) for sample, prediction in pairs}
        scores = score_samples(
            answered, given, rules=rules, gate=gate, likeness=likeness, further=further
        )
        rows.append(_row(row, answered, scores, len(samples) - len(answered)))
    return rows


def score_system(
    samples: Sequence[Sample], predictions: Sequence[Prediction], *, name: str = "system"
) -> Row:
    """Return the row of a system under the released rules, without baselines."""
    pairs = paired(samples, predictions)
    answered = [sample for sample, _ in pairs]
    scores = score_samples(answered, {answer.id: answer for _, answer in pairs})
    return _row(name, answered, scores, len(samples) - len(answered))


def _systems(name: str) -> dict[str, Callable[[Sample, Prediction], Prediction]]:
    """Return what each row answers, given a sample and the system's answer."""

    def chain(sample: Sample) -> str:
        return nonsense_graph(sample.belief, sample.argument)

    return {
        name: lambda _, answer: answer,
        "nonsense": lambda sample, answer: Prediction(answer.id, answer.stance, chain(sample)),
        "polarity": lambda _, answer: Prediction(
            answer.id, graph_polarity(answer.graph), answer.graph
        ),
        "nonsense, polarity": lambda sample, answer: Prediction(
            answer.id, word_polarity(sample.belief, sample.argument), chain(sample)
        ),
    }


def _row(name: str, samples: Sequence[Sample], scores: Sequence[SampleScore], missing: int) -> Row:
    from grice.stats import mean

    beliefs = [sample.belief.lower() for sample in samples]
    measures = {
        measure: mean([score.values[measure] for score in scores], groups=beliefs, bounds=(0, 1))
        for measure in scores[0].values
    }
    return Row(name, measures, missing, sum(not score.exact for score in scores))


CLASSIFIER_MEASURES = ("seca", "ea", "informativeness")
"""``seca``: a classifier that does not see the argument finds the gold stance in the graph. ``ea``:
proportion of facts without which the gold stance is less likely. Both are 0 behind the gate.
``informativeness``: see :mod:`grice_tasks.explagraphs.features`; never gated, for an empty
graph is empty whatever its stance."""

MOST_FACTS = 100  # Most facts of a graph that is classified; a larger one gets 0


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
