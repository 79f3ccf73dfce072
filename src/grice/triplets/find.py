"""The links of a conversation: which stretches of it stand in which relation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError
from grice.records import Span
from grice.runtime.heads import sigmoid
from grice.triplets.heads import Sides
from grice.triplets.reading import read_texts
from grice.triplets.spotting import join_turns, slices, spot
from grice.triplets.structure import CUES, STRUCTURE, layout_of, structure

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from grice.records import Conversation
    from grice.runtime.protocols import TaggedSpan
    from grice.triplets.models import TripletModels
    from grice.triplets.records import Place
    from grice.triplets.spotting import Joined

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["Link", "find_links", "near_pairs"]

BEFORE = 3
"""Turns between head and tail at most: nine in ten annotated links are within."""
ENUMERATION = next(i for i, cue in enumerate(CUES) if "and" in cue)
"""The cues that only string words together."""
EVEN = 0.5
SENTENCE = 16
"""Which of the numbers of a pair says that both stand in one sentence."""
MOST_PAIRS = 600
"""Pairs of spans that are judged; of a longer conversation the nearest."""


class Link(msgspec.Struct, frozen=True):
    """A link between two stretches of a conversation.

    Attributes:
        conversation: Id of the conversation.
        head: What the head says.
        relation: One of CIDER's relations.
        tail: What the tail says.
        head_span: Where the head was said.
        tail_span: Where the tail was said.
        confidence: 0.5 where the link is as sure as few of its relation are in everyday talk, 1
            where it is far surer; no probability.
        explicit: Whether a connective within one sentence says it; else it is read between lines.
        source: ``triplets``, for files of knowledge.
    """

    conversation: str
    head: str
    relation: str
    tail: str
    head_span: Span
    tail_span: Span
    confidence: float
    explicit: bool
    source: str = "triplets"


def find_links(
    conversation: Conversation,
    models: TripletModels,
    *,
    least: float | None = None,
    most: int = 12,
    each: int = 3,
    implicit: bool = True,
    relations: Collection[str] = (),
) -> list[Link]:
    """Return the surest links of a conversation, in the order in which their heads were said.

    The conversation is read once; a pair of spans costs a small product.

    Args:
        conversation: Who speaks does not matter.
        models: The heads, with a tagger.
        least: Confidence at least; default: over 0.5, the models' own level.
        most: How many at most.
        each: How many of one relation at most.
        implicit: Whether links without a connective count.
        relations: Which relations count; all if empty.

    Raises:
        InputError: If the models have no tagger, or a bound is none.
    """
    if models.tagger is None:
        raise InputError("these models have no tagger: they answer tasks, they find no links")
    if min(most, each) < 1 or (least is not None and not 0 <= least <= 1):
        raise InputError(f"least={least}, most={most}: 0 to 1, and 1 or more")
    joined = join_turns(conversation)
    if not joined.text.strip():
        return []
    reading = read_texts([joined.text], models.encoder.hidden)[0]
    held = dict(slices(reading, joined))
    tagger = models.tagger(lambda texts: [held[text] for text in texts])

    def tag(texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        # A long turn is tagged in pieces, which were not read as such: it has no events then.
        return [
            tagger.tag([text])[0] if len(text) <= LONGEST_TURN and len(held[text].offsets) else ()
            for text in texts
        ]

    spotted = spot(joined, tag)
    places = [one.place for one in spotted]
    pairs = near_pairs(joined, places)
    if not pairs:
        return []
    sides = Sides(
        layout_of(joined.text), [joined.text[a:b] for a, b in places], places,
        np.asarray([reading.vector(place) for place in places], np.float32),
    )  # fmt: skip
    numbers = models.links(sides, pairs)
    events = [one.event for one in spotted]
    found = _chosen(conversation.id, joined, sides, pairs, numbers, events, models, least)
    if not implicit:
        found = [one for one in found if one.explicit]
    if relations:
        found = [one for one in found if one.relation in relations]
    kept = _distinct(sorted(found, key=lambda one: -one.confidence), each=each)[:most]
    return sorted(kept, key=lambda one: (one.head_span.turn, one.head_span.start))


KINDS = {
    "IsA": "tt", "HasA": "tt", "AtLocation": "?t", "LocatedNear": "tt", "UsedFor": "t?",
    "CapableOf": "te", "Desires": "t?", "HasProperty": "t?", "MannerOf": "ee",
    "HasSubevent": "ee", "Causes": "e?", "CausesDesire": "?e", "Implies": "e?",
    "HasPrerequisite": "e?", "MotivatedByGoal": "ee", "ObstructedBy": "e?", "SocialRule": "e?",
    "Before": "ee", "HappensIn": "?t", "Simutaneous": "ee", "NotCauses": "e?",
    "NotCausesDesire": "?e", "NotImplies": "e?", "NotMotivatedByGoal": "ee",
    "NotHasProperty": "t?", "NotIsA": "tt", "DependsOn": "??",
}  # fmt: skip
"""What a relation's head and tail can be: an event, a thing, or either."""

LONGEST_TURN = 600
"""Characters that the tagger reads at once."""


def near_pairs(joined: Joined, places: Sequence[Place]) -> list[tuple[int, int]]:
    """Return the pairs of stretches that are judged, head first."""
    found = []
    turns = [joined.turn(place) for place in places]
    for i, first in enumerate(places):
        for j, second in enumerate(places):
            apart = first[1] <= second[0] or second[1] <= first[0]
            if i != j and apart and abs(turns[i] - turns[j]) <= BEFORE:
                found.append((abs(first[0] - second[0]), i, j))
    return [(i, j) for _, i, j in sorted(found)[:MOST_PAIRS]]


def _chosen(
    name: str, joined: Joined, sides: Sides, pairs: Sequence[tuple[int, int]], numbers: Array,
    events: Sequence[bool], models: TripletModels, least: float | None,
) -> list[Link]:  # fmt: skip
    # Each relation has its own level, so that links of different ones can be compared.
    odds = numbers[:, 0] - np.asarray(models.levels or models.level, np.float32)
    likely = numbers[:, 2]
    fits = _fits(pairs, events, models.links.relations)
    best = np.where(fits, odds + _log_softmax(likely), -np.inf).argmax(axis=1)
    found = []
    for (a, b), row, relation in zip(pairs, odds, best, strict=True):
        confidence = float(sigmoid(row[relation]))
        if confidence <= EVEN if least is None else confidence < least:
            continue
        said = structure(
            sides.layout, sides.spans[a], sides.spans[b], sides.places[a], sides.places[b]
        )
        name_of = models.links.relations[relation]
        heads, tails = (_span(joined, sides.places[side]) for side in (a, b))
        together = bool(said[SENTENCE]) and heads.turn == tails.turn
        if "t" in KINDS.get(name_of, "") and not together:
            continue  # what a thing is, has, is for or where it is stands in one sentence
        found.append(
            Link(
                name, sides.spans[a], name_of, sides.spans[b],
                heads, tails, round(confidence, 4),
                together and _cued(said),
            )
        )  # fmt: skip
    return found


def _fits(
    pairs: Sequence[tuple[int, int]], events: Sequence[bool], relations: Sequence[str]
) -> NDArray[np.bool_]:
    """Say which relations can hold between an event or a thing and another."""
    kinds = [KINDS.get(name, "??") for name in relations]
    said = np.array(["e" if one else "t" for one in events])
    found = np.zeros((len(pairs), len(relations)), bool)
    for row, (a, b) in enumerate(pairs):
        sides = said[a], said[b]
        found[row] = [
            all(wanted in ("?", side) for wanted, side in zip(kind, sides, strict=True))
            for kind in kinds
        ]
    return found


def _log_softmax(values: Array) -> Array:
    shifted = values - values.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def _span(joined: Joined, place: Place | None) -> Span:
    if place is None:
        raise InputError("a link needs places")
    turn = joined.turn(place)
    start = joined.starts[turn]
    return Span(turn, place[0] - start, place[1] - start)


def _cued(said: Array) -> bool:
    cues = said[STRUCTURE - len(CUES) :]
    return bool(np.delete(cues, ENUMERATION).any())


def _distinct(links: Sequence[Link], *, each: int) -> list[Link]:
    """Keep the surest link between two stretches, whichever way, and so many of a relation."""
    counts: Counter[str] = Counter()
    seen: set[frozenset[str]] = set()
    kept = []
    for one in links:
        key = frozenset((one.head.lower(), one.tail.lower()))
        if len(key) == 2 and key not in seen and counts[one.relation] < each:
            counts[one.relation] += 1
            seen.add(key)
            kept.append(one)
    return kept
