"""The links of a conversation: which stretches of it stand in which relation."""

from __future__ import annotations

from collections import Counter, deque
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.data import Span
from grice.errors import InputError, RecordError
from grice.numeric import sigmoid
from grice_tasks.cider.files import cider_schema
from grice_tasks.cider.models import Sides
from grice_tasks.cider.reading import layout_of, read_texts
from grice_tasks.cider.span_candidates import (
    explicit_links,
    find_candidates,
    informative,
    join_turns,
    slices,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from grice.data import Conversation
    from grice.models.protocols import TaggedSpan
    from grice_tasks.cider.files import Place
    from grice_tasks.cider.models import TripletModels
    from grice_tasks.cider.reading import TextReading
    from grice_tasks.cider.span_candidates import Joined, SpanCandidate

    Array: TypeAlias = NDArray[np.float32]

BEFORE = 3  # Turns between head and tail at most: nine in ten annotated links are within
EVEN = 0.5
SAID = 3.0  # Log odds that a connective adds: where people say "because", few links are wrong
CERTAIN = 0.75  # Probability of its relation from which on a link without a connective counts
ONLY_SAID = frozenset({"ObstructedBy"})
"""Relations found rightly only with "but": contrast is not hindrance."""
BLOCK = 8  # Conversations that are read together
MOST_PAIRS = 600  # Pairs of spans that are judged; of a longer conversation the nearest


class Link(msgspec.Struct, frozen=True):
    """A link between two stretches of a conversation."""

    conversation: str
    head: str
    relation: str
    tail: str
    head_span: Span
    tail_span: Span
    confidence: float
    explicit: bool  # whether a connective within one sentence says it
    source: str = "triplets"


class Found(NamedTuple):
    """Links found in a conversation."""

    links: list[Link]
    events: list[Span]  # where events were said, also those that say too little to be linked


class Wanted(msgspec.Struct, frozen=True):
    """Conditions on the returned links."""

    least: float | None = None  # confidence at least; None: over 0.5, the models' own level
    most: int = 12
    each: int = 3  # how many of one relation at most
    implicit: bool = True
    relations: frozenset[str] = frozenset()  # which relations count; all if empty


DEFAULT = Wanted()


def find_links(
    conversation: Conversation, models: TripletModels, wanted: Wanted = DEFAULT
) -> list[Link]:
    """Return the links of highest confidence, in the order in which their heads were said.

    The conversation is read once; a pair of spans costs a small product.
    """
    return next(find_all([conversation], models, wanted))


def find_all(
    conversations: Iterable[Conversation], models: TripletModels, wanted: Wanted = DEFAULT
) -> Iterator[list[Link]]:
    """Yield the links of each conversation, as :func:`find_links` does.

    Several conversations are read together, on as many cores as the encoder has.
    """
    return (found_in.links for found_in in read_all(conversations, models, wanted))


def read_all(
    conversations: Iterable[Conversation], models: TripletModels, wanted: Wanted = DEFAULT
) -> Iterator[Found]:
    """Yield links and events of each conversation; see :func:`find_all`."""
    if models.tagger is None:
        raise InputError("these models have no tagger: they answer tasks, they find no links")
    least = wanted.least
    if min(wanted.most, wanted.each) < 1 or (least is not None and not 0 <= least <= 1):
        raise InputError(f"least={least}, most={wanted.most}: 0 to 1, and 1 or more")
    read = iter(conversations)
    while block := list(islice(read, BLOCK)):
        joined = [join_turns(conversation) for conversation in block]
        readings = read_texts([text.text for text in joined], models.encoder.hidden)
        for conversation, text, reading in zip(block, joined, readings, strict=True):
            if not text.text.strip():
                yield Found([], [])
                continue
            stretches = candidates_of(text, reading, models)
            events = [_span(text, event.place) for event in stretches if event.event]
            telling = [stretch for stretch in stretches if informative(text.text, stretch)]
            yield Found(_links(conversation.id, text, reading, telling, models, wanted), events)


def _links(
    name: str,
    joined: Joined,
    reading: TextReading,
    stretches: Sequence[SpanCandidate],
    models: TripletModels,
    wanted: Wanted,
) -> list[Link]:
    places = [stretch.place for stretch in stretches]
    pairs = near_pairs(joined, places)
    if not pairs:
        return []
    sides = Sides(
        layout_of(joined.text),
        [joined.text[a:b] for a, b in places],
        places,
        np.asarray([reading.vector(place) for place in places], np.float32),
    )
    numbers = models.links(sides, pairs)
    links = [
        link
        for link in _chosen(name, joined, sides, pairs, numbers, stretches, models, wanted.least)
        if (link.explicit or wanted.implicit)
        and (not wanted.relations or link.relation in wanted.relations)
    ]
    ranked = sorted(links, key=lambda link: -link.confidence)
    chosen = _distinct(ranked, each=wanted.each)[: wanted.most]
    return sorted(chosen, key=lambda link: (link.head_span.turn, link.head_span.start))


def candidates_of(
    joined: Joined, reading: TextReading, models: TripletModels
) -> list[SpanCandidate]:
    """Return the stretches that may be linked; events are tagged on the states of the reading."""
    held = dict(slices(reading, joined))
    if models.tagger is None:
        return []
    tagger = models.tagger(lambda texts: [held[text] for text in texts])

    def tag(texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        # A long turn is tagged in pieces, which were not read as such: it has no events then.
        return [
            tagger.tag([text])[0] if len(text) <= LONGEST_TURN and len(held[text].offsets) else ()
            for text in texts
        ]

    return find_candidates(joined, tag)


KINDS = {
    "IsA": "tt",
    "HasA": "tt",
    "AtLocation": "?t",
    "LocatedNear": "tt",
    "UsedFor": "t?",
    "CapableOf": "te",
    "Desires": "t?",
    "HasProperty": "t?",
    "MannerOf": "ee",
    "HasSubevent": "ee",
    "Causes": "e?",
    "CausesDesire": "?e",
    "Implies": "e?",
    "HasPrerequisite": "e?",
    "MotivatedByGoal": "ee",
    "ObstructedBy": "e?",
    "SocialRule": "e?",
    "Before": "ee",
    "HappensIn": "?t",
    "Simutaneous": "ee",
    "NotCauses": "e?",
    "NotCausesDesire": "?e",
    "NotImplies": "e?",
    "NotMotivatedByGoal": "ee",
    "NotHasProperty": "t?",
    "NotIsA": "tt",
    "DependsOn": "??",
}
"""Types of a relation's head and tail: an event, a thing, or either."""

LONGEST_TURN = 600  # Characters that the tagger reads at once


def near_pairs(joined: Joined, places: Sequence[Place]) -> list[tuple[int, int]]:
    """Return the pairs of stretches that are judged, head first."""
    pairs = []
    turns = [joined.turn(place) for place in places]
    for i, first in enumerate(places):
        for j, second in enumerate(places):
            apart = first[1] <= second[0] or second[1] <= first[0]
            if i != j and apart and abs(turns[i] - turns[j]) <= BEFORE:
                pairs.append((abs(first[0] - second[0]), i, j))
    return [(i, j) for _, i, j in sorted(pairs)[:MOST_PAIRS]]


def _chosen(
    name: str,
    joined: Joined,
    sides: Sides,
    pairs: Sequence[tuple[int, int]],
    numbers: Array,
    stretches: Sequence[SpanCandidate],
    models: TripletModels,
    least: float | None,
) -> list[Link]:
    # Each relation has its own level, so that links of different ones can be compared.
    odds = numbers[:, 0] - np.asarray(models.levels or models.level, np.float32)
    shifted = numbers[:, 2] - numbers[:, 2].max(axis=1, keepdims=True)
    likely = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    relations = models.links.relations
    fits = fitting(pairs, [stretch.event for stretch in stretches], relations)
    best = np.where(fits, odds + likely, -np.inf).argmax(axis=1)
    explicit = {
        (link.head, link.tail): link.relation
        for link in explicit_links(joined, stretches, models.nouns)
    }
    links = []
    for pair, row, sure, relation in zip(pairs, odds, likely, best.tolist(), strict=True):
        cued = pair in explicit
        place = relations.index(explicit[pair]) if cued else relation
        confidence = float(sigmoid(row[place] + (SAID if cued else 0.0)))
        if confidence <= EVEN if least is None else confidence < least:
            continue
        heads, tails = (_span(joined, sides.places[side]) for side in pair)
        if not cued and (sure[place] < np.log(CERTAIN) or heads.turn > tails.turn):
            continue
        if not cued and relations[place] in ONLY_SAID:
            continue
        if not cued and "t" in KINDS.get(relations[place], "") and heads.turn != tails.turn:
            continue  # what a thing is, has, is for or where it is stands in one turn
        links.append(
            Link(
                name,
                sides.spans[pair[0]],
                relations[place],
                sides.spans[pair[1]],
                heads,
                tails,
                round(confidence, 4),
                cued,
            )
        )
    return links


def fitting(
    pairs: Sequence[tuple[int, int]], events: Sequence[bool], relations: Sequence[str]
) -> NDArray[np.bool_]:
    """Say which relations can hold between an event or a thing and another."""
    kinds = [KINDS.get(name, "??") for name in relations]
    event = np.asarray(events, bool)
    allowed = {"e": event, "t": ~event, "?": np.ones(len(event), bool)}
    heads = np.stack([allowed[kind[0]] for kind in kinds], axis=1)
    tails = np.stack([allowed[kind[1]] for kind in kinds], axis=1)
    places = np.asarray(pairs, np.int64).reshape(-1, 2)
    return np.asarray(heads[places[:, 0]] & tails[places[:, 1]], bool)


def _span(joined: Joined, place: Place | None) -> Span:
    if place is None:
        raise InputError("a link needs places")
    turn = joined.turn(place)
    start = joined.starts[turn]
    return Span(turn, place[0] - start, place[1] - start)


def _distinct(links: Sequence[Link], *, each: int) -> list[Link]:
    """Keep the best link between two spans in either direction, and ``each`` of a relation."""
    counts: Counter[str] = Counter()
    seen: set[frozenset[str]] = set()
    distinct = []
    for link in links:
        key = frozenset((link.head.lower(), link.tail.lower()))
        if len(key) == 2 and key not in seen and counts[link.relation] < each:
            counts[link.relation] += 1
            seen.add(key)
            distinct.append(link)
    return distinct


class ConversationLinks(NamedTuple):
    """A conversation with its links, in the order in which their heads were said."""

    conversation: Conversation
    links: list[Link]


def wanted_links(
    relations: Sequence[str] = (),
    *,
    least: float | None = None,
    most: int = 12,
    implicit: bool = True,
) -> Wanted:
    """Return which links are wanted; see :class:`grice_tasks.cider.find.Wanted`."""
    for name in relations:
        cider_schema()[name]
    return Wanted(least=least, most=most, implicit=implicit, relations=frozenset(relations))


def links_of_records(
    records: Iterable[Conversation | RecordError], models: TripletModels, wanted: Wanted
) -> Iterator[ConversationLinks | RecordError]:
    """Yield the links of each conversation, and the records that could not be read as they come.

    Conversations are read a few at a time: memory does not grow with their number.
    """
    read: deque[Conversation] = deque()
    broken: deque[RecordError] = deque()

    def readable() -> Iterator[Conversation]:
        for record in records:
            if isinstance(record, RecordError):
                broken.append(record)
            else:
                read.append(record)
                yield record

    for links in find_all(readable(), models, wanted):
        while broken:
            yield broken.popleft()
        yield ConversationLinks(read.popleft(), links)
    yield from broken
