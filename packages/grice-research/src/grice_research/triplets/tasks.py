"""The four tasks of CIDER, answered by the heads of this room."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.records import Triple
from grice_research.triplets.scores import score_span
from grice_research.triplets.tails import best_tails
from grice_tasks.cider.heads import Sides, span_vectors
from grice_tasks.cider.reading import read_texts
from grice_tasks.cider.structure import layout_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from grice_research.triplets.choices import Choice
    from grice_research.triplets.cider import Cider, Question
    from grice_research.triplets.ensemble import EnsembleReading
    from grice_research.triplets.models import TaskModels
    from grice_research.triplets.task_files import Item, Negative
    from grice_tasks.cider.reading import TextReading
    from grice_tasks.cider.records import Place
    from grice_tasks.cider.structure import Layout

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["TaskAnswers", "answer_tasks", "rerank_spans"]

ENTAILED, OPTION, RELATION = range(3)
CANDIDATES = 40
"""Answers that are looked at as tails of a link."""
BLOCK = 32
"""Dialogues whose token states are held at once."""


class TaskAnswers(NamedTuple):
    """What the heads say, keyed so that gold can be put beside it.

    Attributes:
        entailed: Log odds that a dialogue entails a triplet (spans without blanks around them).
        options: Index of the chosen option of each item of task 3, by its id.
        relations: Relation of head and tail in a dialogue.
        apart: The same by models that do not see the dialogue; empty without such.
        spans: Answer to each head and relation in a dialogue; empty without a tagger and
            without head-conditioned layers.
    """

    entailed: dict[tuple[str, Triple], float]
    options: dict[str, int]
    relations: dict[tuple[str, str, str], str]
    apart: dict[tuple[str, str, str], str]
    spans: dict[tuple[str, str, str], str]


def answer_tasks(cider: Cider, dialogues: Collection[str], models: TaskModels) -> TaskAnswers:
    """Return the answers to all four tasks on some dialogues, each read once.

    Args:
        cider: The released experiments.
        dialogues: Ids of those to answer.
        models: The heads, and what answers beside them.
    """
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
    answers = TaskAnswers({}, {}, {}, {}, {})
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        readings = read_texts([cider.text(name) for name in block], models.heads.encoder.hidden)
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
    models: TaskModels,
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
        alone=models.heads.encoder.encode,
        both=models.heads.links.both,
    )
    numbers = models.heads.links(sides, list(pairs))
    again = (
        None
        if models.head_conditioned is None
        else models.head_conditioned.read(reading.text, sides)
    )
    if again is not None:
        share = np.asarray(models.shares, np.float32)[:, None]
        numbers = (1 - share) * numbers + share * again.links(list(pairs))
        asked = {(row, triple.relation) for triple, row in zip(triples, of_triples, strict=True)}
        asked |= {
            (row, choice.relation)
            for choice, rows in zip(choices, of_choices, strict=True)
            for row in rows
        }
        _add_overlaps(numbers, list(pairs), sorted(asked), again, models)
    relations = models.heads.links.relations
    apart = {}
    if models.alone is not None:
        apart = _relations_apart(
            {(triple.head, triple.tail) for triple in triples}
            & {(head, tail) for dialogue, head, tail in gold if dialogue == name},
            models,
        )
    answered.apart.update({(name, *sides_of): relation for sides_of, relation in apart.items()})
    for triple, row in zip(triples, of_triples, strict=True):
        place = models.heads.links.index(triple.relation)
        answered.entailed[name, triple] = float(numbers[row, ENTAILED, place])
        if (name, triple.head, triple.tail) in gold:
            best = int(numbers[row, RELATION].argmax())
            answered.relations[name, triple.head, triple.tail] = relations[best]
    for choice, rows in zip(choices, of_choices, strict=True):
        place = models.heads.links.index(choice.relation)
        answered.options[choice.id] = int(numbers[rows, OPTION, place].argmax())
    if again is not None:
        _answer_questions(name, reading, again, sides, questions, models, answered)
    elif models.heads.tagger is not None:
        asked_of = [(question.item.head.strip(), question.item.relation) for question in questions]
        tails = best_tails(reading, asked_of, models.heads)
        answered.spans.update(
            {(name, *key): tail for key, tail in zip(asked_of, tails, strict=True)}
        )


def _add_overlaps(
    numbers: Array,
    pairs: Sequence[tuple[int, int]],
    asked: Sequence[tuple[int, str]],
    again: EnsembleReading,
    models: TaskModels,
) -> None:
    """Add to the numbers of pairs how the answers to head and relation overlap with the tail."""
    if not any(models.overlap_weights):
        return
    triples = [(pairs[row][0], relation, pairs[row][1]) for row, relation in asked]
    for (row, relation), overlap in zip(asked, again.tail_overlaps(triples), strict=True):
        place = models.heads.links.index(relation)
        numbers[row, ENTAILED, place] += models.overlap_weights[0] * overlap
        numbers[row, OPTION, place] += models.overlap_weights[1] * overlap


def _relations_apart(
    pairs: Collection[tuple[str, str]], models: TaskModels
) -> dict[tuple[str, str], str]:
    """Return the relation of each head and tail by what they say on their own."""
    listed = list(dict.fromkeys(side for pair in sorted(pairs) for side in pair))
    if models.alone is None or not listed:
        return {}
    sides = Sides(
        layout_of(""), listed, [None] * len(listed), np.asarray(models.heads.encoder.encode(listed))
    )
    places = [(listed.index(head), listed.index(tail)) for head, tail in pairs]
    best = models.alone(sides, places)[:, RELATION].argmax(axis=1)
    return {
        pair: models.alone.relations[number]
        for pair, number in zip(pairs, best.tolist(), strict=True)
    }


def _answer_questions(
    name: str,
    reading: TextReading,
    again: EnsembleReading,
    sides: Sides,
    questions: Sequence[Question],
    models: TaskModels,
    answered: TaskAnswers,
) -> None:
    good, sure = models.counted
    for question in questions:
        key = name, question.item.head.strip(), question.item.relation
        if key in answered.spans:
            continue
        head = list(sides.spans).index(key[1])
        weighed = [
            (x.score + float(good * x.numbers[OPTION] + sure * x.numbers[ENTAILED]), x.place)
            for x in again.answers(head, key[2], count=CANDIDATES)
        ]
        best = sorted(weighed, reverse=True)
        at = sides.places[head]
        place = rerank_spans(reading, sides.layout, key[1], at, key[2], best, models)
        answered.spans[key] = reading.text[slice(*place)]


def rerank_spans(
    reading: TextReading,
    layout: Layout,
    head: str,
    head_at: Place | None,
    relation: str,
    best: Sequence[tuple[float, Place]],
    models: TaskModels,
) -> Place:
    """Return the answer whose ends are good and which is a good tail of the head.

    If the models say so, it is the one from which most F1 is expected, were each answer right as
    often as its score says; the likeliest answer is often a part of several others.

    Args:
        reading: The text.
        layout: Its layout.
        head: The head span.
        head_at: Where it stands; None if it does not.
        relation: The relation asked for.
        best: Answers with their log scores, best first.
        models: The heads; those that read spans on their own take no part.
    """
    links = models.heads.links.in_context()
    if not models.rerank or links is None:
        return best[0][1]
    spans = [head, *(reading.text[place[0] : place[1]] for _, place in best)]
    sides = span_vectors(
        reading,
        layout,
        spans,
        alone=models.heads.encoder.encode,
        both=False,
        places=[head_at, *(place for _, place in best)],
    )
    numbers = links(sides, [(0, i) for i in range(1, len(spans))])[:, :, links.index(relation)]
    total = np.array(
        [
            score + models.rerank * float(row[ENTAILED] + row[OPTION])
            for (score, _), row in zip(best, numbers, strict=True)
        ]
    )
    return best[_chosen(total, spans[1:], models.expected)][1]


def _chosen(total: Array, answers: Sequence[str], expected: tuple[float, float]) -> int:
    """Return which answer to give: the likeliest, or the one from which most F1 is expected.

    Args:
        total: Log scores of the answers.
        answers: The answers.
        expected: What log scores are multiplied by before they are chances, and what the chance
            of an answer counts beside the F1 expected of it; 0 and 0 give the likeliest.
    """
    sharp, likely = expected
    if not sharp:
        return int(total.argmax())
    chances = np.exp(sharp * (total - total.max()))
    chances /= chances.sum()
    alike = np.array([[score_span(answer, other).f1 for other in answers] for answer in answers])
    return int((chances @ alike + likely * chances).argmax())
