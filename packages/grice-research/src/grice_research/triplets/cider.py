"""CIDER as its four tasks: the released files, the answers of a model, and their scores."""

from __future__ import annotations

import csv
import hashlib
import re
import string
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.data import Triple
from grice.errors import InputError
from grice_tasks.cider.files import Dialogue, read_dialogues
from grice_tasks.cider.find import candidates_of
from grice_tasks.cider.models import TripletModels, span_vectors
from grice_tasks.cider.reading import TextReading, layout_of, locate, read_texts
from grice_tasks.cider.span_candidates import Joined, informative
from grice_tasks.lines import decode_row, read_lines

KEYS = {
    "dialogue": "d", "index": "i", "head": "h", "relation": "r", "tail": "t", "question": "qa",
    "options": "mcq", "first_options": "mcq0", "head_lemmas": "hl", "tail_lemmas": "tl",
}  # fmt: skip
"""Names of the fields of an item in the released file."""


class Item(msgspec.Struct, frozen=True, rename=KEYS):
    """A triplet of the experiments, with what the released task files hold of it."""

    dialogue: str
    index: int
    head: str
    relation: str
    tail: str
    question: tuple[int, int] | None = None
    options: tuple[str, ...] | None = None
    first_options: tuple[str, ...] | None = None  # before filtering; the right one at ``label``
    label: int | None = None
    head_lemmas: str = ""
    tail_lemmas: str = ""


def read_items(path: Path) -> list[Item]:
    """Return the triplets of the experiments, with what the released task files hold of them."""
    return [decode_row(path, number, line, Item) for number, line in read_lines(path)]


FOLDS = "folds.tsv"  # name of the table of folds in the folder of the release


def read_folds(path: Path) -> dict[str, int]:
    """Return the test fold of each dialogue of a table with ``dialogue`` and ``test_fold``."""
    return {row["dialogue"]: int(row["test_fold"]) for row in read_table(path)}


class Negative(NamedTuple):
    """A triplet that is not entailed, made from the one at ``number`` of its dialogue."""

    dialogue: str
    number: int
    strategy: str
    head: str
    relation: str
    tail: str
    train: bool


def read_negatives(path: Path) -> list[Negative]:
    """Return the frozen negatives of a table, whose columns are those of :class:`Negative`."""
    columns = ("dialogue", "i", "strategy", "h", "r", "t", "train")
    rows = ([row[column] for column in columns] for row in read_table(path))
    return [msgspec.convert(row, Negative, strict=False) for row in rows]


def read_table(path: Path) -> list[Mapping[str, str]]:
    """Return the rows of a table whose columns are parted by tabs and named in the first line."""
    lines = (line for _, line in read_lines(path))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


OPTIONS = 4


class Choice(NamedTuple):
    """One item: a question and its options."""

    id: str
    text: str
    head: str
    relation: str
    options: tuple[str, ...]
    label: int


def nearest(choice: Choice) -> int:
    """Return the option whose first place is nearest to the head's; the first among equals."""
    far = _distances(choice)
    return far.index(min(far))


def _distances(choice: Choice) -> list[int]:
    head = locate(choice.text, choice.head)
    distances = []
    for option in choice.options:
        place = locate(choice.text, option)
        missing = head is None or place is None
        distances.append(len(choice.text) if missing else abs(place[0] - head[0]))  # type: ignore[index]
    return distances


def distance_balanced(choices: Sequence[Choice]) -> list[Choice]:
    """Return the items whose right option is as often nearest to the head as second, third, last.

    Of each rank as many are kept as the rarest has, those of the smallest hash of their id, so
    that answering by distance alone is right in one of four.
    """
    by_rank: list[list[Choice]] = [[] for _ in range(OPTIONS)]
    for choice in choices:
        far = _distances(choice)
        order = sorted(range(len(far)), key=lambda i: (far[i], i))
        by_rank[order.index(choice.label)].append(choice)
    most = min(map(len, by_rank))
    chosen = {
        choice.id
        for rank in by_rank
        for choice in sorted(rank, key=lambda c: hashlib.sha256(c.id.encode()).hexdigest())[:most]
    }
    return [choice for choice in choices if choice.id in chosen]


class Question(NamedTuple):
    """One question of task 2."""

    item: Item
    start: int
    pasted: bool
    valid: tuple[str, ...]


class Cider(NamedTuple):
    """The released experiments."""

    dialogues: dict[str, Dialogue]
    items: list[Item]
    folds: dict[str, int]
    negatives: list[Negative]

    def text(self, dialogue: str) -> str:
        """Return context and appended text: what questions are asked about."""
        stored = self.dialogues[dialogue]
        return (stored.context or "") + (stored.appended or "")

    def questions(self) -> list[Question]:
        """Return the questions of task 2 in order."""
        tails: dict[tuple[str, str, str], dict[str, None]] = {}
        for item in self.items:
            key = item.dialogue, item.head.strip().lower(), item.relation
            tails.setdefault(key, {})[item.tail.strip()] = None
        asked = []
        for item in self.items:
            if item.question is None:
                continue
            key = item.dialogue, item.head.strip().lower(), item.relation
            tail, start = item.tail.strip(), item.question[1]
            others = (other for other in tails[key] if other != tail)
            pasted = start >= len(self.dialogues[item.dialogue].context or "")
            asked.append(Question(item, start, pasted, (tail, *others)))
        return asked

    def choices(self) -> list[Choice]:
        """Return the items of task 3 in order, as they are after filtering."""
        return [
            Choice(
                f"{item.dialogue}-triplet-{item.question[0]}",
                self.text(item.dialogue),
                item.head.strip(),
                item.relation,
                item.options,
                item.label,
            )
            for item in self.items
            if item.options is not None and item.label is not None and item.question is not None
        ]


def load_cider(folder: Path) -> Cider:
    """Read the released files of a folder."""
    dialogues = read_dialogues(folder / "dialogues.jsonl.gz").dialogues
    return Cider(
        {dialogue.id: dialogue for dialogue in dialogues if dialogue.context is not None},
        read_items(folder / "experiment.jsonl.gz"),
        read_folds(folder / FOLDS),
        read_negatives(folder / "nli_frozen_negatives.tsv.gz"),
    )


Array: TypeAlias = NDArray[np.float32]

ENTAILED, OPTION, RELATION = range(3)


BLOCK = 32  # dialogues whose token states are held at once


class TaskAnswers(NamedTuple):
    """Answers of the heads, keyed so that gold can be put beside it."""

    entailed: dict[tuple[str, Triple], float]
    options: dict[str, int]
    relations: dict[tuple[str, str, str], str]
    spans: dict[tuple[str, str, str], str]


class Asked(NamedTuple):
    """Questions about one dialogue."""

    dialogue: str
    triples: list[Triple]
    choices: list[Choice]
    questions: list[Question]


def answer_tasks(cider: Cider, dialogues: Collection[str], models: TripletModels) -> TaskAnswers:
    """Return the answers to all four tasks on some dialogues, each read once."""
    names = [name for name in cider.dialogues if name in dialogues]
    triples: dict[str, dict[Triple, None]] = defaultdict(dict)
    labelled: list[Item | Negative] = [*cider.items, *cider.negatives]
    for item in labelled:
        triple = Triple(item.head.strip(), item.relation, item.tail.strip())
        triples[item.dialogue][triple] = None
    gold = {(item.dialogue, item.head.strip(), item.tail.strip()) for item in cider.items}
    choices: dict[str, list[Choice]] = defaultdict(list)
    for choice in cider.choices():
        choices[choice.id.rpartition("-triplet-")[0]].append(choice)
    questions: dict[str, list[Question]] = defaultdict(list)
    for question in cider.questions():
        questions[question.item.dialogue].append(question)
    answers = TaskAnswers({}, {}, {}, {})
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        readings = read_texts([cider.text(name) for name in block], models.encoder.hidden_states)
        for name, reading in zip(block, readings, strict=True):
            asked = Asked(name, list(triples[name]), choices[name], questions[name])
            _answer(asked, reading, models, gold, answers)
    return answers


def _answer(
    asked: Asked,
    reading: TextReading,
    models: TripletModels,
    gold: Collection[tuple[str, str, str]],
    answered: TaskAnswers,
) -> None:
    name, triples, choices, questions = asked
    spans: dict[str, int] = {}
    pairs: dict[tuple[int, int], int] = {}

    def pair(head: str, tail: str) -> int:
        key = (spans.setdefault(head, len(spans)), spans.setdefault(tail.strip(), len(spans)))
        return pairs.setdefault(key, len(pairs))

    of_triples = [pair(triple.head, triple.tail) for triple in triples]
    of_choices = [[pair(choice.head, option) for option in choice.options] for choice in choices]
    if not pairs:
        return
    sides = span_vectors(
        reading,
        layout_of(reading.text),
        list(spans),
        alone=models.encoder.encode,
        both=models.links.both,
    )
    numbers = models.links(sides, list(pairs))
    relations = models.links.relations
    for triple, row in zip(triples, of_triples, strict=True):
        place = models.links.index(triple.relation)
        answered.entailed[name, triple] = float(numbers[row, ENTAILED, place])
        if (name, triple.head, triple.tail) in gold:
            best = int(numbers[row, RELATION].argmax())
            answered.relations[name, triple.head, triple.tail] = relations[best]
    for choice, rows in zip(choices, of_choices, strict=True):
        place = models.links.index(choice.relation)
        answered.options[choice.id] = int(numbers[rows, OPTION, place].argmax())
    if models.tagger is not None:
        asked_of = [(question.item.head.strip(), question.item.relation) for question in questions]
        tails = best_tails(reading, asked_of, models)
        answered.spans.update(
            {(name, *key): tail for key, tail in zip(asked_of, tails, strict=True)}
        )


def best_tails(
    reading: TextReading, asked: Sequence[tuple[str, str]], models: TripletModels
) -> list[str]:
    """Return the event or thing that answers each head and relation best.

    An answer is empty where a text has no other event or thing than the head, where the models
    have no tagger that finds them, or no head that reads spans in their text alone.
    """
    text, layout, links = reading.text, layout_of(reading.text), models.links.in_context()
    if links is None:
        return [""] * len(asked)
    starts = [0, *(mark + 2 for mark in layout.marks if mark + 2 < len(text))]
    telling = [
        candidate.place
        for candidate in candidates_of(Joined(text, tuple(starts)), reading, models)
        if informative(text, candidate)
    ]
    answers = []
    for head, relation in asked:
        number, at = links.index(relation), locate(text, head)
        places = [
            stretch
            for stretch in telling
            if at is None or stretch[1] <= at[0] or at[1] <= stretch[0]
        ]
        if not places:
            answers.append("")
            continue
        spans = [head, *(text[slice(*place)] for place in places)]
        sides = span_vectors(
            reading, layout, spans, alone=models.encoder.encode, both=False, places=[at, *places]
        )
        good = links(sides, [(0, i) for i in range(1, len(spans))])
        best = int(good[:, OPTION, number].argmax())
        answers.append(spans[1 + best])
    return answers


Bucket: TypeAlias = Literal["EM", "PM", "NM"]  # the same, one contains the other, or neither


class EntailmentScores(NamedTuple):
    """Scores of yes or no."""

    macro_f1: float
    weighted_f1: float
    precision: float  # of what was called entailed, the share that is
    recall: float  # of what is entailed, the share that was called so
    f1: float  # of the entailed ones
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
    """How far an answer is the gold one."""

    bucket: Bucket  # by strings, blanks around them aside
    f1: float
    squad_em: float  # whether both are the same, normalised as SQuAD does
    squad_f1: float  # share of words in both, normalised so


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
        best = (max(column) for column in zip(*(score[1:] for score in each), strict=True))
        rows.append((float("EM" in buckets), float(buckets == {"NM"}), *best))
    em, nm, f1, same, shared = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return SpanScores(em, nm, f1, same, shared, len(rows))


def _normal(text: str) -> str:
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
