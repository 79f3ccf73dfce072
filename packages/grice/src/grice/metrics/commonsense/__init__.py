"""Commonsense: are the events of this reply plausibly related?

After ACCENT (Ghazarian et al., Findings of ACL 2023): read event triples from the reply and the
turn before it, ask how well each agrees with what is known, and take the mean. ACCENT writes its
triples with a fine-tuned T5 and compares their tails with those that COMET generates; here an
extractor of our own reads them, and by default a small network fitted on known triples judges
them. The paper's test and others are there by name, and so is its mean: by default a senseless
triple weighs more than a sensible one.

Triples alone count. What a whole reply is like, which no triple shows, can have a weight in the
score and then stands among the evidence: context relevance, the probability that it answers what
was said before, or with a language model the probability that it is no nonsense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from grice.metrics.declaration import Example, metric
from grice.metrics.sense import FlawModel
from grice.metrics.unjudged import nothing_to_judge
from grice.models.protocols import Pair
from grice.records import FeatureEvidence, Judgement, Span, Triple, TripleEvidence
from grice.text.repetition import novelty

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.knowledge.events import Place
    from grice.knowledge.extraction import (
        Exchange,
        ExtractedTriple,
        Extraction,
        TripleExtractor,
        TripleKind,
    )
    from grice.knowledge.lookup import KnowledgeBase, TripleStore
    from grice.knowledge.plausibility import TripleHead
    from grice.metrics.declaration import Count, Fraction
    from grice.models.protocols import Encoder, PairClassifier
    from grice.records import KnownTail, Response

__all__ = ["CONTEXT_RELEVANCE", "MODELS", "combined", "commonsense", "surest"]

NEUTRAL = 0.5
CONTEXT_RELEVANCE, SENSE = "context relevance", "sense"
"""Names of the evidence on the reply as a whole."""
NONSENSE = "nonsense"
"""The flaw that ``sense`` is the absence of."""

TURNS = 4
"""Turns before the reply that its fit is judged by, as many as ACCENT's histories have."""

NOT_WHOLE = "no two events are related that were read as whole clauses about people"

SCOPES: dict[str, tuple[TripleKind, ...]] = {
    "both": ("single", "pair"),
    "single": ("single",),
    "pair": ("pair",),
}

MODELS = {
    "extractor": "bundle:extraction",
    "plausibility": "bundle:plausibility",
    "knowledge": "bundle:atomic",
    "encoder": "bundle:encoder",
    "embedder": "bundle:encoder",
    "relevance": "bundle:context-relevance",
}
"""What the metric opens, by parameter."""


@metric(
    "commonsense",
    version="6",
    summary="Are the events of this reply plausibly related?",
    judges="response",
    models=MODELS,
    accepts={
        "embedder": ("sentence vectors", "word vectors"),
        "plausibility": ("plausibility of triples", "knowledge"),
        "relevance": ("relevance", "flaws"),
    },
    source="After ACCENT (Ghazarian et al., Findings of ACL 2023).",
    renamed={
        "read": "scope",
        "pool": "aggregation",
        "most": "max_triples",
        "least": "min_confidence",
        "share": "relevance_weight",
    },
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
    knowledge: KnowledgeBase | TripleStore,
    encoder: Encoder,
    embedder: Encoder,
    relevance: PairClassifier | FlawModel,
    scorer: Literal["calibrated", "cosine", "likelihood"] = "calibrated",
    scope: Literal["both", "single", "pair"] = "both",
    aggregation: Literal["cautious", "mean"] = "cautious",
    max_triples: Count = 3,
    min_confidence: Fraction = 0.5,
    tails: Count = 10,
    relevance_weight: Fraction = 0.0,
) -> list[Judgement]:
    """Return the plausibility of the reply's event triples.

    A triple relates two events of the reply, or one of the reply and one of the turn before it. The
    plausibilities of a reply's triples are pooled; a reply without a triple is not judged. The
    evidence is every triple with its place in the text, its plausibility and the nearest known
    triple.

    With ``relevance_weight`` the reply as a whole counts too: the probability that it answers what
    was said before, or that it is no nonsense if the model is one of flaws, such as
    ``bundle:sense-medium``. Then a reply with one event and no triple is judged by that alone.

    When to use it:
        To read which events a reply relates, and to check each relation against what is known.

    When not to:
        To find senseless replies by the number alone: it ranks them no better than their length
        does (``grice bench deco``, ``grice bench conture``), which is why it does not run by
        default.

    Args:
        scorer: What judges a triple: ``calibrated`` networks; ``cosine``, ACCENT's largest cosine
            with known tails; or ``likelihood``, the probability of the tail by knowledge that
            generates tails (``bundle:comet``).
        scope: Triples of the reply alone (``single``), with the turn before (``pair``), or both.
        aggregation: How plausibilities are pooled: ``cautious``, their harmonic mean; or ``mean``,
            as in ACCENT.
        max_triples: Maximum triples per reply, one per event pair; truncated clauses and inanimate
            subjects are skipped.
        min_confidence: Minimum extraction confidence.
        tails: How many known tails ``cosine`` compares with.
        relevance_weight: Weight of the reply as a whole in the score; 0 leaves the triples alone,
            as in ACCENT.
    """
    # Imported here: what only names the metric needs no numpy.
    from grice.metrics.commonsense.scorers import (
        Sources,
        as_knowledge_base,
        cautious_score,
        find_scorer,
        mean_score,
        nearest_known,
    )

    exchanges = [_exchange(response) for response in responses]
    extractions = [
        _with_surest(each, max_triples)
        for each in extractor.extract(exchanges, kinds=SCOPES[scope], least=min_confidence)
    ]
    distinct = list(dict.fromkeys(_bare(triple) for each in extractions for triple in each.triples))
    nearest = nearest_known(distinct, knowledge, encoder)
    sources = Sources(plausibility, as_knowledge_base(knowledge, encoder), embedder, tails, nearest)
    known = dict(zip(distinct, nearest, strict=True))
    values = dict(zip(distinct, find_scorer(scorer)(distinct, sources), strict=True))
    fits = _fits(responses, extractions, relevance) if relevance_weight else [None] * len(responses)
    name = SENSE if isinstance(relevance, FlawModel) else CONTEXT_RELEVANCE
    whole = _Whole(name, relevance_weight)
    together = cautious_score if aggregation == "cautious" else mean_score
    return [
        _judgement(_evidence(response, each, values, known), each, fit, whole, together)
        for response, each, fit in zip(responses, extractions, fits, strict=True)
    ]


class _Whole(NamedTuple):
    """What is said of replies as a whole: its name, and its share of the score."""

    name: str
    share: float


def combined(triples: float, fit: float | None, share: float) -> float:
    """Return the score of a reply: that of its triples, and a share for the reply as a whole.

    >>> combined(0.7, 0.5, 0.5), combined(0.7, None, 0.5)
    (0.6, 0.7)
    """
    return triples if fit is None else (1 - share) * triples + share * fit


def _exchange(response: Response) -> Exchange:
    # Here, not above: metrics load nothing heavy before they run.
    from grice.knowledge.extraction import Exchange

    last = response.history[-1:]
    return Exchange(
        tuple(turn.text for turn in last),
        response.text,
        any(turn.speaker == response.speaker for turn in last),
    )


def _with_surest(extraction: Extraction, most: int) -> Extraction:
    chosen = surest(extraction.triples, most)
    reason = extraction.reason if chosen or not extraction.triples else NOT_WHOLE
    return msgspec.structs.replace(extraction, triples=chosen, reason=reason)


def surest(triples: Sequence[ExtractedTriple], most: int) -> tuple[ExtractedTriple, ...]:
    """Return the triples that are judged: whole ones, the surest, of the same two events one.

    Of several relations between the same events, one is mostly right.
    """
    chosen: list[ExtractedTriple] = []
    seen: set[frozenset[Place | str]] = set()
    for triple in triples:
        ends = (triple.head_place or triple.head, triple.tail_place or triple.tail)
        same = {frozenset(ends), frozenset((triple.head, triple.tail))}
        if triple.whole and seen.isdisjoint(same):
            chosen.append(triple)
        seen |= same if triple.whole else set()
    return tuple(chosen[:most])


def _bare(triple: ExtractedTriple) -> Triple:
    return Triple(triple.head, triple.relation, triple.tail)


def _fits(
    responses: Sequence[Response],
    extractions: Sequence[Extraction],
    relevance: PairClassifier | FlawModel,
) -> list[float | None]:
    """Return what is said of each reply with events as a whole; None without a word of history.

    What was said before, or twice, does not fit again.
    """
    if isinstance(relevance, FlawModel):
        return _senses(responses, extractions, relevance)
    pairs = [
        _pair(response) if extraction.triples or extraction.own else None
        for response, extraction in zip(responses, extractions, strict=True)
    ]
    asked = [pair for pair in pairs if pair]
    values = iter(relevance.classify([pair for pair, _ in asked]) if asked else ())
    return [next(values) * pair[1] if pair else None for pair in pairs]


def _senses(
    responses: Sequence[Response], extractions: Sequence[Extraction], model: FlawModel
) -> list[float | None]:
    """Return the probability that each reply with events is no nonsense; None without history."""
    from grice.numeric import sigmoid  # metrics are listed without numpy

    asked = [
        i
        for i, (response, extraction) in enumerate(zip(responses, extractions, strict=True))
        if (extraction.triples or extraction.own) and not nothing_to_judge(response)
    ]
    if not asked:
        return [None] * len(responses)
    odds = model.log_odds([responses[i] for i in asked])[:, model.flaws.index(NONSENSE)]
    senses: list[float | None] = [None] * len(responses)
    for i, nonsense in zip(asked, sigmoid(odds).tolist(), strict=True):
        senses[i] = 1.0 - nonsense
    return senses


def _pair(response: Response) -> tuple[Pair, float] | None:
    """Return history and reply without repetition, and the fraction of its words that is left."""
    if not any(turn.text.strip() for turn in response.history):
        return None
    novel = novelty(response.text, (turn.text for turn in response.history))
    turns = tuple(turn.text for turn in response.history[-TURNS:])
    return Pair(turns, novel.text), novel.novel_fraction


def _evidence(
    response: Response,
    extraction: Extraction,
    values: dict[Triple, float],
    known: dict[Triple, KnownTail | None],
) -> list[TripleEvidence]:
    evidence = []
    for extracted in extraction.triples:
        bare = _bare(extracted)
        triple = msgspec.structs.replace(
            bare,
            head_span=_span(extracted.head_place, response),
            tail_span=_span(extracted.tail_place, response),
        )
        evidence.append(TripleEvidence(triple, values[bare], known[bare]))
    return evidence


def _span(place: Place | None, response: Response) -> Span | None:
    if place is None:
        return None
    turn = response.turn if place.turn == "reply" else response.positions[-1]
    return Span(turn, place.start, place.end)


def _judgement(
    triples: list[TripleEvidence],
    extraction: Extraction,
    fit: float | None,
    whole: _Whole,
    together: Callable[[Sequence[float]], float],
) -> Judgement:
    if not triples and fit is None:
        return Judgement(NEUTRAL, "abstained", extraction.reason, extraction.flags)
    pooled = together([item.plausibility for item in triples])
    value = combined(pooled, fit, whole.share)
    evidence: list[TripleEvidence | FeatureEvidence] = [*triples]
    if fit is not None:
        evidence.append(FeatureEvidence(whole.name, fit, value - pooled))
    reason = _reason(value, triples, extraction, whole.name)
    if fit is not None and value < NEUTRAL <= pooled:
        reason = f"{whole.name} is low ({fit:.2f})"
    return Judgement(value, "ok", reason, extraction.flags, tuple(evidence))


def _reason(value: float, triples: list[TripleEvidence], extraction: Extraction, whole: str) -> str:
    if not triples:
        return f"{extraction.reason}: judged by {whole} alone"
    name, chosen = ("least", min) if value < NEUTRAL else ("most", max)
    triple = chosen(triples, key=lambda item: item.plausibility).triple
    return f"{name} plausible: {triple.head} — {triple.relation} — {triple.tail}"
