"""Scores of predicted graphs, alone and in a table with baselines.

Source: Saha et al. 2021, ExplaGraphs, and its released evaluation script. SeCA and EA rest on
classifiers that were not released: :mod:`.classifiers` has others, or your own are named.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from grice.data import Triple
from grice.errors import InputError, did_you_mean
from grice.progress import track
from grice.stats.estimate import scipy_module
from grice_tasks.explagraphs.analysis import parts_by_shape
from grice_tasks.explagraphs.check import check_graph, released_edges
from grice_tasks.explagraphs.distance import edit_distance
from grice_tasks.explagraphs.embedding import TokenLikeness
from grice_tasks.explagraphs.features import Reading, texts_of
from grice_tasks.explagraphs.graph import Graph, read_graph
from grice_tasks.explagraphs.samples import Prediction, Sample, read_predictions, read_samples
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
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from grice.models.embedded import EmbeddedEncoder
    from grice.stats.estimate import Estimate
    from grice_tasks.explagraphs.check import RuleSet, Verdict
    from grice_tasks.explagraphs.classifiers import GraphJudges
    from grice_tasks.explagraphs.samples import Stance

    Likeness: TypeAlias = Callable[[str, str], float]


class Match(NamedTuple):
    """How well predicted facts match gold facts, each number 0 to 1."""

    precision: float  # likeness of the pairs over the number of predicted facts
    recall: float  # the same over the number of gold facts
    f1: float


def match_facts(likeness: Sequence[Sequence[float]]) -> Match:
    """Return the match of the best one-to-one pairing."""
    if not likeness or not likeness[0]:
        return Match(0.0, 0.0, 0.0)
    best = [max(range(len(row)), key=row.__getitem__) for row in likeness]
    pairs: Iterable[tuple[int, int]] = enumerate(best)
    if len(set(best)) < len(best):  # facts that are best matched by one and the same are rivals
        chosen = scipy_module("optimize").linear_sum_assignment(likeness, maximize=True)
        pairs = zip(*chosen, strict=True)
    total = float(sum(likeness[row][column] for row, column in pairs))
    precision, recall = total / len(likeness), total / len(likeness[0])
    both = precision + recall
    return Match(precision, recall, 2 * precision * recall / both if both > 0 else 0.0)


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
    """Return the share of the predicted fact's stem bigrams in gold: ROUGE-2 as released."""
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


OVERLAPS: dict[str, Likeness] = {
    "g_bleu": bleu,
    "g_rouge_2": rouge_2,
    "g_rouge_2_released": rouge_2_precision,
    "g_rouge_l": rouge_l,
}
Gate: TypeAlias = Literal["paper", "structure", "none"]
"""Condition for comparing a graph: ``paper`` stance and structure, ``structure`` the structure
alone. One that does not pass has 0 everywhere and an edit distance of 1."""
MOST_FACTS = 100
"""Most facts of a gold graph, and of one that is classified; a larger one is classified as 0."""


class ScoreOptions(NamedTuple):
    """How graphs are scored."""

    rules: RuleSet = "released"
    gate: Gate = "paper"
    likeness: Mapping[str, Likeness] = OVERLAPS  # likeness of two facts, by measure
    classifiers: GraphJudges | None = None  # add ``seca``, ``ea`` and ``informativeness``


DEFAULT = ScoreOptions()


class SampleScore(msgspec.Struct, frozen=True):
    """The scores of one prediction.

    Measures are 0 to 1: ``sa``, the stance is right; ``stca``, the gate's stance rule and the
    structure hold; ``ged``, edit distance over the official scale, 0 best; ``g_…``, F1 of the best
    pairing of facts, with ``…_precision`` and ``…_recall`` beside it.
    """

    id: str
    verdict: Verdict
    compared: bool  # whether the graph passed the gate
    values: dict[str, float]
    exact: bool = True  # whether the edit distance is exact, as it always is for legal sizes


class Row(msgspec.Struct, frozen=True):
    """A system or a baseline over all samples, or a system over a part of them."""

    name: str
    measures: dict[str, Estimate]  # means with 95 % intervals, clustered by belief
    missing: int  # how many samples have no prediction; they are left out
    inexact: int  # in how many samples the edit distance is an upper bound only


def score_sample(
    sample: Sample, prediction: Prediction, options: ScoreOptions = DEFAULT
) -> SampleScore:
    """Return the scores of one prediction that need no classifier.

    With several gold graphs each measure takes the one with the largest F1, and the distance
    the smallest, as the released script does.
    """
    gate = options.gate
    if gate not in get_args(Gate):
        raise InputError(f"gate={gate!r}{did_you_mean(gate, get_args(Gate))}")
    if sample.stance is None or not sample.graphs:
        raise InputError(f"sample {sample.id!r} has no gold stance or no gold graph to score with")
    verdict = check_graph(prediction.graph, sample.belief, sample.argument, rules=options.rules)
    agrees = prediction.stance == sample.stance
    correct = verdict.ok and (agrees or gate != "paper")
    values = {"sa": float(agrees), "stca": float(correct), "ged": 1.0}
    matches = dict.fromkeys(options.likeness, Match(0.0, 0.0, 0.0))
    graph = _graph_of(prediction.graph, verdict) if correct or gate == "none" else Graph(())
    exact = True
    if graph.edges:
        golds = [_gold(sample.id, text) for text in sample.graphs]
        distances = [edit_distance(graph, gold) for gold in golds]
        values["ged"] = min(distance.normalised for distance in distances)
        exact = all(distance.exact for distance in distances)
        for name, alike in options.likeness.items():
            found = (
                match_facts([[alike(fact, other) for other in gold.facts] for fact in graph.facts])
                for gold in golds
            )
            matches[name] = max(found, key=lambda match: match.f1)
    for name, match in matches.items():
        both = {f"{name}_precision": match.precision, f"{name}_recall": match.recall}
        values |= {**both, name: match.f1}
    return SampleScore(sample.id, verdict, bool(graph.edges), values, exact)


def _gold(name: str, text: str) -> Graph:
    graph = read_graph(text.lower()).graph
    if len(graph.edges) > MOST_FACTS:
        raise InputError(
            f"the gold graph of sample {name!r} has {len(graph.edges):,} facts, at most "
            f"{MOST_FACTS} can be compared; the task allows 8"
        )
    return graph


def _graph_of(text: str, verdict: Verdict) -> Graph:
    """Return the facts that are compared: those the rules looked at."""
    if verdict.ok and verdict.rules == "released":
        facts = released_edges(text.lower())
        return Graph(tuple(Triple(head, relation, tail) for head, relation, tail in facts))
    return read_graph(text.lower()).graph


def score_samples(
    samples: Sequence[Sample], answers: Mapping[str, Prediction], options: ScoreOptions = DEFAULT
) -> list[SampleScore]:
    """Return the scores of each sample, in order; every one needs an answer of its id."""
    scores = [
        score_sample(sample, answers[sample.id], options)
        for sample in track(samples, "graphs", len(samples))
    ]
    if options.classifiers is None:
        return scores
    readings = []
    for sample in samples:
        graph = read_graph(answers[sample.id].graph.lower()).graph
        known = graph if len(graph.edges) <= MOST_FACTS else Graph(())
        readings.append(Reading(sample.belief, sample.argument, known))
    options.classifiers.encode(texts_of(readings))
    return [
        msgspec.structs.replace(
            score,
            values=score.values | _classified(sample.stance, reading, score, options.classifiers),
        )
        for sample, reading, score in zip(
            track(samples, "graphs", len(samples)), readings, scores, strict=True
        )
    ]


def _classified(
    gold: Stance | None, reading: Reading, score: SampleScore, classifiers: GraphJudges
) -> dict[str, float]:
    """Return the measures by classifiers.

    ``seca``: a classifier that does not see the argument finds the gold stance in the graph.
    ``ea``: share of facts without which the gold stance is less likely. Both are 0 behind the gate.
    ``informativeness`` is not gated: an empty graph is empty whatever its stance.
    """
    value = classifiers.informativeness([reading])[0].value
    if gold is None or not score.compared or not reading.graph.edges:
        return {"seca": 0.0, "ea": 0.0, "informativeness": value}
    stance = classifiers.meanings([(reading.belief, reading.graph)])[0].label
    important = classifiers.importance(reading, gold)
    share = sum(important) / len(important) if important else 0.0
    return {"seca": float(stance == gold), "ea": share, "informativeness": value}


def score_table(
    samples: Sequence[Sample],
    predictions: Sequence[Prediction],
    options: ScoreOptions = DEFAULT,
    *,
    name: str = "system",
) -> list[Row]:
    """Return a system's row and, below it, those of the baselines on the same samples.

    ``nonsense``: the chain of longest words with the system's stances. ``polarity``: the system's
    graphs, the stance the parity of their negating relations. ``nonsense, polarity``: the chain,
    the stance the parity of negating words in both texts.
    """
    answered, answers = _answered(samples, predictions)
    chains = {each.id: nonsense_graph(each.belief, each.argument) for each in answered}
    stances = {each.id: word_polarity(each.belief, each.argument) for each in answered}
    given = answers.values()
    systems = {
        name: list(given),
        "nonsense": [Prediction(each.id, each.stance, chains[each.id]) for each in given],
        "polarity": [Prediction(x.id, graph_polarity(x.graph), x.graph) for x in given],
        "nonsense, polarity": [Prediction(key, stances[key], chains[key]) for key in chains],
    }
    return [score_system(samples, outputs, options, name=row) for row, outputs in systems.items()]


def score_system(
    samples: Sequence[Sample],
    predictions: Sequence[Prediction],
    options: ScoreOptions = DEFAULT,
    *,
    name: str = "system",
) -> Row:
    """Return the row of a system."""
    answered, answers = _answered(samples, predictions)
    scores = score_samples(answered, answers, options)
    return _row(name, answered, scores, len(samples) - len(answered))


def score_parts(
    samples: Sequence[Sample], predictions: Sequence[Prediction], options: ScoreOptions = DEFAULT
) -> list[Row]:
    """Return a row of a system for each part of the samples by the shape of the gold graph."""
    answered, answers = _answered(samples, predictions)
    scores = score_samples(answered, answers, options)
    missing = len(samples) - len(answered)
    return [
        _row(name, [answered[i] for i in part], [scores[i] for i in part], missing)
        for name, part in parts_by_shape(answered).items()
    ]


def _answered(
    samples: Sequence[Sample], predictions: Sequence[Prediction]
) -> tuple[list[Sample], dict[str, Prediction]]:
    """Return the samples that have a prediction, and their predictions in that order."""
    answers = {prediction.id: prediction for prediction in predictions}
    unknown = answers.keys() - {sample.id for sample in samples}
    if unknown:
        raise InputError(
            f"{len(unknown)} predictions belong to no sample, the first being "
            f"{min(unknown)!r}; ids of both files must agree"
        )
    answered = [sample for sample in samples if sample.id in answers]
    if not answered:
        raise InputError("no sample has a prediction")
    return answered, {sample.id: answers[sample.id] for sample in answered}


def _row(name: str, samples: Sequence[Sample], scores: Sequence[SampleScore], missing: int) -> Row:
    from grice.stats import mean

    beliefs = [sample.belief.lower() for sample in samples]
    measures = {
        measure: mean([score.values[measure] for score in scores], groups=beliefs, bounds=(0, 1))
        for measure in scores[0].values
    }
    return Row(name, measures, missing, sum(not score.exact for score in scores))


def score_files(
    samples: Path,
    predictions: Path,
    options: ScoreOptions = DEFAULT,
    *,
    embedding: EmbeddedEncoder | None = None,
    by_shape: bool = False,
) -> tuple[list[Row], int]:
    """Score a system's file against gold graphs; return the rows and the number of samples."""
    gold, answers = read_samples(samples), read_predictions(predictions)
    likeness = dict(options.likeness)
    if embedding is not None:
        texts = [graph for sample in gold for graph in sample.graphs]
        texts += [nonsense_graph(sample.belief, sample.argument) for sample in gold]
        texts += [answer.graph for answer in answers]
        facts = (fact for text in texts for fact in read_graph(text.lower()).graph.facts)
        likeness["g_embedding"] = TokenLikeness(embedding, facts)
    options = options._replace(likeness=likeness)
    if by_shape:
        return score_parts(gold, answers, options), len(gold)
    return score_table(gold, answers, options, name=predictions.name), len(gold)
