"""ACCENT as it was published: triples by a fine-tuned T5, their tails beside those of COMET.

Ghazarian, Shao, Han, Galstyan and Peng, Findings of ACL 2023. What is opened are checkpoints of the
published kinds: a T5 that was trained to extract one triple per relation, COMET-BART, and a
sentence encoder. The metric ``commonsense`` asks the same question with models that ship.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.data import Judgement, KnownTail, Triple, TripleEvidence
from grice.knowledge.schema import RELATIONS
from grice.metrics.common import score_or_abstain, unsupported_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Encoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Response
    from grice.models.protocols import Vector
    from grice_research.published_models.seq2seq import Seq2Seq

NEUTRAL = 0.5  # ACCENT's score of a reply without a triple
LONGEST = 4_000  # characters of a reply and its history: T5 learned on half as much
TURNS = 4  # slots of a history; those of a shorter one are empty, in front
BEAMS, PIECES, NO_REPEAT = 10, 64, 2
"""Width of both searches, their longest text, and the n-grams of pieces that come once."""

_PARTS = {
    "xNeed": "event2 needs to be true for event1 to take place.",
    "xAttr": "event2 shows how PersonX is viewed as after event1.",
    "xReact": "event2 shows how PersonX reacts to event1.",
    "xEffect": "event2 shows the effect of event1 on PersonX.",
    "xWant": "event2 shows what PersonX wants after event1 happens.",
    "xIntent": "event2 shows PersonX's intent for event1.",
    "oEffect": "event2 shows the effect of event1 on PersonY.",
    "oReact": "event2 shows how PersonY reacts to event1.",
    "oWant": "event2 shows what PersonY wants after event1 happens.",
    "isAfter": "event1 happens after event2.",
    "HasSubEvent": "event1 includes event2.",
    "HinderedBy": "event1 fails to happen because event2.",
}
PROMPTS = {
    relation: f"Extract event1 and event2 from the text where {_PARTS[relation]} Utterance: "
    for relation in RELATIONS
}
"""Prompt of the extractor for each relation, in the order of the released code."""
_FIRST, _SECOND = "event1:", "event2:"


def extraction_source(relation: str, history: str, reply: str) -> str:
    """Return what the extractor reads: the prompt, the history, whose turns end in ``</UTT>``."""
    return f"{PROMPTS[relation]}{history}{reply}"


def parsed_events(text: str) -> tuple[str, str] | None:
    """Return head and tail of what the extractor wrote; None if it wrote no triple.

    >>> parsed_events("event1: PersonX eats; event2: PersonX is full")
    ('PersonX eats', 'PersonX is full')
    >>> parsed_events("None") is None, parsed_events("event1: PersonX eats") is None
    (True, True)
    """
    if text == "None" or _FIRST not in text or _SECOND not in text:
        return None
    place = text.index(_SECOND)
    before = text[:place].removesuffix(" ").removesuffix(";")
    # As released: eight characters are cut off each, whatever they are.
    head, tail = before[len(_FIRST) + 1 :], text[place + len(_SECOND) + 1 :]
    return (head, tail) if head and tail else None


@metric(
    "accent",
    version="1",
    summary="ACCENT as published: do the events of this reply agree with COMET?",
    judges="response",
    models={
        "extractor": "model:accent-extractor",
        "comet": "model:comet-bart",
        "embedder": "model:paraphrase-minilm",
    },
    accepts={
        "extractor": ("texts",),
        "comet": ("tails of events",),
        "embedder": ("sentence vectors",),
    },
    protocols={"embedder": Encoder},
    setup="grice train accent and grice train comet make two of three; see docs/concepts/models.md",
    source="ACCENT (Ghazarian et al., Findings of ACL 2023).",
    neutral=NEUTRAL,
    example=Example(["What do you do?", "I got fired because I made a mistake."], 0.0, 1.0),
)
def accent(
    responses: Sequence[Response], *, extractor: Seq2Seq, comet: Seq2Seq, embedder: Encoder
) -> Iterator[Judgement]:
    """Return the mean, over the triples of the reply, of their likeness to what COMET writes.

    For each of twelve relations a fine-tuned T5 reads at most one triple from the reply and the
    four turns before it. COMET writes ten tails for its head; the triple counts as much as the
    largest cosine of one of them with its own tail, at least 0. A reply without a triple abstains,
    with ACCENT's 0.5.

    When to use it:
        To have the published system itself beside another metric, on the same replies.

    When not to:
        To find senseless replies: on both of its rated sets plain cosines and counts reach what
        the paper prints for it (``grice bench accent``).
    """

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        extracted = _triples(judged, extractor)
        distinct = list(dict.fromkeys(triple for each in extracted for triple in each))
        likeness = dict(zip(distinct, _likeness(distinct, comet, embedder), strict=True))
        for triples in extracted:
            evidence = tuple(
                TripleEvidence(triple, max(0.0, known.tail_similarity), known)
                for triple in triples
                for known in [likeness[triple]]
            )
            if not evidence:
                yield Judgement(NEUTRAL, "abstained", "no triple was extracted")
                continue
            value = sum(item.plausibility for item in evidence) / len(evidence)
            least = min(evidence, key=lambda item: item.plausibility)
            events = f"{least.triple.head} — {least.triple.relation} — {least.triple.tail}"
            reason = f"least plausible: {events} ({least.plausibility:.2f})"
            yield Judgement(min(1.0, value), "ok", reason, (), evidence)

    return score_or_abstain(responses, _nothing_to_judge, judge, NEUTRAL)


def _nothing_to_judge(response: Response) -> str | None:
    if reason := unsupported_reply(response):
        return reason
    length = len(_history(response)) + len(response.text)
    if length > LONGEST:
        return f"the reply and its history have {length:,} characters, more than {LONGEST:,}"
    return None


def _triples(responses: Sequence[Response], extractor: Seq2Seq) -> list[list[Triple]]:
    # metrics are listed without an engine
    from grice_research.published_models.seq2seq import Search

    prompts = [
        extraction_source(relation, _history(response), response.text)
        for response in responses
        for relation in RELATIONS
    ]
    written = extractor.write(prompts, Search(BEAMS, 1, PIECES, NO_REPEAT))
    each = len(RELATIONS)
    return [
        [
            Triple(events[0], relation, events[1])
            for relation, texts in zip(RELATIONS, written[start : start + each], strict=True)
            if (events := parsed_events(texts[0].text)) is not None
        ]
        for start in range(0, len(written), each)
    ]


def _history(response: Response) -> str:
    turns = [turn.text for turn in response.history[-TURNS:]]
    return "".join(f"{turn}</UTT>" for turn in [""] * (TURNS - len(turns)) + turns)


def _likeness(triples: Sequence[Triple], comet: Seq2Seq, embedder: Encoder) -> list[KnownTail]:
    """Return for each triple the tail of COMET that is most like its own."""
    from grice.numeric import unit_cosine
    from grice_research.published_models.seq2seq import Search, query

    queries = [query(triple.head, triple.relation) for triple in triples]
    written = comet.write(queries, Search(BEAMS, BEAMS, PIECES, NO_REPEAT))
    texts = list(dict.fromkeys([
        *(triple.tail for triple in triples),
        *(tail.text for tails in written for tail in tails),
    ]))  # fmt: skip
    vectors: dict[str, Vector] = dict(zip(texts, embedder.encode(texts), strict=True))
    return [
        max(
            (
                KnownTail(
                    triple.head,
                    tail.text,
                    1.0,
                    unit_cosine(vectors[triple.tail], vectors[tail.text]),
                    "COMET",
                )
                for tail in tails
            ),
            key=lambda known: known.tail_similarity,
        )
        for triple, tails in zip(triples, written, strict=True)
    ]
