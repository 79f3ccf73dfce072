"""CIDER as a task: links found in a dialogue, held against those of people.

A link counts as found if head and tail each share half of their characters, or more, with those of
a link of people (intersection over union), whichever way round.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from grice.data import Conversation, Turn
from grice.errors import RecordError
from grice.stats import mean
from grice.text.content import sentences
from grice_tasks.cider.files import read_dialogues
from grice_tasks.cider.find import find_links
from grice_tasks.cider.models import TripletModels
from grice_tasks.cider.statistics import turn_starts
from grice_tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.data import Span
    from grice.stats.estimate import Estimate
    from grice_tasks.cider.files import Dialogue, Place

HALF = 0.5
"""Least intersection over union of the characters of two spans that are the same."""


class PlacedLink(NamedTuple):
    """A link by where its sides stand in the text of the dialogue."""

    head: Place
    relation: str
    tail: Place


def _predict(models: TripletModels, dialogues: Sequence[Dialogue]) -> list[list[PlacedLink]]:
    """Return the links that ``grice cider`` finds by default."""
    found = find_links(map(conversation_of, dialogues), models)
    return [
        [
            PlacedLink(_at(link.head_span, turns), link.relation, _at(link.tail_span, turns))
            for link in item.links
        ]
        for item, turns in zip(found, map(_turns, dialogues), strict=True)
        if not isinstance(item, RecordError)
    ]


def _score(
    dialogues: Sequence[Dialogue], answers: Sequence[Sequence[PlacedLink]]
) -> dict[str, Estimate]:
    """Return shares of the links that people have, with their relation, and of theirs found."""
    shares: dict[str, list[float]] = {"sides": [], "sides_and_relation": [], "recall": []}
    groups: dict[str, list[str]] = {name: [] for name in shares}
    for dialogue, links in zip(dialogues, answers, strict=True):
        gold = [
            PlacedLink(triplet.head_at, triplet.relation, triplet.tail_at)
            for triplet in dialogue.triplets
            if triplet.head_at is not None and triplet.tail_at is not None
        ]
        for link in links:
            same = [other for other in gold if _same_sides(link, other)]
            shares["sides"].append(float(bool(same)))
            agree = any(other.relation == link.relation for other in same)
            shares["sides_and_relation"].append(float(agree))
        shares["recall"] += [float(any(_same_sides(own, g) for own in links)) for g in gold]
        for name, values in shares.items():
            groups[name] += [dialogue.id] * (len(values) - len(groups[name]))
    return {
        name: mean(values, groups=groups[name], bounds=(0, 1))
        for name, values in shares.items()
        if values
    }


def _baselines(dialogues: Sequence[Dialogue]) -> dict[str, list[list[PlacedLink]]]:
    """Return each sentence as what causes the next one, and each turn."""
    stretches = [
        [
            (start + one.start, start + one.end)
            for start, end in _turns(dialogue)
            for one in sentences(dialogue.text[start:end])
        ]
        for dialogue in dialogues
    ]
    return {
        "neighbouring sentences": [_caused(places) for places in stretches],
        "neighbouring turns": [_caused(_turns(dialogue)) for dialogue in dialogues],
    }


def _caused(places: Sequence[Place]) -> list[PlacedLink]:
    return [PlacedLink(first, "Causes", second) for first, second in pairwise(places)]


def conversation_of(dialogue: Dialogue) -> Conversation:
    """Return the turns of a dialogue without their speakers' marks."""
    turns = [
        Turn("AB"[number % 2], dialogue.text[start:end])
        for number, (start, end) in enumerate(_turns(dialogue))
    ]
    return Conversation(dialogue.id, tuple(turns))


def _turns(dialogue: Dialogue) -> list[Place]:
    """Return where each turn stands in the text, behind its speaker."""
    text, begins = dialogue.text, turn_starts(dialogue.text)
    starts = [begin + text[begin:].find(":") + 1 for begin in begins]
    return list(zip(starts, [*begins[1:], len(text)], strict=True))


def _at(span: Span, turns: Sequence[Place]) -> Place:
    start = turns[span.turn][0]
    return start + span.start, start + span.end


def _same_sides(link: PlacedLink, other: PlacedLink) -> bool:
    return any(
        _shared(first, other.head) >= HALF and _shared(second, other.tail) >= HALF
        for first, second in ((link.head, link.tail), (link.tail, link.head))
    )


def _shared(first: Place, second: Place) -> float:
    """Return the common characters of two places over those of both.

    >>> _shared((0, 10), (5, 10)), _shared((0, 10), (10, 20)), _shared((3, 3), (3, 3))
    (0.5, 0.0, 0.0)
    """
    common = min(first[1], second[1]) - max(first[0], second[0])
    whole = max(first[1], second[1]) - min(first[0], second[0])
    return max(common, 0) / whole if whole else 0.0


TASK = Task(
    "cider",
    lambda path: read_dialogues(path).dialogues,
    lambda models: models.load("builtin:triplets", TripletModels),
    _predict,
    _score,
    _baselines,
)
