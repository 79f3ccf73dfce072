"""Re-derives what a file of scores says from the conversations, the models and the knowledge.

Nothing of a file is believed. The metric judges each reply again, and each piece of evidence is
held against what the text, the metric and the knowledge say (:mod:`grice.evaluation.derivation`).
None of it looks at which metric it is. A blend is made again of its metrics, judged again.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError, RecordError
from grice.evaluation.derivation import figures, problems, same
from grice.evaluation.evidence import describe, identity, kind
from grice.evaluation.scores import by_conversation, read_scores
from grice.progress import track
from grice.readers import part_read, read, records_of
from grice.records import Conversation, Score
from grice.scoring.blended import blend_of, written_blend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from grice.metrics.declaration import Metric
    from grice.scoring.api import Grader
    from grice.scoring.blended import Blend, WrittenBlend
    from grice.scoring.loaded import LoadedMetric

AT_ONCE = 256
"""Conversations judged at once."""
SHOWN = 20
"""Differences that are kept to be shown."""
TOLERANCE = 1e-6
"""Figures this near are the same: on one machine they are equal to the last bit."""


class Difference(msgspec.Struct, frozen=True):
    """Something in the file that does not follow.

    Attributes:
        turn: The judged turn; None for the whole conversation.
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


class Stated(NamedTuple):
    """How a file says that its scores were computed.

    Attributes:
        signatures: What exactly was computed, by metric; those that are blended are there, too.
        blends: The blends by name, of the scores.
        options: Options of each metric that is installed here.
        fast: Whether they were computed in fast mode.
    """

    signatures: dict[str, str]
    blends: dict[str, WrittenBlend]
    options: dict[str, dict[str, object]]
    fast: bool


def stated(file: str, metrics: Mapping[str, Metric]) -> Stated:
    """Return how a file says that its scores were computed.

    Args:
        file: What ``grice score`` wrote.

    Raises:
        InputError: If it is no file of scores, or one metric was computed in several ways.
    """
    signatures: dict[str, str] = {}
    for number, score in read_scores(file):
        known = signatures.setdefault(score.metric, score.signature)
        if known != score.signature:
            raise InputError(
                f"{file}:{number}: {score.metric} was computed in two ways in one file:"
                f"\n  {known}\n  {score.signature}"
            )
    written = {name: written_blend(text) for name, text in signatures.items()}
    blends = {name: blend for name, blend in written.items() if blend is not None}
    for blend in blends.values():
        signatures = blend.parts | signatures
    options = {
        name: _options(metrics[name], text) for name, text in signatures.items() if name in metrics
    }
    fast = any("mode:fast" in signatures[name].split("|") for name in options)
    return Stated(signatures, blends, options, fast)


def _options(metric: Metric, signature: str) -> dict[str, object]:
    parts = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    types = {"int": int, "float": float, "str": str}
    return {
        option.name: types[option.type](parts[option.name])
        for option in metric.options
        if option.name in parts
    }


def verify_files(
    scores: str,
    files: Sequence[str],
    *,
    load: Callable[[Sequence[str], Stated], Grader],
    installed: Mapping[str, Metric],
    metrics: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the name that every reader of files uses
    columns: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> VerifyResult:
    """Re-derive a file of scores from the conversations that were scored.

    Args:
        scores: What ``grice score`` wrote.
        files: The conversations, in the order in which they were scored.
        load: Loads metrics by name with the stated options.
        format: Format of the conversations; by default it is recognised.
        columns: Names of columns of a table by what they are; see :func:`grice.read`.
        tolerance: Largest difference of two figures that count as the same.

    Raises:
        InputError: If the file lacks a metric, or a scored conversation is not in the files.
    """
    how = stated(scores, installed)
    for name in metrics:
        if name not in how.signatures:
            raise InputError(
                f"{scores}: no scores of metric {name!r}; it has {', '.join(how.signatures)}"
            )
    with load(_computed(metrics or [*how.signatures], how), how) as grader:
        loaded = grader.scorer.metrics
        wanted = [name for name in how.blends if name in (metrics or how.blends)]
        blends = [blend_of(how.blends[name].stated, loaded) for name in wanted]
        return verify(scores, _scored(files, format, columns), loaded, blends, tolerance=tolerance)


def _computed(names: Iterable[str], how: Stated) -> list[str]:
    """Return the metrics that are judged again for scores of these names."""
    parts = (how.blends[name].parts if name in how.blends else (name,) for name in names)
    return list(dict.fromkeys(chain.from_iterable(parts)))


def _scored(
    files: Sequence[str], form: str | None, columns: Mapping[str, str] | None
) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of files as ``grice score`` sees them: of several, with the file."""
    with ExitStack() as stack:
        readings = [stack.enter_context(read(file, format=form, columns=columns)) for file in files]
        part = partial(part_read, readings)
        yield from track(records_of(readings), "conversations", part=part)


def verify(
    file: str,
    records: Iterable[Conversation | RecordError],
    metrics: Sequence[LoadedMetric],
    blends: Sequence[Blend] = (),
    *,
    tolerance: float = TOLERANCE,
) -> VerifyResult:
    """Re-derive the scores of a file.

    Args:
        file: What ``grice score`` wrote.
        records: The conversations it was written for, in the same order; further ones are
            passed over. Of several files, each carries its name as ``grice score`` writes it.
        metrics: The metrics of the file, loaded as it was written; others are passed over.
        blends: The blends of the file, of these metrics.
        tolerance: Largest difference of two figures that count as the same.

    Raises:
        InputError: If a scored conversation is not among the records.
    """
    known = {
        loaded.metric.name: _Source(loaded.signature, loaded.score, loaded.models)
        for loaded in metrics
    }
    known |= {
        blend.column.name: _Source(blend.column.signature, partial(_blended, blend, known), {})
        for blend in blends
    }
    book = _Book(file, tolerance)
    scores = (score for _, score in read_scores(file) if score.metric in known)
    for window in _joined(file, by_conversation(scores), records):
        for name, source in known.items():
            _verify_window(book, name, source, window)
    return book.result()


class _Source(NamedTuple):
    """What gives the scores of one name again.

    Attributes:
        models: What may know the sources of their evidence.
    """

    signature: str
    score: Callable[[Sequence[Conversation]], list[list[Score]]]
    models: Mapping[str, object]


def _blended(
    blend: Blend, sources: Mapping[str, _Source], conversations: Sequence[Conversation]
) -> list[list[Score]]:
    return blend.score({part: sources[part].score(conversations) for part in blend.parts})


class _Item(NamedTuple):
    conversation: Conversation
    scores: Sequence[Score]


def _joined(
    file: str, groups: Iterator[list[Score]], records: Iterable[Conversation | RecordError]
) -> Iterator[list[_Item]]:
    """Yield windows of conversations with their scores; both come in the same order."""

    def pairs() -> Iterator[_Item]:
        group = next(groups, None)
        for record in records:
            if group is None:
                return
            if isinstance(record, Conversation) and _is_of(record, group[0]):
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


def _is_of(record: Conversation, score: Score) -> bool:
    same_file = record.meta.get("file") == score.meta.get("file")
    return same_file and record.id == score.conversation


def _verify_window(book: _Book, name: str, source: _Source, window: Sequence[_Item]) -> None:
    own = [
        _Item(item.conversation, [score for score in item.scores if score.metric == name])
        for item in window
    ]
    own = [item for item in own if item.scores]
    for item, group in zip(own, source.score([*map(_asked, own)]), strict=True):
        derived = {score.turn: score for score in group}
        texts = [turn.text for turn in item.conversation.turns]
        for score in item.scores:
            _verify_score(book, score, derived.get(score.turn), texts, source)


def _asked(item: _Item) -> Conversation:
    turns = tuple(score.turn for score in item.scores if score.turn is not None)
    return msgspec.structs.replace(item.conversation, targets=turns or item.conversation.targets)


def _verify_score(
    book: _Book, score: Score, derived: Score | None, texts: Sequence[str], source: _Source
) -> None:
    book.scores += 1
    if score.signature != source.signature:
        book.other_signature(score, source.signature)
    if derived is None:
        book.note(score, "value", "", [f"turn {score.turn} is not judged in this conversation"])
        return
    value = []
    if score.status != derived.status:
        value = [f"status {score.status!r}, found {derived.status!r}"]
    elif not same(score.value, derived.value, book.tolerance):
        value = [f"value {figures(score.value, derived.value)}"]
    book.note(score, "value", "", value)
    pieces = {identity(piece): piece for piece in derived.evidence}
    for piece in score.evidence:
        reasons = problems(piece, texts, pieces, source.models, book.tolerance)
        book.note(score, kind(piece), describe(piece), reasons)
    written = {identity(piece) for piece in score.evidence}
    for key, piece in pieces.items():
        if key not in written:
            book.note(score, kind(piece), describe(piece), ["found, but not in the file"])


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

    def note(self, score: Score, kind: str, piece: str, reasons: Sequence[str]) -> None:
        counts = self._counts.setdefault((score.metric, kind), [0, 0])
        counts[bool(reasons)] += 1
        if reasons:
            self._keep(score, kind, piece, "; ".join(reasons))

    def other_signature(self, score: Score, here: str) -> None:
        if score.metric in self._signatures:
            return
        self._signatures.add(score.metric)
        old, new = (set(text.split("|")) for text in (score.signature, here))
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
