"""The links of a conversation: which spans of it stand in which relation; a page of them."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

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
from grice_tasks.pages import render_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from grice.data import Conversation
    from grice.models.protocols import TaggedSpan
    from grice_tasks.cider.files import Place
    from grice_tasks.cider.models import TripletModels
    from grice_tasks.cider.reading import TextReading
    from grice_tasks.cider.span_candidates import Joined, SpanCandidate

BEFORE = 3  # turns between head and tail at most: nine in ten annotated links are within
EVEN = 0.5
CONNECTIVE = 3.0  # log odds that a connective adds: where people say "because", few are wrong
CERTAIN = 0.75  # probability of its relation from which on a link without a connective counts
ONLY_EXPLICIT = frozenset({"ObstructedBy"})
"""Relations found rightly only with "but": contrast is not hindrance."""
BLOCK = 8  # conversations that are read together
MOST_PAIRS = 600  # pairs of spans that are judged; of a longer conversation the nearest
LONGEST_TURN = 600  # characters that the tagger reads at once
_RELATIONS = {
    "tt": "IsA HasA LocatedNear NotIsA",
    "?t": "AtLocation HappensIn",
    "t?": "UsedFor Desires HasProperty NotHasProperty",
    "te": "CapableOf",
    "ee": "MannerOf HasSubevent MotivatedByGoal Before Simutaneous NotMotivatedByGoal",
    "e?": "Causes Implies HasPrerequisite ObstructedBy SocialRule NotCauses NotImplies",
    "?e": "CausesDesire NotCausesDesire",
    "??": "DependsOn",
}
KINDS = {name: kinds for kinds, names in _RELATIONS.items() for name in names.split()}
"""Types of a relation's head and tail: an event, a thing, or either."""


class Link(msgspec.Struct, frozen=True):
    """A link between two spans of a conversation.

    A confidence of 0.5 is that of one pair in a thousand of its relation in everyday talk, a
    connective counted; it is no probability.
    """

    conversation: str
    head: str
    relation: str
    tail: str
    head_span: Span
    tail_span: Span
    confidence: float
    explicit: bool  # whether a connective within one sentence says it
    source: str = "triplets"


class Wanted(msgspec.Struct, frozen=True):
    """Conditions on the returned links."""

    least: float | None = None  # confidence at least; None: over 0.5, the models' own level
    most: int = 12
    each: int = 3  # how many of one relation at most
    implicit: bool = True
    relations: tuple[str, ...] = ()  # which relations count; all if empty

    def __post_init__(self) -> None:
        """Refuse limits out of range and unknown relations."""
        if min(self.most, self.each) < 1 or not 0 <= (self.least or 0) <= 1:
            raise InputError(f"least={self.least}, most={self.most}: 0 to 1, and 1 or more")
        for name in self.relations:
            cider_schema()[name]


class ConversationLinks(NamedTuple):
    """A conversation with its links, in the order in which their heads were said."""

    conversation: Conversation
    links: list[Link]


def find_links(
    records: Iterable[Conversation | RecordError],
    models: TripletModels,
    wanted: Wanted = Wanted(),  # noqa: B008 - frozen
) -> Iterator[ConversationLinks | RecordError]:
    """Yield the links of highest confidence of each conversation; errors pass through."""
    if models.tagger is None:
        raise InputError("these models have no tagger: they answer tasks, they find no links")
    remaining = iter(records)
    while block := list(islice(remaining, BLOCK)):
        texts = [join_turns(item) for item in block if not isinstance(item, RecordError)]
        readings = iter(read_texts([text.text for text in texts], models.encoder.hidden_states))
        joined = iter(texts)
        for item in block:
            if isinstance(item, RecordError):
                yield item
            else:
                links = _links(item.id, next(joined), next(readings), models, wanted)
                yield ConversationLinks(item, links)


def _links(
    name: str, joined: Joined, reading: TextReading, models: TripletModels, wanted: Wanted
) -> list[Link]:
    if not joined.text.strip():
        return []
    candidates = [
        candidate
        for candidate in candidates_of(joined, reading, models)
        if informative(joined.text, candidate)
    ]
    places = [candidate.place for candidate in candidates]
    pairs = near_pairs(joined, places)
    if not pairs:
        return []
    texts = [joined.text[start:end] for start, end in places]
    vectors = np.asarray([reading.vector(place) for place in places], np.float32)
    numbers = models.links(Sides(layout_of(joined.text), texts, places, vectors), pairs)
    # Each relation has its own level, so that links of different ones can be compared.
    odds = numbers[:, 0] - np.asarray(models.levels or models.level, np.float32)
    shifted = numbers[:, 2] - numbers[:, 2].max(axis=1, keepdims=True)
    likely = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    relations = models.links.relations
    fits = fitting(pairs, [candidate.event for candidate in candidates], relations)
    best = np.where(fits, odds + likely, -np.inf).argmax(axis=1)
    explicit = {
        (link.head, link.tail): relations.index(link.relation)
        for link in explicit_links(joined, candidates, models.nouns)
    }
    spans = [joined.span(place) for place in places]
    links = []
    for (head, tail), row, sure, implied in zip(pairs, odds, likely, best.tolist(), strict=True):
        said = explicit.get((head, tail))
        number = implied if said is None else said
        relation = relations[number]
        if wanted.relations and relation not in wanted.relations:
            continue
        implicit = wanted.implicit and sure[number] >= np.log(CERTAIN)
        if said is None and not (implicit and _may_be_implicit(relation, spans[head], spans[tail])):
            continue
        confidence = float(sigmoid(row[number] + (0.0 if said is None else CONNECTIVE)))
        if confidence <= EVEN if wanted.least is None else confidence < wanted.least:
            continue
        ends = texts[head], relation, texts[tail], spans[head], spans[tail]
        links.append(Link(name, *ends, round(confidence, 4), said is not None))
    links.sort(key=lambda link: -link.confidence)
    chosen = _distinct(links, wanted.each)[: wanted.most]
    return sorted(chosen, key=lambda link: (link.head_span.turn, link.head_span.start))


def _may_be_implicit(relation: str, head: Span, tail: Span) -> bool:
    """Return whether a relation may hold without a connective."""
    if head.turn > tail.turn or relation in ONLY_EXPLICIT:
        return False
    # Properties, purposes and places of a thing are stated in one turn.
    return head.turn == tail.turn or "t" not in KINDS.get(relation, "")


def candidates_of(
    joined: Joined, reading: TextReading, models: TripletModels
) -> list[SpanCandidate]:
    """Return the spans that may be linked; events are tagged on the states of the reading."""
    if models.tagger is None:
        return []
    held = dict(slices(reading, joined))
    tagger = models.tagger(lambda texts: [held[text] for text in texts])

    def tag(texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        # A long turn is tagged in pieces, which were not read as such: it has no events then.
        return [
            tagger.tag([text])[0] if len(text) <= LONGEST_TURN and len(held[text].offsets) else ()
            for text in texts
        ]

    return find_candidates(joined, tag)


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


def _distinct(links: Sequence[Link], each: int) -> list[Link]:
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


def links_page(conversations: Iterable[tuple[Conversation, Sequence[Link]]]) -> str:
    """Return an HTML page with every conversation and a table of its links."""
    return render_page(
        "links",
        "Commonsense links",
        conversations=[
            (
                conversation,
                [
                    (turn.speaker, list(_pieces(turn.text, number, links)))
                    for number, turn in enumerate(conversation.turns)
                ],
                links,
            )
            for conversation, links in conversations
        ],
    )


def _pieces(text: str, turn: int, links: Sequence[Link]) -> Iterator[tuple[str, str, str]]:
    """Yield pieces of a turn, each with the numbers of the links whose head and tail hold it."""
    heads = [(n, link.head_span) for n, link in enumerate(links) if link.head_span.turn == turn]
    tails = [(n, link.tail_span) for n, link in enumerate(links) if link.tail_span.turn == turn]
    ends = {at for _, span in (*heads, *tails) for at in (span.start, span.end)}
    for start, end in pairwise(sorted({0, len(text), *ends})):
        of_head, of_tail = (
            " ".join(str(n) for n, span in spans if span.start <= start and end <= span.end)
            for spans in (heads, tails)
        )
        yield text[start:end], of_head, of_tail
