"""Commonsense: are the events of this reply plausibly related?

After ACCENT (Ghazarian et al., Findings of ACL 2023): read event triples from the reply and the
turn before it, ask how plausible each is, and take the mean. ACCENT writes its triples with a
fine-tuned T5 and asks COMET for tails; here a tagger finds the events, a small network says how
two of them may be related, and a second one, fitted on known triples, says how plausible that is.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from grice.metrics.declaration import Example, metric
from grice.records import Judgement, KnownTail, Span, Triple, TripleEvidence
from grice.text.events import Event, read_events, triple_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.records import Response
    from grice.runtime.protocols import Encoder, SpanTagger, TaggedSpan

__all__ = ["commonsense"]

NEUTRAL = 0.5
EVENTS = 8
"""Most events read per turn, the surest ones; pairs grow with the square."""

CHARACTERS = 3000
"""Characters read of a turn, from its beginning: more than anybody says at once."""

ABOUT_ANYONE = ("isAfter", "HasSubEvent", "HinderedBy")
"""Relations whose tail may be about anyone or anything; x-relations have a tail about PersonX,
o-relations one about PersonY."""


class Knowledge(Protocol):
    """Known triples; see :class:`grice.knowledge.store.KnowledgeStore`."""

    def best_known(
        self, triples: Sequence[Triple], *, encoder: Encoder
    ) -> list[KnownTail | None]: ...


class Plausibility(Protocol):
    """Judges triples; see :class:`grice.knowledge.plausibility.TripleHead`."""

    typed: tuple[str, ...]

    def plausibility(
        self, triples: Sequence[Triple], known: Sequence[KnownTail | None] | None = None
    ) -> list[float]: ...
    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, float]]: ...


class Said(NamedTuple):
    """An event, where it was said, and whether the reply says it."""

    event: Event
    span: Span
    own: bool


class Candidate(NamedTuple):
    """A head and a tail in ATOMIC's wording, with their places."""

    head: str
    tail: str
    head_span: Span
    tail_span: Span


@metric(
    "commonsense",
    version="1",
    summary="Are the events of this reply plausibly related?",
    judges="response",
    models={
        "tagger": "bundle:events",
        "plausibility": "bundle:plausibility",
        "knowledge": "bundle:atomic",
        "encoder": "bundle:encoder",
    },
    source="After ACCENT (Ghazarian et al., Findings of ACL 2023).",
    neutral=NEUTRAL,
    default=True,
    example=Example(
        ["What do you do?", "I just got fired because I made a mistake at work."], 0.5, 1.0
    ),
)
def commonsense(
    responses: Sequence[Response],
    *,
    tagger: SpanTagger,
    plausibility: Plausibility,
    knowledge: Knowledge,
    encoder: Encoder,
    history: int = 1,
    threshold: float = 0.1,
) -> list[Judgement]:
    """Return the mean plausibility of the triples of events that each reply holds.

    A triple joins two events of the reply, or one of the reply and one of the turn before it.
    Each relation is read at most once, at its most probable pair, and each pair of events at
    most once, under its most probable relation. The evidence is every triple with its place,
    its plausibility and the most similar triple that is known.

    Args:
        history: How many turns before the reply events are read from.
        threshold: Probability from which a relation between two events is believed.
    """
    said, cut = _said(responses, tagger, history)
    candidates = [_candidates(events) for events in said]
    pairs = list(dict.fromkeys((c.head, c.tail) for each in candidates for c in each))
    probabilities = dict(zip(pairs, plausibility.relations(pairs), strict=True))
    chosen = [_chosen(each, probabilities, plausibility.typed, threshold) for each in candidates]

    bare = {
        triple: Triple(triple.head, triple.relation, triple.tail)
        for triples in chosen
        for triple in triples
    }
    distinct = list(dict.fromkeys(bare.values()))
    nearest = knowledge.best_known(distinct, encoder=encoder)
    known = dict(zip(distinct, nearest, strict=True))
    values = dict(zip(distinct, plausibility.plausibility(distinct, nearest), strict=True))
    return [
        _judgement(
            [
                TripleEvidence(triple, values[bare[triple]], known[bare[triple]])
                for triple in triples
            ],
            len(events),
            flags=("truncated",) if shortened else (),
        )
        for triples, events, shortened in zip(chosen, said, cut, strict=True)
    ]


def _said(
    responses: Sequence[Response], tagger: SpanTagger, history: int
) -> tuple[list[list[Said]], list[bool]]:
    """Return the events of each reply and its history, and whether some were left out."""
    turns = [
        [
            *zip(response.positions, response.history, strict=True),
        ][max(0, len(response.history) - history) :]
        for response in responses
    ]
    texts = list(
        dict.fromkeys(
            [response.text for response in responses]
            + [turn.text for each in turns for _, turn in each]
        )
    )
    spans = dict(zip(texts, tagger.tag([text[:CHARACTERS] for text in texts]), strict=True))
    found, cut = [], []
    for response, earlier in zip(responses, turns, strict=True):
        events = _events(response.text, spans[response.text], response.turn, own=True)
        for position, turn in earlier:
            own_speaker = turn.speaker == response.speaker
            events += _events(
                turn.text, spans[turn.text], position, own=False, responder=own_speaker
            )
        found.append(events)
        read = [response.text, *(turn.text for _, turn in earlier)]
        cut.append(any(len(text) > CHARACTERS or len(spans[text]) > EVENTS for text in read))
    return found, cut


def _events(
    text: str, spans: tuple[TaggedSpan, ...], turn: int, *, own: bool, responder: bool = True
) -> list[Said]:
    surest = sorted(sorted(spans, key=lambda span: -span.confidence)[:EVENTS])
    places = [(span.start, span.end) for span in surest]
    said_by: Literal["responder", "previous"] = "responder" if responder else "previous"
    events = read_events(text[:CHARACTERS], places, said_by=said_by)
    return [
        Said(event, Span(turn, start, end), own)
        for event, (start, end) in zip(events, places, strict=True)
        if event.words
    ]


def _candidates(events: Sequence[Said]) -> list[Candidate]:
    """Return all ordered pairs of different events of which the reply says at least one."""
    found = []
    for head, tail in permutations(events, 2):
        if head.own or tail.own:
            texts = triple_texts(head.event, tail.event)
            if all(texts) and texts[0] != texts[1]:
                found.append(Candidate(*texts, head.span, tail.span))
    return found


def _chosen(
    candidates: Sequence[Candidate],
    probabilities: dict[tuple[str, str], dict[str, float]],
    relations: tuple[str, ...],
    threshold: float,
) -> list[Triple]:
    """Return at most one triple per relation and per pair of events, the most probable first."""
    ranked = sorted(
        (
            (probabilities[candidate.head, candidate.tail][relation], candidate, relation)
            for candidate in candidates
            for relation in relations
            if _fits(relation, candidate.tail)
        ),
        key=lambda entry: -entry[0],
    )
    triples: list[Triple] = []
    used: set[str | frozenset[Span]] = set()
    for probability, candidate, relation in ranked:
        places = frozenset((candidate.head_span, candidate.tail_span))
        if probability < threshold:
            break
        if relation not in used and places not in used:
            used |= {relation, places}
            triples.append(
                Triple(
                    candidate.head,
                    relation,
                    candidate.tail,
                    candidate.head_span,
                    candidate.tail_span,
                )
            )
    return triples


def _fits(relation: str, tail: str) -> bool:
    if relation in ABOUT_ANYONE:
        return True
    return tail.startswith("PersonY" if relation.startswith("o") else "PersonX")


def _judgement(evidence: list[TripleEvidence], events: int, flags: tuple[str, ...]) -> Judgement:
    if not evidence:
        reason = "no event was found" if not events else "no two events are related"
        return Judgement(NEUTRAL, "abstained", reason, flags)
    value = sum(item.plausibility for item in evidence) / len(evidence)
    least = min(evidence, key=lambda item: item.plausibility).triple
    reason = f"least plausible: {least.head} — {least.relation} — {least.tail}"
    return Judgement(value, "ok", reason, flags, tuple(evidence))
