"""Re-derives what a file of scores says from the conversations, the models and the knowledge.

Nothing of a file is believed. The metric judges each reply anew, and each piece of evidence is
held against what the text, the metric and the knowledge say: its places lie in the text, the
metric reads the same there, its figures are the same, and what it calls known stands in the
knowledge with that source. None of it looks at which metric it is.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec

from grice.errors import InputError
from grice.evaluation.scores import read_rows
from grice.records import (
    Conversation,
    FeatureEvidence,
    Score,
    Span,
    Triple,
    TripleEvidence,
    TurnEvidence,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.errors import RecordError
    from grice.metrics.declaration import Metric
    from grice.records import Evidence
    from grice.scoring.loaded import LoadedMetric

__all__ = ["Difference", "Tally", "VerifyResult", "metrics_of", "stated_options", "verify"]

AT_ONCE = 256
"""Conversations judged at once."""
SHOWN = 20
"""Differences that are kept to be shown."""
TOLERANCE = 1e-6
"""Figures this near are the same: on one machine they are equal to the last bit."""


@runtime_checkable
class Sourced(Protocol):
    """Knowledge that can say where a triple comes from."""

    def origin(self, head: str, relation: str, tail: str) -> str | None: ...


class Difference(msgspec.Struct, frozen=True):
    """Something in the file that does not follow.

    Attributes:
        conversation: Id of the conversation.
        turn: The judged turn; None for the whole conversation.
        metric: Name of the metric.
        kind: ``signature``, ``value``, or the kind of evidence.
        piece: The piece in words; empty for a value.
        what: What differs, with what the file says and what was found.
    """

    conversation: str
    turn: int | None
    metric: str
    kind: str
    piece: str
    what: str


class Tally(msgspec.Struct, frozen=True):
    """How many pieces of one kind were re-derived.

    Attributes:
        metric: Name of the metric.
        kind: ``value``, or the kind of evidence.
        verified: Pieces that follow.
        differs: Pieces that do not.
    """

    metric: str
    kind: str
    verified: int
    differs: int


class VerifyResult(msgspec.Struct, frozen=True):
    """What was found of a file of scores.

    Attributes:
        file: Its name.
        scores: Scores that were looked at.
        tallies: Counts by metric and kind.
        differences: The first differences.
        more: How many further ones there are.
    """

    file: str
    scores: int
    tallies: tuple[Tally, ...]
    differences: tuple[Difference, ...]
    more: int

    @property
    def ok(self) -> bool:
        """Whether everything follows."""
        return not self.differences


def metrics_of(file: str) -> dict[str, str]:
    """Return name and signature of each metric of a file of scores.

    Raises:
        InputError: If it is none, or one metric was computed in several ways.
    """
    found: dict[str, str] = {}
    for number, score in read_rows(file, Score):
        known = found.setdefault(score.metric, score.signature)
        if known != score.signature:
            raise InputError(
                f"{file}:{number}: {score.metric} was computed in two ways in one file:"
                f"\n  {known}\n  {score.signature}"
            )
    return found


def stated_options(metric: Metric, signature: str) -> dict[str, str]:
    """Return the options of a metric as a signature states them."""
    parts = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    return {one.name: parts[one.name] for one in metric.options if one.name in parts}


def verify(
    file: str,
    records: Iterable[Conversation | RecordError],
    metrics: Sequence[LoadedMetric],
    *,
    tolerance: float = TOLERANCE,
) -> VerifyResult:
    """Re-derive the scores of a file.

    Args:
        file: What ``grice score`` wrote.
        records: The conversations it was written for, in the same order; further ones are
            passed over. Of several files, each carries its name as ``grice score`` writes it.
        metrics: The metrics of the file, loaded as it was written; others are not looked at.
        tolerance: Largest difference of two figures that count as the same.

    Raises:
        InputError: If a scored conversation is not among the records.
    """
    known = {loaded.metric.name: loaded for loaded in metrics}
    book = _Book(file, tolerance)
    groups = _groups(file, known)
    for window in _joined(file, groups, records):
        for name, loaded in known.items():
            _verify_window(book, name, loaded, window)
    return book.result()


class _Item(NamedTuple):
    conversation: Conversation
    scores: Sequence[Score]


def _groups(file: str, known: Mapping[str, object]) -> Iterator[list[Score]]:
    group: list[Score] = []
    for _, score in read_rows(file, Score):
        if score.metric not in known:
            continue
        if group and _place(group[0]) != _place(score):
            yield group
            group = []
        group.append(score)
    if group:
        yield group


def _place(score: Score) -> tuple[str, object]:
    return score.conversation, score.meta.get("file")


def _place_of(record: Conversation) -> tuple[str, object]:
    return record.id, record.meta.get("file")


def _joined(
    file: str, groups: Iterator[list[Score]], records: Iterable[Conversation | RecordError]
) -> Iterator[list[_Item]]:
    """Yield windows of conversations with their scores; both come in the same order."""

    def pairs() -> Iterator[_Item]:
        group = next(groups, None)
        for record in records:
            if group is None:
                return
            if isinstance(record, Conversation) and _place_of(record) == _place(group[0]):
                yield _Item(record, group)
                group = next(groups, None)
        if group is not None:
            raise InputError(
                f"{file}: conversation {group[0].conversation!r} is scored, but does not follow "
                "in the input; give the files that were scored, in the same order"
            )

    items = pairs()
    while window := list(islice(items, AT_ONCE)):
        yield window


def _verify_window(book: _Book, name: str, loaded: LoadedMetric, window: Sequence[_Item]) -> None:
    mine = [(item, [score for score in item.scores if score.metric == name]) for item in window]
    mine = [(item, scores) for item, scores in mine if scores]
    asked = [_asked(item.conversation, scores) for item, scores in mine]
    for (item, scores), group in zip(mine, loaded.score(asked), strict=True):
        fresh = {score.turn: score for score in group}
        for score in scores:
            _verify_score(book, score, fresh.get(score.turn), item.conversation, loaded)


def _asked(conversation: Conversation, scores: Sequence[Score]) -> Conversation:
    turns = tuple(score.turn for score in scores if score.turn is not None)
    return msgspec.structs.replace(conversation, targets=turns or conversation.targets)


def _verify_score(
    book: _Book, score: Score, fresh: Score | None, talk: Conversation, loaded: LoadedMetric
) -> None:
    book.scores += 1
    if score.signature != loaded.signature:
        book.other_signature(score, loaded.signature)
    if fresh is None:
        book.note(score, "value", "", [f"turn {score.turn} is not judged in this conversation"])
        return
    problems = []
    if score.status != fresh.status:
        problems.append(f"status {score.status!r}, found {fresh.status!r}")
    elif not _same(score.value, fresh.value, book.tolerance):
        problems.append(f"value {_two(score.value, fresh.value)}")
    book.note(score, "value", "", problems)
    found = {_key(one): one for one in fresh.evidence}
    texts = [turn.text for turn in talk.turns]
    for piece in score.evidence:
        problems = [
            *_places(piece, texts),
            *_derived(piece, found, book.tolerance),
            *_sources(piece, loaded),
        ]
        book.note(score, _kind(piece), _words(piece), problems)
    stated = {_key(one) for one in score.evidence}
    for key, piece in found.items():
        if key not in stated:
            book.note(score, _kind(piece), _words(piece), ["found, but not in the file"])


class _Book:
    """Counts what follows and what does not."""

    def __init__(self, file: str, tolerance: float) -> None:
        self.tolerance = tolerance
        self.scores = 0
        self._file = file
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._differences: list[Difference] = []
        self._more = 0
        self._signatures: set[str] = set()

    def note(self, score: Score, kind: str, piece: str, problems: Sequence[str]) -> None:
        counts = self._counts.setdefault((score.metric, kind), [0, 0])
        counts[bool(problems)] += 1
        if problems:
            self._keep(score, kind, piece, "; ".join(problems))

    def other_signature(self, score: Score, found: str) -> None:
        if score.metric in self._signatures:
            return
        self._signatures.add(score.metric)
        old, new = (set(text.split("|")) for text in (score.signature, found))
        parts = [", ".join(sorted(side)) or "nothing" for side in (old - new, new - old)]
        self._keep(score, "signature", "", f"computed with {parts[0]}; here {parts[1]}")

    def result(self) -> VerifyResult:
        tallies = tuple(Tally(*key, *counts) for key, counts in self._counts.items())
        return VerifyResult(self._file, self.scores, tallies, tuple(self._differences), self._more)

    def _keep(self, score: Score, kind: str, piece: str, what: str) -> None:
        if len(self._differences) < SHOWN:
            self._differences.append(
                Difference(score.conversation, score.turn, score.metric, kind, piece, what)
            )
        else:
            self._more += 1


def _places(piece: Evidence, texts: Sequence[str]) -> Iterator[str]:
    for name, span in _spans(piece):
        if not 0 <= span.turn < len(texts):
            yield f"{name} in turn {span.turn}, there are {len(texts)}"
        elif not 0 <= span.start < span.end <= len(texts[span.turn]):
            yield (
                f"{name} at characters {span.start} to {span.end} of turn {span.turn}, which has "
                f"{len(texts[span.turn])}"
            )
        elif not texts[span.turn][span.start : span.end].strip():
            yield f"{name} at a blank place"
    if isinstance(piece, TurnEvidence) and not 0 <= piece.turn < len(texts):
        yield f"turn {piece.turn}, there are {len(texts)}"


def _spans(piece: Evidence) -> Iterator[tuple[str, Span]]:
    match piece:
        case TripleEvidence(triple=triple):
            for name, span in (("head", triple.head_span), ("tail", triple.tail_span)):
                if span is not None:
                    yield name, span
        case FeatureEvidence(span=Span() as span):
            yield "measured", span


def _derived(piece: Evidence, found: Mapping[object, Evidence], tolerance: float) -> Iterator[str]:
    """Yield how a piece differs from what the metric says now."""
    fresh = found.get(_key(piece))
    if fresh is None:
        yield _underived(piece, found)
        return
    for name, stated, now in _figures(piece, fresh):
        if not _same(stated, now, tolerance):
            yield f"{name} {_two(stated, now)}"
    if isinstance(piece, TripleEvidence) and isinstance(fresh, TripleEvidence):
        old, new = ((one.head, one.tail, one.source) if one else None
                    for one in (piece.known, fresh.known))  # fmt: skip
        if old != new:
            yield f"nearest known {_known(old)}, found {_known(new)}"


def _underived(piece: Evidence, found: Mapping[object, Evidence]) -> str:
    if isinstance(piece, TripleEvidence):
        places = (piece.triple.head_span, piece.triple.tail_span)
        for other in found.values():
            if isinstance(other, TripleEvidence) and places == (
                other.triple.head_span,
                other.triple.tail_span,
            ):
                return f"at these places the text gives: {_triple(other.triple)}"
    return "does not follow from the text"


def _sources(piece: Evidence, loaded: LoadedMetric) -> Iterator[str]:
    """Yield that what a piece calls known is not in the knowledge, or has another source."""
    if not isinstance(piece, TripleEvidence) or piece.known is None:
        return
    known, relation = piece.known, piece.triple.relation
    stores = [model for model in loaded.models.values() if isinstance(model, Sourced)]
    origins = [store.origin(known.head, relation, known.tail) for store in stores]
    if stores and known.source not in origins:
        stated = _known((known.head, known.tail, known.source))
        where = [origin for origin in origins if origin is not None]
        yield f"known {stated}: " + (f"its source is {where[0]}" if where else "is not known")


def _figures(piece: Evidence, fresh: Evidence) -> Iterator[tuple[str, float | None, float | None]]:
    match piece, fresh:
        case TripleEvidence(), TripleEvidence():
            yield "plausibility", piece.plausibility, fresh.plausibility
            if piece.known and fresh.known and piece.known.tail == fresh.known.tail:
                for name in ("head_similarity", "tail_similarity"):
                    yield name, getattr(piece.known, name), getattr(fresh.known, name)
        case TurnEvidence(), TurnEvidence():
            yield "effect", piece.effect, fresh.effect
        case FeatureEvidence(), FeatureEvidence():
            yield "value", piece.value, fresh.value
            yield "effect", piece.effect, fresh.effect


def _key(piece: Evidence) -> object:
    match piece:
        case TripleEvidence(triple=triple):
            return ("triple", triple)
        case TurnEvidence(turn=turn):
            return ("turn", turn)
        case FeatureEvidence(name=name, span=span):
            return ("feature", name, span)


def _kind(piece: Evidence) -> str:
    return str(type(piece).__struct_config__.tag)


def _words(piece: Evidence) -> str:
    match piece:
        case TripleEvidence(triple=triple):
            return _triple(triple)
        case TurnEvidence(turn=turn):
            return f"turn {turn}"
        case FeatureEvidence(name=name):
            return name


def _triple(triple: Triple) -> str:
    return f"{triple.head} —{triple.relation}→ {triple.tail}"


def _known(known: tuple[str, str, str] | None) -> str:
    return "nothing" if known is None else f"{known[0]} → {known[1]} ({known[2]})"


def _two(stated: float | None, found: float | None) -> str:
    """Return two figures that differ, with as many digits as show it."""
    short = [f"{one:.6g}" if one is not None else "none" for one in (stated, found)]
    if short[0] == short[1]:
        short = [repr(stated), repr(found)]
    return f"{short[0]}, found {short[1]}"


def _same(stated: float | None, found: float | None, tolerance: float) -> bool:
    if stated is None or found is None:
        return stated is found
    return abs(stated - found) <= tolerance
