"""Changed conversations, scored again: perturbed ones, and single changes that raise a score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, FeatureEvidence, Score, Span, Triple, TripleEvidence
from grice.errors import InputError
from grice.evaluation.compare import worded
from grice.evaluation.table import score_table
from grice.knowledge.store import StoredKnowledge
from grice.perturb import Material, Perturbation, perturb, with_texts
from grice.stats.comparison import proportion
from grice.stats.estimate import Estimate

if TYPE_CHECKING:
    from grice.scoring.api import Grader
    from grice.scoring.loaded import LoadedMetric

EVERY = "every kind"
UTTERANCE = "</UTT>"  # ends each one in DEAM's files
METHOD = "paired accuracy, ties 0.5, Wilson's interval over sources"
TRIED = 12  # most single changes of a kind, those of the least plausible triples first


class Pair(NamedTuple):
    """An original and its perturbed version; ``source`` groups versions of one original."""

    kind: str
    source: str
    original: Conversation
    perturbed: Conversation


class PerturbedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy of one metric: the share of pairs with the original scored higher, by kind.

    A tie counts half, so that a constant metric gets 0.5. :data:`EVERY` kind comes first; versions
    of one source are one item of the intervals.
    """

    metric: str
    signature: str
    kinds: dict[str, Estimate]
    ties: float  # share of the pairs that were judged
    failed: int


class PerturbedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy of all metrics on pairs."""

    data: str
    pairs: int
    sources: int
    rows: tuple[PerturbedRow, ...]


def perturbed_pairs(
    name: str,
    conversations: Sequence[Conversation],
    kinds: Iterable[Perturbation],
    *,
    seed: int,
    material: Material,
) -> list[Pair]:
    """Perturb conversations in each of several ways; InputError if no way applies to any."""
    pairs: list[Pair] = []
    for kind in kinds:
        for number, talk in enumerate(conversations):
            changed = perturb(talk, kind, seed=seed, material=material)
            if changed is not None:
                # Ids of several files may collide; numbers do not.
                original = replace(talk, id=str(number))
                perturbed = replace(changed.conversation, id=f"{number}/{kind.name}")
                pairs.append(Pair(kind.name, original.id, original, perturbed))
    if not pairs:
        raise InputError(
            f"{name}: no conversation could be perturbed; other kinds may apply: grice perturb list"
        )
    return pairs


def training_lines(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield lines in DEAM's layout: each original with label 1, then its perturbed copy with 0.

    Each utterance ends with ``</UTT>``; without this mark and line ends within.
    """
    for pair in pairs:
        for talk, label in ((pair.original, 1), (pair.perturbed, 0)):
            texts = (" ".join(turn.text.replace(UTTERANCE, " ").split()) for turn in talk.turns)
            yield "".join(f"{text}{UTTERANCE}" for text in texts) + f"{label}\n"


def judge_pairs(
    name: str, pairs: Sequence[Pair], grader: Grader, drawn: str = ""
) -> PerturbedBlock:
    """Score all conversations of pairs and return the accuracy of each metric.

    A metric of single replies is compared by its mean over the replies of a conversation.
    """
    talks = {talk.id: talk for pair in pairs for talk in (pair.original, pair.perturbed)}
    table = score_table(grader, grader.signatures, list(talks.values()))
    rows = [
        accuracy(pairs, table.conversation_means(metric), metric, f"{signature}|pairs:2{drawn}")
        for metric, signature in grader.signatures.items()
    ]
    rows.sort(key=lambda row: -row.kinds[EVERY].value if row.kinds else 1.0)
    sources = len({pair.source for pair in pairs})
    return PerturbedBlock(data=name, pairs=len(pairs), sources=sources, rows=tuple(rows))


def accuracy(
    pairs: Sequence[Pair], values: Mapping[str, float], metric: str = "", signature: str = ""
) -> PerturbedRow:
    """Return the share of pairs whose original has the higher value."""
    hits: dict[str, dict[str, list[float]]] = {}
    judged = ties = 0
    for pair in pairs:
        good, bad = values.get(pair.original.id), values.get(pair.perturbed.id)
        if good is None or bad is None:
            continue
        judged += 1
        ties += good == bad
        for kind in (EVERY, pair.kind):
            of_source = hits.setdefault(kind, {}).setdefault(pair.source, [])
            of_source.append(0.5 if good == bad else float(good > bad))
    kinds = {}
    for kind in sorted(hits, key=lambda kind: (kind != EVERY, kind)):
        by_source = hits[kind].values()
        share = proportion(list(map(sum, by_source)), list(map(len, by_source)))
        assert share is not None
        kinds[kind] = replace(share, method=METHOD)
    return PerturbedRow(
        metric=metric,
        signature=signature,
        kinds=kinds,
        ties=ties / judged if judged else 0.0,
        failed=len(pairs) - judged,
    )


class Counterfactual(msgspec.Struct, frozen=True):
    """A change, and the score with it: a triple is added, or words are removed from the reply."""

    kind: Literal["knowledge", "text"]
    change: str
    value: float
    lift: float  # value less the score without the change
    span: Span | None = None


def counterfactuals(
    loaded: LoadedMetric, conversation: Conversation, score: Score
) -> list[Counterfactual]:
    """Return the single changes that raise the score of a reply, the largest gain first.

    Empty for a reply that was not judged, or whose evidence has no span or triple.
    """
    if score.status != "ok" or score.value is None or score.turn is None:
        return []
    talk, before = replace(conversation, targets=(score.turn,)), score.value
    found: list[Counterfactual] = []

    def add(
        kind: Literal["knowledge", "text"], words: str, scores: list[Score], span: Span | None
    ) -> None:
        for after in scores:
            value = after.value if after.turn == score.turn and after.status == "ok" else None
            if value is not None and value - before > 1e-9:
                found.append(Counterfactual(kind, words, value, value - before, span))

    pieces = [piece for piece in score.evidence if isinstance(piece, TripleEvidence)]
    pieces.sort(key=lambda piece: piece.plausibility)
    for piece in pieces[:TRIED]:
        head, relation, tail = piece.triple.head, piece.triple.relation, piece.triple.tail
        for parameter, knowledge in loaded.models.items():
            if isinstance(knowledge, StoredKnowledge):
                what_if = Triple(head, relation, tail, source="what if")
                more = knowledge.with_triples([what_if], "more")
                (scores,) = loaded.with_models(**{parameter: more}).score([talk])
                add("knowledge", worded(piece.triple), scores, None)
    spans: list[Span | None] = []
    for evidence in score.evidence:
        if isinstance(evidence, TripleEvidence):
            spans += [evidence.triple.tail_span, evidence.triple.head_span]
        elif isinstance(evidence, FeatureEvidence):
            spans.append(evidence.span)
    own = list(dict.fromkeys(span for span in spans if span and span.turn == score.turn))[:TRIED]
    text = talk.turns[score.turn].text
    changed = [with_texts(talk, {score.turn: without(text, span)}) for span in own]
    for span, scores in zip(own, loaded.score(changed), strict=True):
        add("text", text[span.start : span.end], scores, span)
    return sorted(found, key=lambda change: (-change.lift, change.change))


def without(text: str, span: Span) -> str:
    """Return a text without a span and its surrounding blanks.

    >>> without("I won, so I smiled.", Span(0, 10, 18))
    'I won, so.'
    """
    joined = f"{text[: span.start].rstrip()} {text[span.end :].lstrip()}"
    return re.sub(r"\s+([.,!?;:])", r"\1", joined).strip()
