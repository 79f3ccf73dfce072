"""Which conversations moved most between two runs, and through what evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError
from grice.evaluation.scores import read_scores
from grice.readers import read
from grice.records import Conversation, FeatureEvidence, Score, TripleEvidence, TurnEvidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.evaluation.table import Ids, MetricScores
    from grice.records import Evidence, Triple
    from grice.stats.inputs import Floats, Integers

ITEMS = 3
"""How many items are shown of a conversation that moved."""
CHANGES = 5
"""How many changes of evidence are kept per item."""


class EvidenceChange(msgspec.Struct, frozen=True):
    """One piece of evidence that differs."""

    what: str
    measure: str
    baseline: float | None
    other: float | None


class MovedItem(msgspec.Struct, frozen=True):
    """One item whose score changed.

    Attributes:
        changes: What it rests on, where that differs, the largest change first.
    """

    turn: int | None
    baseline: float
    other: float
    changes: tuple[EvidenceChange, ...]
    text: str = ""


class MovedConversation(msgspec.Struct, frozen=True):
    """One of the conversations that moved most.

    Attributes:
        difference: Mean of its scores in the second file less that in the first.
    """

    conversation: str
    difference: float
    items: tuple[MovedItem, ...]


class Joined(NamedTuple):
    """The items of one metric that are ``ok`` in both files."""

    items: Integers
    conversations: Integers
    baseline: Floats
    other: Floats

    @property
    def units(self) -> int:
        """How many conversations the items come from."""
        return len(np.unique(self.conversations))

    def furthest(self, most: int) -> list[tuple[int, float]]:
        """Return number and mean difference of the conversations that moved most."""
        if not len(self.items):
            return []
        numbers, codes = np.unique(self.conversations, return_inverse=True)
        means = np.bincount(codes, self.other - self.baseline) / np.bincount(codes)
        order = np.argsort(-np.abs(means), kind="stable")[:most]
        return [(int(numbers[i]), float(means[i])) for i in order if means[i] != 0]


def join(baseline: MetricScores, other: MetricScores) -> Joined:
    """Return the items that are ``ok`` on both sides."""
    items, a, b = np.intersect1d(
        baseline.items, other.items, assume_unique=True, return_indices=True
    )
    both = ~(np.isnan(baseline.values[a]) | np.isnan(other.values[b]))
    items, a, b = items[both], a[both], b[both]
    return Joined(items, baseline.conversations[a], baseline.values[a], other.values[b])


def moved_conversations(
    files: Sequence[str], joins: Mapping[str, Joined], ids: Ids, most: int, texts: str | None
) -> dict[str, tuple[MovedConversation, ...]]:
    """Return the conversations that moved most, by metric, furthest first."""
    furthest = {name: joined.furthest(most) for name, joined in joins.items()}
    wanted = {(name, number) for name, moved in furthest.items() for number, _ in moved}
    names = ids.names()
    evidence = [_whole_scores(file, ids, wanted) for file in files]
    turns = {} if texts is None else _texts(texts, {names[number] for _, number in wanted})
    return {
        name: tuple(
            MovedConversation(
                names[number],
                gap,
                tuple(_items(name, joins[name], number, evidence, turns.get(names[number], ()))),
            )
            for number, gap in moved
        )
        for name, moved in furthest.items()
    }


def _whole_scores(
    file: str, ids: Ids, wanted: set[tuple[str, int]]
) -> dict[tuple[str, int], Score]:
    """Return the scores of the conversations that moved, by metric and item."""
    return {
        (score.metric, ids.item(score.conversation, score.turn)): score
        for _, score in read_scores(file)
        if (score.metric, ids.number(score.conversation)) in wanted
    }


def _texts(file: str, wanted: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the turns of conversations, by id."""
    kept = {
        record.id: tuple(turn.text for turn in record.turns)
        for record in read(file)
        if isinstance(record, Conversation) and record.id in wanted
    }
    if wanted and not kept:
        raise InputError(
            f"{file}: none of the conversations that moved is in it, such as "
            f"{min(wanted)!r}; give the file that was scored"
        )
    return kept


def _items(
    metric: str,
    joined: Joined,
    number: int,
    evidence: Sequence[Mapping[tuple[str, int], Score]],
    turns: Sequence[str],
) -> list[MovedItem]:
    places = np.flatnonzero(joined.conversations == number)
    change = joined.other[places] - joined.baseline[places]
    items = []
    for place in places[np.argsort(-np.abs(change), kind="stable")][:ITEMS]:
        before, after = (scores[metric, int(joined.items[place])] for scores in evidence)
        items.append(
            MovedItem(
                before.turn,
                float(joined.baseline[place]),
                float(joined.other[place]),
                evidence_changes(before.evidence, after.evidence),
                "" if before.turn is None or before.turn >= len(turns) else turns[before.turn],
            )
        )
    return items


def evidence_changes(
    baseline: Sequence[Evidence], other: Sequence[Evidence]
) -> tuple[EvidenceChange, ...]:
    """Return the pieces whose value differs or that one side alone has, largest change first."""
    first, second = (dict(map(_measured, side)) for side in (baseline, other))
    changes = [
        EvidenceChange(*key, first.get(key), second.get(key))
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]
    return tuple(sorted(changes, key=_size, reverse=True)[:CHANGES])


def _size(change: EvidenceChange) -> float:
    return abs((change.other or 0.0) - (change.baseline or 0.0))


def _measured(piece: Evidence) -> tuple[tuple[str, str], float]:
    match piece:
        case TripleEvidence(plausibility=plausibility):
            return (describe(piece), "plausibility"), plausibility
        case TurnEvidence(effect=effect):
            return (describe(piece), "effect"), effect
        case FeatureEvidence(name=name, value=value, effect=effect):
            return ((name, "value"), value) if effect is None else ((name, "effect"), effect)


def worded(triple: Triple) -> str:
    """Return a triple in words."""
    return f"{triple.head} —{triple.relation}→ {triple.tail}"


def describe(piece: Evidence) -> str:
    """Return a piece in words."""
    match piece:
        case TripleEvidence(triple=triple):
            return worded(triple)
        case TurnEvidence(turn=turn):
            return f"turn {turn}"
        case FeatureEvidence(name=name):
            return name
