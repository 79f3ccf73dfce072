"""The one way through: records in, scores out, a window of conversations at a time."""

from __future__ import annotations

import hashlib
import logging
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from grice.errors import InputError, RecordError
from grice.records import Conversation, Score
from grice.scoring.items import responses
from grice.scoring.presets import SMALL
from grice.scoring.sink import State
from grice.scoring.summary import Summary, SummaryBuilder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from grice.scoring.loaded import LoadedMetric
    from grice.scoring.sink import Sink

__all__ = ["Listener", "Scorer", "run"]

logger = logging.getLogger("grice")
logger.addHandler(logging.NullHandler())  # whoever wants to read it says where

WINDOW_TURNS = 1024
WINDOW_RECORDS = 512
"""A window ends at whichever comes first: it bounds memory and what a kill can cost."""
FIRST_TURNS = 16
"""Turns of the first window. Each may be twice as long as the one before, so that whoever waits
learns within seconds how long a run will take."""


class Listener(Protocol):
    """Whoever wants to see every scored conversation, such as a report."""

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Take one conversation with all its scores, in input order."""
        ...


class Scorer(NamedTuple):
    """Metrics that are ready, and whose turns they judge.

    Attributes:
        metrics: The metrics in the order of their scores.
        speakers: Speakers or roles whose turns are judged; empty means all.
        preset: Name of the preset that chose models and weights.
    """

    metrics: Sequence[LoadedMetric]
    speakers: Collection[str] = ()
    preset: str = SMALL

    def score(self, conversations: Sequence[Conversation]) -> list[list[Score]]:
        """Return the scores of each conversation: turn by turn, then those of the whole."""
        # Metrics with several models and those of whole conversations read token states, which
        # leave sentence vectors behind; running them first saves the others the encoding. The
        # order of scores is not touched.
        costly_first = sorted(
            self.metrics,
            key=lambda loaded: (-len(loaded.metric.models), loaded.metric.judges != "conversation"),
        )
        by_metric = {
            loaded.metric.name: loaded.score(conversations, self.speakers)
            for loaded in costly_first
        }
        return [
            sorted(
                (score for loaded in self.metrics for score in by_metric[loaded.metric.name][i]),
                key=lambda score: (score.turn is None, score.turn or 0),
            )
            for i in range(len(conversations))
        ]

    def count(self, conversation: Conversation) -> int:
        """Return how many scores :meth:`score` gives for a conversation."""
        judges = [loaded.metric.judges for loaded in self.metrics]
        replies = len(responses(conversation, self.speakers))
        return judges.count("response") * replies + judges.count("conversation")


def run(
    records: Iterable[Conversation | RecordError],
    scorer: Scorer,
    sink: Sink,
    listeners: Sequence[Listener] = (),
) -> Summary:
    """Score a stream of records into a sink and return the summary.

    Conversations that an interrupted run has finished are not scored again: their scores are
    read back, so that summary and listeners see all of them.

    Raises:
        InputError: If the input is no longer the one that the interrupted run has read.
        OutputError: If the sink cannot be written.
    """
    summary = SummaryBuilder(scorer.metrics, scorer.preset, scorer.speakers)
    try:
        for window, scores in _score_windows(records, scorer, sink):
            _tell(window, scores, summary, listeners)
        sink.finish()
    finally:
        sink.close()
    return summary.summary()


def _score_windows(
    records: Iterable[Conversation | RecordError], scorer: Scorer, sink: Sink
) -> Iterator[tuple[list[Conversation | RecordError], list[list[Score]]]]:
    digest = hashlib.blake2b(digest_size=16)
    state = State(sink.done.run)
    earlier = sink.replay()
    for window in _windows(records, sink.done.records):
        conversations = [record for record in window if isinstance(record, Conversation)]
        for record in window:
            digest.update(_content(record))
        state = State(state.run, digest.hexdigest(), state.records + len(window))
        if state.records <= sink.done.records:
            _check_unchanged(state, sink.done)
            scores = [list(islice(earlier, scorer.count(item))) for item in conversations]
        else:
            scores = scorer.score(conversations)
            logger.info("scored %d conversations", len(conversations))
            sink.append([score for group in scores for score in group], state)
        yield window, scores
    if state.records < sink.done.records:
        raise _changed()


def _windows(
    records: Iterable[Conversation | RecordError], done: int
) -> Iterator[list[Conversation | RecordError]]:
    """Yield records in windows, one of which ends where an interrupted run did."""
    window: list[Conversation | RecordError] = []
    turns, most = 0, FIRST_TURNS
    for count, record in enumerate(records, 1):
        window.append(record)
        turns += len(record.turns) if isinstance(record, Conversation) else 0
        if turns >= most or len(window) >= WINDOW_RECORDS or count == done:
            yield window
            window, turns, most = [], 0, min(2 * most, WINDOW_TURNS)
    if window:
        yield window


def _tell(
    window: Sequence[Conversation | RecordError],
    scores: Sequence[Sequence[Score]],
    summary: SummaryBuilder,
    listeners: Sequence[Listener],
) -> None:
    groups = iter(scores)
    for record in window:
        if isinstance(record, RecordError):
            logger.warning("skipped: %s", record)
            summary.skip(record)
            continue
        group = next(groups)
        summary.add(record, group)
        for listener in listeners:
            listener.add(record, group)


def _content(record: Conversation | RecordError) -> bytes:
    if isinstance(record, RecordError):
        return str(record).encode("utf-8", "replace")
    return msgspec.json.encode(record)


def _check_unchanged(state: State, done: State) -> None:
    if state.records == done.records and state.input != done.input:
        raise _changed()


def _changed() -> InputError:
    return InputError(
        "the input has changed since the interrupted run read it; give --no-resume to start over"
    )
