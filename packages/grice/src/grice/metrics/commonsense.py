"""Commonsense: are the events of this reply plausibly related?

After ACCENT (Ghazarian et al., Findings of ACL 2023): extract event triples from the reply and the
turn before it, score how well each agrees with a knowledge base, and pool the scores. ACCENT writes
its triples with a fine-tuned T5 and compares their tails with those that COMET generates; here
grice's own extractor finds them, and a small network fitted on known triples scores them. By
default an implausible triple weighs more than a plausible one, where ACCENT takes the mean, and a
language model reads the reply as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from grice.data import (
    Evidence,
    FeatureEvidence,
    Judgement,
    KnownTail,
    Response,
    Span,
    Triple,
    TripleEvidence,
)
from grice.knowledge.schema import head_text, load_schema, tail_text
from grice.metrics.common import unscorable_reply, unsupported_reply
from grice.metrics.declaration import Count, Example, Fraction, metric
from grice.models.protocols import Encoder, FlawModel, encode_distinct
from grice.numeric import sigmoid, unit_cosine

if TYPE_CHECKING:
    from grice.knowledge.events import Place
    from grice.knowledge.extraction import (
        ContextResponse,
        ExtractedTriple,
        Extraction,
        TripleExtractor,
        TripleKind,
    )
    from grice.knowledge.plausibility import TripleHead
    from grice.knowledge.store import KnowledgeBase

NEUTRAL = 0.5  # also ACCENT's score of a reply without a triple
NOT_WHOLE = "no related events in whole clauses about people"
LEAST = 0.01
"""Least plausibility in a harmonic mean: a cosine may be 0, which would decide everything."""
SENSELESS = "nonsense"  # flaw of the model that reads whole replies
OPPOSED = 0.2  # share of its plausibility that a triple keeps if the opposite is known
NEAR_HEAD, NEAR_TAIL = 0.7, 0.5  # least similarities of what is shown as nearest known
SAME_TAIL = 0.8  # and beside a plausible triple: at .5 to .8 half of the tails spoke against it
TAILS = 10  # tails asked of knowledge that generates them, as many as ACCENT has COMET write


@metric(
    "commonsense",
    version="7",
    summary="Are the events of this reply plausibly related?",
    judges="response",
    models={
        "extractor": "builtin:extraction",
        "plausibility": "builtin:plausibility",
        "knowledge": "builtin:atomic",
        "encoder": "builtin:encoder",
        "judge": "builtin:sense-small",
        "opening_judge": "",
    },
    accepts={
        "plausibility": ("plausibility of triples", "knowledge"),
        "judge": ("flaws", "rubric"),
        "opening_judge": ("flaws",),
    },
    protocols={"judge": FlawModel, "opening_judge": FlawModel},
    source="After ACCENT (Ghazarian et al., Findings of ACL 2023).",
    neutral=NEUTRAL,
    example=Example(
        ["What do you do?", "I just got fired because I made a mistake at work."], 0.3, 1.0
    ),
)
def commonsense(
    responses: Sequence[Response],
    *,
    extractor: TripleExtractor,
    plausibility: TripleHead | KnowledgeBase,
    knowledge: KnowledgeBase,
    encoder: Encoder,
    judge: FlawModel | None = None,
    opening_judge: FlawModel | None = None,
    scope: Literal["both", "single", "pair"] = "both",
    aggregation: Literal["harmonic-mean", "mean"] = "harmonic-mean",
    max_triples: Count = 3,
    min_confidence: Fraction = 0.5,
) -> Iterator[Judgement]:
    """Return the plausibility of the reply's event triples, beside that of the reply as a whole.

    A triple relates two events of the reply, or one of the reply and one of the turn before it. The
    plausibilities of a reply's triples are pooled. One whose head is known with the opposite tail
    keeps a fifth of its plausibility. A model of flaws, a larger one in the presets ``medium`` and
    ``large``, gives the probability that the reply is not senseless: the value is the harmonic mean
    of both. In ``large`` it also reads a first turn, which stands alone. Without a model
    (``--commonsense-judge ''``) the metric abstains on a reply without a triple. The evidence is
    every triple with its span in the text, its plausibility and a known triple that is near or
    opposes it.

    When to use it:
        To see which events a reply relates, and to check each relation against a knowledge base.

    When not to:
        To find nonsensical replies by triples alone: on pairs of a sensible and a senseless reply
        they are right no more often than the similarity to the last turn (``grice bench
        commonsense-pairs``). ``sensibleness`` needs no triples.

    Args:
        scope: Triples of the reply alone (``single``), with the turn before (``pair``), or both.
        aggregation: How plausibilities are pooled; ACCENT takes their mean.
        max_triples: Maximum triples per reply, one per event pair; truncated clauses and inanimate
            subjects are skipped.
        min_confidence: Minimum extraction confidence.
    """
    from grice.knowledge.plausibility import TripleHead

    kinds: tuple[TripleKind, ...] = ("single", "pair") if scope == "both" else (scope,)
    exchanges = list(map(exchange_of, responses))
    extracted = extractor.extract(exchanges, kinds=kinds, least=min_confidence)
    extractions = [_most_confident(each, max_triples) for each in extracted]
    distinct = list(dict.fromkeys(_bare(triple) for each in extractions for triple in each.triples))
    nearest = nearest_known(distinct, knowledge, encoder)
    known = [nearest] if isinstance(plausibility, TripleHead) else []
    plausibilities = plausibility.plausibility(distinct, *known)
    contrary = knowledge.opposing(distinct) if hasattr(knowledge, "opposing") else []
    near = map(_near, nearest, plausibilities)
    found = dict(zip(distinct, zip(plausibilities, near, strict=True), strict=True))
    for triple, opposite in zip(distinct, contrary, strict=False):
        if opposite is not None:
            found[triple] = (OPPOSED * found[triple][0], opposite)
    pool = mean_score if aggregation == "mean" else harmonic_mean_score
    openings = [each for each in responses if not each.history]
    opening_chances = iter(_senseless(openings, opening_judge, unsupported_reply))
    chances = [
        chance if response.history else next(opening_chances)
        for response, chance in zip(responses, _senseless(responses, judge), strict=True)
    ]
    for response, extraction, senseless in zip(responses, extractions, chances, strict=True):
        triples = [
            TripleEvidence(_placed(triple, response), *found[_bare(triple)])
            for triple in extraction.triples
        ]
        value = pool([triple.plausibility for triple in triples])
        yield _judgement(triples, extraction, value, senseless)


def _near(known: KnownTail | None, plausibility: float) -> KnownTail | None:
    """Return a known tail if it is near enough to be called the nearest known."""
    least = SAME_TAIL if plausibility >= NEUTRAL else NEAR_TAIL
    near = known and known.head_similarity >= NEAR_HEAD and known.tail_similarity >= least
    return known if near else None


def exchange_of(response: Response) -> ContextResponse:
    """Return what is read of a reply and the turn before it."""
    from grice.knowledge.extraction import ContextResponse

    if not response.history:
        return ContextResponse("", response.text)
    last = response.history[-1]
    return ContextResponse(last.text, response.text, last.speaker == response.speaker)


def _most_confident(extraction: Extraction, most: int) -> Extraction:
    """Keep the most confident triples of whole clauses, one between the same two events.

    Of several relations between the same events, mostly only one is correct.
    """
    chosen: list[ExtractedTriple] = []
    seen: set[frozenset[Place | str]] = set()
    for triple in extraction.triples:
        ends = (triple.head_place or triple.head, triple.tail_place or triple.tail)
        same = {frozenset(ends), frozenset((triple.head, triple.tail))}
        if triple.whole and seen.isdisjoint(same):
            chosen.append(triple)
        seen |= same if triple.whole else set()
    reason = extraction.reason if chosen[:most] or not extraction.triples else NOT_WHOLE
    return replace(extraction, triples=tuple(chosen[:most]), reason=reason)


def _bare(triple: ExtractedTriple) -> Triple:
    return Triple(triple.head, triple.relation, triple.tail)


def _placed(triple: ExtractedTriple, response: Response) -> Triple:
    turns = {"reply": response.turn, "previous": (response.positions or (0,))[-1]}
    head, tail = (
        place and Span(turns[place.turn], place.start, place.end)
        for place in (triple.head_place, triple.tail_place)
    )
    return replace(_bare(triple), head_span=head, tail_span=tail)


def _senseless(
    responses: Sequence[Response],
    judge: FlawModel | None,
    reason_against: Callable[[Response], str | None] = unscorable_reply,
) -> list[float | None]:
    """Return the probability that each reply is senseless; None where it cannot be judged."""
    readable = [response for response in responses if reason_against(response) is None]
    if judge is None or not readable:
        return [None] * len(responses)
    head = judge.flaws.index(SENSELESS) if SENSELESS in judge.flaws else 0
    chances = iter(sigmoid(judge.log_odds(readable)[:, head]).tolist())
    return [next(chances) if reason_against(each) is None else None for each in responses]


def _judgement(
    triples: list[TripleEvidence], extraction: Extraction, value: float, senseless: float | None
) -> Judgement:
    if not triples and senseless is None:
        return Judgement(NEUTRAL, "abstained", extraction.reason, extraction.flags)
    reason, evidence = extraction.reason, tuple[Evidence, ...](triples)
    if triples:
        side, chosen = ("least", min) if value < NEUTRAL else ("most", max)
        shown = chosen(triples, key=lambda item: item.plausibility)
        events = f"{shown.triple.head} — {shown.triple.relation} — {shown.triple.tail}"
        reason = f"{side} plausible: {events} ({shown.plausibility:.2f})"
    if senseless is not None:
        link = ", though" if triples and senseless > NEUTRAL <= value else ";"
        value = harmonic_mean_score([1 - senseless, *([value] if triples else ())])
        reason = f"senseless as a whole: {senseless:.2f}{link} {reason}"
        evidence += (FeatureEvidence("senseless as a whole", senseless),)
    return Judgement(value, "ok", reason, extraction.flags, evidence)


def mean_score(scores: Sequence[float]) -> float:
    """Return the mean of the plausibilities of a reply's triples, as ACCENT does, else 0.5."""
    return sum(scores) / len(scores) if scores else NEUTRAL


def harmonic_mean_score(scores: Sequence[float]) -> float:
    """Return the harmonic mean of the plausibilities of a reply's triples, else 0.5.

    One implausible triple makes a reply implausible to people, so low values count more.

    >>> [round(harmonic_mean_score(each), 2) for each in ([0.8, 0.8], [0.8, 0.8, 0.1])]
    [0.8, 0.24]
    """
    if not scores:
        return NEUTRAL
    return len(scores) / math.fsum(1 / max(LEAST, score) for score in scores)


def nearest_known(
    triples: Sequence[Triple], knowledge: KnowledgeBase, encoder: Encoder
) -> list[KnownTail | None]:
    """Return for each triple the known or generated tail most like its own, if there is one."""
    if not triples:
        return []
    schema = load_schema("atomic2020")
    relations = [triple.relation for triple in triples]
    own = [tail_text(triple.tail, schema[triple.relation]) for triple in triples]
    # A store asks one relation after the other; full batches are a third faster.
    encode_distinct(encoder, [*(head_text(triple.head) for triple in triples), *own])
    if hasattr(knowledge, "best_known"):
        nearest: list[KnownTail | None] = knowledge.best_known(triples)
        return nearest
    given = knowledge.tails([triple.head for triple in triples], relations, TAILS)
    known = [
        [(tail, tail_text(tail.tail, schema[relation])) for tail in tails]
        for relation, tails in zip(relations, given, strict=True)
    ]
    vectors = encode_distinct(encoder, [*own, *(text for each in known for _, text in each)])
    return [
        max(
            (
                replace(tail, tail_similarity=unit_cosine(vectors[text], vectors[worded]))
                for tail, worded in each
            ),
            key=lambda tail: tail.tail_similarity,
            default=None,
        )
        for text, each in zip(own, known, strict=True)
    ]
