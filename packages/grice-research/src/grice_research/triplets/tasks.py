"""The four tasks of CIDER, answered by the heads of this room."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.records import Triple
from grice_tasks.cider.find import candidates_of
from grice_tasks.cider.heads import span_vectors
from grice_tasks.cider.reading import layout_of, locate, read_texts
from grice_tasks.cider.span_candidates import Joined, informative

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
    """What the heads say, keyed so that gold can be put beside it.

    Attributes:
        entailed: Log odds that a dialogue entails a triplet (spans without blanks around them).
        options: Index of the chosen option of each item of task 3, by its id.
        relations: Relation of head and tail in a dialogue.
        spans: Answer to each head and relation in a dialogue; empty without a tagger.
    """

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
