"""CIDER's four tasks by the released folds: the shipped model and trivial baselines.

The shipped heads saw no text of CIDER: their rows are transfer. All of task 1 is on the frozen
negatives, which no published figure is on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np

from grice.data import Triple
from grice.errors import InputError, ModelFolderError
from grice.stats import mean
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, figure
from grice_research.published import printed
from grice_research.triplets.cider import (
    Choice,
    Cider,
    EntailmentScores,
    Item,
    LabelScores,
    Negative,
    Question,
    SpanScores,
    TaskAnswers,
    answer_tasks,
    distance_balanced,
    load_cider,
    nearest,
    score_entailment,
    score_labels,
    score_spans,
)
from grice_tasks.cider.models import TripletModels
from grice_tasks.cider.statistics import turn_starts

TITLE = "Commonsense links in dialogues (CIDER)"
PAPER = (
    "Ghosal et al., CIDER: Commonsense Inference for Dialogue Explanation and Reasoning, "
    "SIGDIAL 2021"
)
MODEL = "builtin:triplets"
FOLDS = (1, 2, 3, 4, 5)

PRINTED = {
    ("nli", "macro_f1"): ("table 4, macro F1", "RoBERTa-MNLI"),
    ("span", "em"): ("table 5, EM", "SpanBERT"),
    ("span", "f1"): ("table 5, F1", "SpanBERT"),
    ("choice", "accuracy"): ("table 6, context and question", "BERT"),
    ("relation", "accuracy"): ("table 8, accuracy", "RoBERTa with context"),
    ("relation", "macro_f1"): ("table 8, F1", "RoBERTa with context"),
}
"""Table and row that a task and measure is set beside: its last column, the mean of folds."""
WHY = {
    "nli": "printed on other negatives, with the epoch chosen on the test fold",
    "span": "printed with the checkpoint chosen on the test fold",
}


Scored = dict[tuple[str, str], float]  # value of each task and measure on one fold


class _Fold(NamedTuple):
    names: frozenset[str]
    positives: list[tuple[str, Triple]]
    negatives: list[tuple[str, Triple]]
    questions: list[Question]
    choices: list[Choice]
    balanced: list[Choice]


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield the four tasks by fold: the shipped heads and the baselines."""
    cider = load_cider(context.folder / "cider")
    folds = {number: _fold(cider, number) for number in FOLDS}
    models = context.models()
    try:
        shipped = cast("TripletModels", models.load(MODEL))
    except ModelFolderError as error:
        raise InputError(str(error)) from error
    fingerprint = models.fingerprint(MODEL)
    everything = frozenset(cider.folds)
    answers = answer_tasks(cider, everything, shipped)
    by_fold = [_scored(folds[number], answers, shipped.level) for number in FOLDS]
    yield from _rows(by_fold, f"{fingerprint}|on:{data_digest(context.folder, 'cider')}")
    yield from _baselines(cider, folds)


def _fold(cider: Cider, number: int) -> _Fold:
    names = frozenset(name for name, fold in cider.folds.items() if fold == number)
    choices = [choice for choice in cider.choices() if _dialogue(choice) in names]
    positives, negatives = (
        [(each.dialogue, _triple(each)) for each in rows if each.dialogue in names]
        for rows in (cider.items, cider.negatives)
    )
    questions = [question for question in cider.questions() if question.item.dialogue in names]
    return _Fold(names, positives, negatives, questions, choices, distance_balanced(choices))


def _dialogue(choice: Choice) -> str:
    return choice.id.rpartition("-triplet-")[0]


def _triple(item: Item | Negative) -> Triple:
    return Triple(item.head.strip(), item.relation, item.tail.strip())


def _scored(fold: _Fold, answers: TaskAnswers, level: float) -> Scored:
    gold = [True] * len(fold.positives) + [False] * len(fold.negatives)
    odds = [answers.entailed[key] for key in (*fold.positives, *fold.negatives)]
    scored: Scored = {}
    entailed = score_entailment(gold, [value > level for value in odds], odds)
    scored |= {("nli", name): value for name, value in entailed._asdict().items()}
    labels = score_labels(
        [triple.relation for _, triple in fold.positives],
        [answers.relations[name, triple.head, triple.tail] for name, triple in fold.positives],
    )
    scored |= {("relation", name): value for name, value in labels._asdict().items()}
    for task, choices in (("choice", fold.choices), ("choice balanced", fold.balanced)):
        right = [answers.options[choice.id] == choice.label for choice in choices]
        scored[task, "accuracy"] = sum(right) / len(right)
    if answers.spans:
        items = [question.item for question in fold.questions]
        keys = [(item.dialogue, item.head.strip(), item.relation) for item in items]
        tails = [[question.valid[0]] for question in fold.questions]
        whole = score_spans(tails, [answers.spans[key] for key in keys])
        scored |= {("span", name): getattr(whole, name) for name in whole._fields if name != "n"}
    return scored


def _rows(by_fold: Sequence[Scored], fingerprint: str) -> Iterator[Figure]:
    why = "heads that saw no text of CIDER: transfer"
    keys = dict.fromkeys(key for scored in by_fold for key in scored)
    for task, what in keys:
        values = [scored[task, what] for scored in by_fold if (task, what) in scored]
        table, beside = PRINTED.get((task, what), ("", ""))
        published = [*printed("cider", table)[beside].values()][-1] if table else None
        few = f"{len(values)} folds" if len(values) < len(FOLDS) else ""
        notes = [why, WHY.get(task, "") if table else "", few]
        yield figure(
            row=task,
            measure=what,
            estimate=mean(values, bounds=(0, 1)),
            kind="ours",
            published=published,
            beside=beside,
            lower=what == "nm",
            why="; ".join(filter(None, notes)),
            signature=f"{fingerprint}|{task}|{what}",
        )


def _baselines(cider: Cider, folds: Mapping[int, _Fold]) -> Iterator[Figure]:
    rules: dict[tuple[str, str], Callable[[_Fold], float]] = {
        ("nli: never entailed", "macro_f1"): lambda fold: _never(fold).macro_f1,
        ("nli: never entailed", "weighted_f1"): lambda fold: _never(fold).weighted_f1,
        ("relation: most frequent", "accuracy"): lambda fold: _frequent(cider, fold).accuracy,
        ("relation: most frequent", "macro_f1"): lambda fold: _frequent(cider, fold).macro_f1,
        ("choice: nearest to the head", "accuracy"): lambda fold: _right(fold.choices, nearest),
        ("choice balanced: nearest to the head", "accuracy"): lambda fold: _right(
            fold.balanced, nearest
        ),
        ("choice: longest", "accuracy"): lambda fold: _right(fold.choices, _longest),
        ("span: turn of the head", "f1"): lambda fold: _turn(cider, fold, 0).f1,
        ("span: turn of the head", "em"): lambda fold: _turn(cider, fold, 0).em,
        ("span: next turn", "f1"): lambda fold: _turn(cider, fold, 1).f1,
        ("span: whole text", "f1"): lambda fold: _whole(cider, fold).f1,
    }
    for (name, what), rule in rules.items():
        values = [rule(folds[number]) for number in FOLDS]
        yield figure(name, what, mean(values, bounds=(0, 1)), "baseline")


def _never(fold: _Fold) -> EntailmentScores:
    gold = [True] * len(fold.positives) + [False] * len(fold.negatives)
    return score_entailment(gold, [False] * len(gold))


def _frequent(cider: Cider, fold: _Fold) -> LabelScores:
    trained = Counter(item.relation for item in cider.items if item.dialogue not in fold.names)
    gold = [triple.relation for _, triple in fold.positives]
    return score_labels(gold, [trained.most_common(1)[0][0]] * len(gold))


def _whole(cider: Cider, fold: _Fold) -> SpanScores:
    texts = [cider.text(question.item.dialogue) for question in fold.questions]
    return score_spans([[question.valid[0]] for question in fold.questions], texts)


def _right(choices: Sequence[Choice], rule: Callable[[Choice], int]) -> float:
    return float(np.mean([rule(choice) == choice.label for choice in choices]))


def _longest(choice: Choice) -> int:
    lengths = [len(option) for option in choice.options]
    return lengths.index(max(lengths))


def _turn(cider: Cider, fold: _Fold, after: int) -> SpanScores:
    """Score the turn in which the head stands first (or one after it), without its speaker."""
    answers = []
    for question in fold.questions:
        dialogue = cider.dialogues[question.item.dialogue]
        starts = [*turn_starts(dialogue.text), len(dialogue.text)]
        turns = [
            dialogue.text[a:b].strip().removeprefix(dialogue.text[a : a + 2]).strip()
            for a, b in pairwise(starts)
        ]
        head = question.item.head.strip()
        at = next((i for i, turn in enumerate(turns) if head in turn), len(turns) - 1)
        answers.append(turns[min(at + after, len(turns) - 1)])
    return score_spans([[q.valid[0]] for q in fold.questions], answers)
