"""Does a score move as its evidence says, when the reply or a triple is changed?

Two of the changes are made in the text and judged by the whole metric, which reads the changed
reply again: the words of the least plausible triple are deleted (a fair score rises), and the words
of a tail are turned into their contrary (a fair score falls). The last ones are made in the triple
alone, whose tail is turned into its contrary, and judged by whatever judged the triple. Each has
its contrast in the same table: deleting the most plausible triple should not raise the score.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec

from grice.errors import plural
from grice.evaluation.variants import reworded
from grice.metrics.commonsense.scorers import EACH
from grice.perturb.negation import negated
from grice.perturb.wording import agreeing, antonyms, replace, words
from grice.records import Conversation, KnownTail, Score, Span, Triple, TripleEvidence
from grice.stats.estimate import Estimate
from grice.stats.proportions import proportion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grice.scoring.loaded import LoadedMetric

PEOPLE = {"PersonX": "he", "PersonY": "she"}
TOLERANCE = 1e-9


class Rate(msgspec.Struct, frozen=True):
    """How often a change moves something as it should, or as it should not.

    Attributes:
        name: The change and the move.
        share: Share of the cases, with its interval.
    """

    name: str
    share: Estimate


class FaithfulResult(msgspec.Struct, frozen=True):
    """How faithful the evidence of a metric is on some replies.

    Attributes:
        signature: What exactly it computes.
        replies: Replies whose score rests on triples.
        rates: What was found.
        remarks: What was left out and why.
    """

    metric: str
    signature: str
    replies: int
    rates: tuple[Rate, ...]
    remarks: tuple[str, ...]


@runtime_checkable
class Judging(Protocol):
    """What judges triples by themselves."""

    typed: tuple[str, ...]

    def plausibility(
        self, triples: Sequence[Triple], known: Sequence[KnownTail | None] | None = None
    ) -> list[float]:
        """Return how plausible each triple is, 0 to 1."""
        ...


@runtime_checkable
class Knowing(Protocol):
    """What finds the known tail most like a triple's."""

    def best_known(self, triples: Sequence[Triple], *, tails: int = EACH) -> list[KnownTail | None]:
        """Return the known tail most like that of each triple; None where there is none."""
        ...


class _Reply(NamedTuple):
    conversation: Conversation
    score: Score
    triples: list[TripleEvidence]
    """The least plausible first."""

    @property
    def turn(self) -> int:
        assert self.score.turn is not None
        return self.score.turn


class _Edit(NamedTuple):
    reply: _Reply
    text: str


def faithfulness(loaded: LoadedMetric, conversations: Iterable[Conversation]) -> FaithfulResult:
    """Measure how often a metric's scores move as their triples say.

    A reply that is not judged any more once it is changed is left out and counted.

    Args:
        loaded: A metric whose evidence is triples with their places.
        conversations: Their targets are judged and changed.
    """
    replies = list(_replies(loaded, conversations))
    remarks: list[str] = []
    several = [reply for reply in replies if _apart(reply)]
    rates = [
        _text_rate(
            "least plausible triple deleted, score rises",
            loaded,
            _deleted(several, 0),
            _rises,
            remarks,
        ),
        _text_rate(
            "most plausible triple deleted, score rises",
            loaded,
            _deleted(several, -1),
            _rises,
            remarks,
        ),
        _text_rate(
            "tail said to the contrary, score falls",
            loaded,
            _contrary_edits(replies),
            _falls,
            remarks,
        ),
        *_triple_rates(loaded, replies, remarks),
    ]
    measured = tuple(rate for rate in rates if rate is not None)
    return FaithfulResult(
        loaded.metric.name, loaded.signature, len(replies), measured, tuple(remarks)
    )


def _replies(loaded: LoadedMetric, conversations: Iterable[Conversation]) -> Iterable[_Reply]:
    talks = list(conversations)
    for talk, scores in zip(talks, loaded.score(talks), strict=True):
        for score in scores:
            triples = [piece for piece in score.evidence if isinstance(piece, TripleEvidence)]
            if score.status == "ok" and score.turn is not None and triples:
                triples.sort(key=lambda piece: piece.plausibility)
                yield _Reply(talk, score, triples)


def _apart(reply: _Reply) -> bool:
    first, last = reply.triples[0], reply.triples[-1]
    return last.plausibility - first.plausibility > TOLERANCE


def _own_spans(reply: _Reply, evidence: TripleEvidence) -> list[Span]:
    """Return where the reply itself says the tail, or else the head."""
    triple = evidence.triple
    spans = [span for span in (triple.tail_span, triple.head_span) if span is not None]
    return [span for span in spans if span.turn == reply.turn]


def _deleted(replies: Sequence[_Reply], place: int) -> list[_Edit]:
    edits = []
    for reply in replies:
        spans = _own_spans(reply, reply.triples[place])
        if spans:
            text = reply.conversation.turns[reply.turn].text
            edits.append(_Edit(reply, without(text, spans[0])))
    return edits


def without(text: str, span: Span) -> str:
    """Return a text without a stretch of it, the blanks closed up.

    >>> without("I won, so I smiled.", Span(0, 10, 18))
    'I won, so.'
    """
    joined = f"{text[: span.start].rstrip()} {text[span.end :].lstrip()}"
    return re.sub(r"\s+([.,!?;:])", r"\1", joined).strip()


def _contrary_edits(replies: Sequence[_Reply]) -> list[_Edit]:
    edits = []
    for reply in replies:
        text = reply.conversation.turns[reply.turn].text
        for evidence in reversed(reply.triples):
            span = evidence.triple.tail_span
            if span is None or span.turn != reply.turn:
                continue
            contrary = opposite(text[span.start : span.end])
            if contrary is not None:
                edits.append(_Edit(reply, text[: span.start] + contrary + text[span.end :]))
                break
    return edits


def opposite(clause: str) -> str | None:
    """Return a clause that says the contrary; None where none can be made for sure.

    >>> opposite("I feel happy"), opposite("PersonX feels happy"), opposite("to the moon")
    ("I don't feel happy", "PersonX doesn't feel happy", None)
    """
    spoken = re.sub(r"Person[XY]\b(?!')", lambda match: PEOPLE[match[0]], clause)
    turned = negated(spoken) or _antonymous(spoken)
    if turned is None:
        return None
    people = {pronoun: name for name, pronoun in PEOPLE.items() if name in clause}
    return re.sub(r"\b(?:he|she)\b", lambda match: people.get(match[0], match[0]), turned)


def _antonymous(clause: str) -> str | None:
    tokens = words(clause)
    for i, word in enumerate(tokens):
        if word.kind and (others := antonyms(word.lower, word.kind)):
            return replace(clause, {(word.start, word.end): agreeing(others[0], tokens, i)})
    return None


def _text_rate(
    name: str,
    loaded: LoadedMetric,
    edits: Sequence[_Edit],
    moved: Callable[[float, float], bool],
    remarks: list[str],
) -> Rate | None:
    changed = [_changed(edit) for edit in edits]
    hits: dict[str, list[int]] = {}
    gone = 0
    for edit, scores in zip(edits, loaded.score(changed), strict=True):
        after = next((score for score in scores if score.turn == edit.reply.turn), None)
        before = edit.reply.score.value
        if after is None or after.status != "ok" or after.value is None or before is None:
            gone += 1
            continue
        # Replies of one conversation are no independent cases.
        hits.setdefault(edit.reply.conversation.id, []).append(moved(before, after.value))
    if gone:
        remarks.append(f"{name}: {plural(gone, 'reply', 'replies')} not judged any more: left out")
    return _rate(name, hits)


def _changed(edit: _Edit) -> Conversation:
    changed = reworded(edit.reply.conversation, edit.reply.turn, edit.text)
    return msgspec.structs.replace(changed, targets=(edit.reply.turn,))


def _rises(before: float, after: float) -> bool:
    return after > before + TOLERANCE


def _falls(before: float, after: float) -> bool:
    return after < before - TOLERANCE


def _triple_rates(
    loaded: LoadedMetric, replies: Sequence[_Reply], remarks: list[str]
) -> list[Rate | None]:
    judge = next((model for model in loaded.models.values() if isinstance(model, Judging)), None)
    store = next((model for model in loaded.models.values() if isinstance(model, Knowing)), None)
    if judge is None or store is None:
        return []
    pieces = [(reply, evidence) for reply in replies for evidence in reply.triples]
    bare = [_bare(evidence.triple) for _, evidence in pieces]
    again = judge.plausibility(bare, store.best_known(bare, tails=EACH))
    stated = [evidence.plausibility for _, evidence in pieces]
    if any(abs(a - b) > 1e-6 for a, b in zip(again, stated, strict=True)):
        remarks.append("triples changed by themselves: left out, for another scorer judged them")
        return []
    rates = []
    for name, turned in (
        ("tail of the triple negated, plausibility falls", _negated_tail),
        ("tail of the triple turned into its antonym, plausibility falls", _antonymous_tail),
        ("tail of another reply's triple, plausibility falls", _foreign_tails(pieces)),
    ):
        cases = [
            (reply, evidence, contrary)
            for (reply, evidence), triple in zip(pieces, bare, strict=True)
            if (contrary := turned(triple)) is not None
        ]
        triples = [contrary for *_, contrary in cases]
        values = judge.plausibility(triples, store.best_known(triples, tails=EACH))
        hits: dict[str, list[int]] = {}
        for (reply, evidence, _), value in zip(cases, values, strict=True):
            group = hits.setdefault(reply.conversation.id, [])
            group.append(_falls(evidence.plausibility, value))
        rates.append(_rate(name, hits))
    return rates


def _negated_tail(triple: Triple) -> Triple | None:
    spoken = re.sub(r"Person[XY]\b(?!')", lambda match: PEOPLE[match[0]], triple.tail)
    turned = negated(spoken)
    return None if turned is None else msgspec.structs.replace(triple, tail=_named(turned))


def _antonymous_tail(triple: Triple) -> Triple | None:
    turned = _antonymous(triple.tail)
    return None if turned is None else msgspec.structs.replace(triple, tail=turned)


def _foreign_tails(
    pieces: Sequence[tuple[_Reply, TripleEvidence]],
) -> Callable[[Triple], Triple | None]:
    """Return what gives a triple the tail of the next triple of its relation in another reply."""
    by_relation: dict[str, list[tuple[str, Triple]]] = {}
    for reply, evidence in pieces:
        group = by_relation.setdefault(evidence.triple.relation, [])
        group.append((reply.conversation.id, _bare(evidence.triple)))
    following: dict[Triple, Triple] = {}
    for group in by_relation.values():
        for i, (talk, triple) in enumerate(group):
            others = (group[(i + step) % len(group)] for step in range(1, len(group)))
            tail = next(
                (
                    candidate.tail
                    for other, candidate in others
                    if other != talk and candidate.tail != triple.tail
                ),
                None,
            )
            if tail is not None:
                following.setdefault(triple, msgspec.structs.replace(triple, tail=tail))
    return following.get


def _named(clause: str) -> str:
    names = {pronoun: name for name, pronoun in PEOPLE.items()}
    return re.sub(r"\b(?:he|she)\b", lambda match: names[match[0]], clause)


def _bare(triple: Triple) -> Triple:
    return Triple(triple.head, triple.relation, triple.tail)


def _rate(name: str, hits: dict[str, list[int]]) -> Rate | None:
    groups = list(hits.values())
    moved = proportion([sum(group) for group in groups], [len(group) for group in groups])
    return None if moved is None else Rate(name, moved)
