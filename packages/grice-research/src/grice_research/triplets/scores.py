"""Scores of the four tasks, 0 to 1: entailment, spans, choices, relations."""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from grice.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Bucket: TypeAlias = Literal["EM", "PM", "NM"]
"""The same, one contains the other, or neither."""


class EntailmentScores(NamedTuple):
    """Scores of yes or no.

    Attributes:
        macro_f1: Mean of the F1 of both classes; the class set is fixed, whatever was predicted.
        weighted_f1: The same weighted by how often each class is right; of saying no to
            everything it is 0.84 where one in nine is entailed.
        precision: Of what was called entailed, the share that is.
        recall: Of what is entailed, the share that was called so.
        f1: Of the entailed ones.
        average_precision: Area under precision over recall, in steps; None without scores.
    """

    macro_f1: float
    weighted_f1: float
    precision: float
    recall: float
    f1: float
    average_precision: float | None = None


def score_entailment(
    gold: Sequence[bool], decisions: Sequence[bool], scores: Sequence[float] | None = None
) -> EntailmentScores:
    """Return the scores of entailed or not."""
    _same_length(gold, decisions)
    pairs = Counter(zip(map(bool, gold), map(bool, decisions), strict=True))
    hits, missed, wrong, rest = (
        pairs[key] for key in ((True, True), (True, False), (False, True), (False, False))
    )
    yes, no = _f1(hits, missed, wrong), _f1(rest, wrong, missed)
    share = (hits + missed) / len(gold)
    return EntailmentScores(
        (yes + no) / 2,
        share * yes + (1 - share) * no,
        hits / (hits + wrong) if hits + wrong else 0.0,
        hits / (hits + missed) if hits + missed else 0.0,
        yes,
        None if scores is None else average_precision(gold, scores),
    )


def average_precision(gold: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the mean precision at each step of recall; equal scores are one step.

    >>> average_precision([True, False, True], [0.9, 0.8, 0.7])
    0.8333333333333333
    """
    _same_length(gold, scores)
    ranked = sorted(zip(scores, gold, strict=True), key=lambda pair: -pair[0])
    total = sum(map(bool, gold))
    area = seen = hits = new = 0.0
    for place, (score, right) in enumerate(ranked):
        seen += 1
        new += bool(right)
        if place + 1 == len(ranked) or ranked[place + 1][0] != score:
            hits += new
            area += new * hits / seen
            new = 0
    return area / total if total else 0.0


def _f1(hits: int, missed: int, wrong: int) -> float:
    return 2 * hits / (2 * hits + missed + wrong) if hits + missed + wrong else 0.0


class SpanScore(NamedTuple):
    """How far an answer is the gold one.

    Attributes:
        bucket: By strings, blanks around them aside.
        f1: By the released rule: 1, the share of words, or 0 for an answer that only shares words.
        squad_em: Whether both are the same, normalised as SQuAD does.
        squad_f1: Share of words in both, normalised so.
    """

    bucket: Bucket
    f1: float
    squad_em: float
    squad_f1: float


class SpanScores(NamedTuple):
    """Means over questions; see :class:`SpanScore`."""

    em: float
    nm: float
    f1: float
    squad_em: float
    squad_f1: float
    n: int


def score_span(gold: str, answer: str) -> SpanScore:
    """Return the score of an answer.

    >>> score_span("over 1 hour late", "late")
    SpanScore(bucket='PM', f1=0.4, squad_em=0.0, squad_f1=0.4)
    """
    stripped, wanted = answer.strip(), gold.strip()
    shared = _word_f1(_normal(gold), _normal(answer))
    same = float(_normal(gold) == _normal(answer))
    if stripped == wanted:
        return SpanScore("EM", 1.0, same, shared)
    if stripped and (stripped in wanted or wanted in stripped):
        return SpanScore("PM", shared, same, shared)
    return SpanScore("NM", 0.0, same, shared)


def score_spans(golds: Sequence[Sequence[str]], answers: Sequence[str]) -> SpanScores:
    """Return the means over questions, each by its best gold answer."""
    _same_length(golds, answers)
    rows = []
    for place, (wanted, answer) in enumerate(zip(golds, answers, strict=True)):
        if not wanted:
            raise InputError(f"golds[{place}]: a question without a right answer")
        each = [score_span(gold, answer) for gold in wanted]
        buckets = {score.bucket for score in each}
        rows.append(
            (
                float("EM" in buckets),
                float(buckets == {"NM"}),
                max(score.f1 for score in each),
                max(score.squad_em for score in each),
                max(score.squad_f1 for score in each),
            )
        )
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    em, nm, f1, squad_em, squad_f1 = means
    return SpanScores(em, nm, f1, squad_em, squad_f1, len(rows))


def _normal(text: str) -> str:
    """Return a text as SQuAD compares it: lower case, without punctuation and articles."""
    bare = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def _word_f1(gold: str, answer: str) -> float:
    first, second = gold.split(), answer.split()
    if not first or not second:
        return float(first == second)
    shared = sum((Counter(first) & Counter(second)).values())
    return 2 * shared / (len(first) + len(second))


class LabelScores(NamedTuple):
    """Scores of one label of many; means are over labels in gold or prediction."""

    accuracy: float
    macro_precision: float
    macro_recall: float
    macro_f1: float


def score_labels(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> LabelScores:
    """Return accuracy and macro scores."""
    _same_length(gold, predicted)
    wanted, guessed = Counter(gold), Counter(predicted)
    hits = Counter(a for a, b in zip(gold, predicted, strict=True) if a == b)
    labels = wanted.keys() | guessed.keys()
    precision = [hits[label] / guessed[label] if guessed[label] else 0.0 for label in labels]
    recall = [hits[label] / wanted[label] if wanted[label] else 0.0 for label in labels]
    both = [2 * hits[label] / (guessed[label] + wanted[label]) for label in labels]
    n = len(labels)
    return LabelScores(hits.total() / len(gold), sum(precision) / n, sum(recall) / n, sum(both) / n)


def _same_length(gold: Sequence[object], predicted: Sequence[object]) -> None:
    if len(gold) != len(predicted) or not gold:
        raise InputError(
            f"{len(gold)} gold and {len(predicted)} predicted: as many are needed, and any"
        )
