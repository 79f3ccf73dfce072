"""CIDER as its four tasks: everything a bench or a recipe needs, from the released files."""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.errors import RecordError
from grice.records import Triple
from grice_tasks.cider.files import read_dialogues
from grice_tasks.cider.find import candidates_of
from grice_tasks.cider.heads import span_vectors
from grice_tasks.cider.reading import layout_of, locate, read_texts
from grice_tasks.cider.span_candidates import Joined, informative
from grice_tasks.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grice_tasks.cider.records import Dialogue

KEYS = {
    "dialogue": "d",
    "index": "i",
    "head": "h",
    "relation": "r",
    "tail": "t",
    "head_lemma": "hl",
    "tail_lemma": "tl",
    "question": "qa",
    "options": "mcq",
    "first_options": "mcq0",
}
"""What the released file calls the fields of an item."""


class Item(msgspec.Struct, frozen=True, rename=KEYS):
    """A triplet of the experiments, with what the released task files hold of it."""

    dialogue: str
    index: int
    head: str
    relation: str
    tail: str
    head_lemma: str
    tail_lemma: str
    question: tuple[int, int] | None = None
    options: tuple[str, ...] | None = None
    first_options: tuple[str, ...] | None = None
    label: int | None = None


def read_items(path: Path) -> list[Item]:
    """Return the triplets of the experiments, with what the released task files hold of them."""
    decoder = msgspec.json.Decoder(Item)
    items = []
    for number, line in read_lines(path):
        try:
            items.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            raise RecordError(str(error), file=str(path), line=number) from None
    return items


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
    return [
        Negative(
            row["dialogue"],
            int(row["i"]),
            row["strategy"],
            row["h"],
            row["r"],
            row["t"],
            row["train"] == "1",
        )
        for row in read_table(path)
    ]


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
        read_folds(folder / "folds.tsv"),
        read_negatives(folder / "nli_frozen_negatives.tsv.gz"),
    )


if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from grice_research.triplets.cider import Choice, Cider, Item, Negative, Question
    from grice_tasks.cider.models import TripletModels
    from grice_tasks.cider.reading import TextReading

    Array: TypeAlias = NDArray[np.float32]

ENTAILED, OPTION, RELATION = range(3)


BLOCK = 32
"""Dialogues whose token states are held at once."""


class TaskAnswers(NamedTuple):
    """What the heads say, keyed so that gold can be put beside it."""

    entailed: dict[tuple[str, Triple], float]
    options: dict[str, int]
    relations: dict[tuple[str, str, str], str]
    spans: dict[tuple[str, str, str], str]


def answer_tasks(cider: Cider, dialogues: Collection[str], models: TripletModels) -> TaskAnswers:
    """Return the answers to all four tasks on some dialogues, each read once."""
    names = [name for name in cider.dialogues if name in dialogues]
    triples: dict[str, dict[Triple, None]] = {name: {} for name in names}
    labelled: list[Item | Negative] = [*cider.items, *cider.negatives]
    for item in labelled:
        if item.dialogue in triples:
            triple = Triple(item.head.strip(), item.relation, item.tail.strip())
            triples[item.dialogue][triple] = None
    gold = {(item.dialogue, item.head.strip(), item.tail.strip()) for item in cider.items}
    choices: dict[str, list[Choice]] = {name: [] for name in names}
    for choice in cider.choices():
        name = choice.id.rpartition("-triplet-")[0]
        if name in choices:
            choices[name].append(choice)
    questions: dict[str, list[Question]] = {name: [] for name in names}
    for question in cider.questions():
        if question.item.dialogue in questions:
            questions[question.item.dialogue].append(question)
    answers = TaskAnswers({}, {}, {}, {})
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        readings = read_texts([cider.text(name) for name in block], models.encoder.hidden)
        for name, reading in zip(block, readings, strict=True):
            _answer(
                name,
                reading,
                list(triples[name]),
                choices[name],
                questions[name],
                models,
                gold,
                answers,
            )
    return answers


def _answer(
    name: str,
    reading: TextReading,
    triples: Sequence[Triple],
    choices: Sequence[Choice],
    questions: Sequence[Question],
    models: TripletModels,
    gold: Collection[tuple[str, str, str]],
    answered: TaskAnswers,
) -> None:
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
