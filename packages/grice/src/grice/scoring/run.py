"""The pipeline: records in, scores out, a window of conversations at a time."""

from __future__ import annotations

import hashlib
import logging
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.json import encode

from grice.data import Conversation, Score
from grice.errors import InputError, RecordError
from grice.scoring.items import responses
from grice.scoring.presets import SMALL
from grice.scoring.sink import State
from grice.scoring.summary import Summary, SummaryBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from grice.scoring.blended import Blend
    from grice.scoring.loaded import LoadedMetric, ScoreColumn
    from grice.scoring.sink import Sink

logger = logging.getLogger("grice")
logger.addHandler(logging.NullHandler())  # whoever wants to read it says where

WINDOW_TURNS = 1024
WINDOW_RECORDS = 512
"""A window ends at whichever comes first: it bounds memory and what a kill can cost."""
FIRST_TURNS = 16
"""Turns of the first window; each may be twice as long as the one before, so that the first
scores, and with them an estimate of the time, come within seconds."""
CHANGED = "the input has changed since the interrupted run read it; give --no-resume to start over"


class Listener(Protocol):
    """Takes every scored conversation, such as a report."""

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Take one conversation with all its scores, in input order."""
        ...


class Stream(Protocol):
    """A source of records, which may be silent for a while."""

    def when_silent(self, callback: Callable[[], None]) -> None:
        """Set what is called in each silence."""
        ...


class Scorer(NamedTuple):
    """Metrics that are ready, and whose turns they judge.

    Attributes:
        metrics: The metrics in the order of their scores.
        speakers: Speakers or roles whose turns are judged; empty means all.
        preset: Name of the preset that chose models and weights.
        blends: Blends of these metrics, whose scores follow theirs.
    """

    metrics: Sequence[LoadedMetric]
    speakers: Collection[str] = ()
    preset: str = SMALL
    blends: Sequence[Blend] = ()

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        """Metadata of the metrics and blends, in the order of their scores."""
        return (*(metric.column for metric in self.metrics), *(b.column for b in self.blends))

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
        by_metric |= {blend.column.name: blend.score(by_metric) for blend in self.blends}
        return [
            sorted(
                (score for column in self.columns for score in by_metric[column.name][i]),
                key=lambda score: (score.turn is None, score.turn or 0),
            )
            for i in range(len(conversations))
        ]

    def count(self, conversation: Conversation) -> int:
        """Return how many scores :meth:`score` gives for a conversation."""
        judges = [column.judges for column in self.columns]
        replies = len(responses(conversation, self.speakers))
        return judges.count("response") * replies + judges.count("conversation")


def run(
    records: Iterable[Conversation | RecordError],
    scorer: Scorer,
    sink: Sink,
    listeners: Sequence[Listener] = (),
    streams: Sequence[Stream] = (),
) -> Summary:
    """Score a stream of records into a sink and return the summary.

    Conversations that an interrupted run has finished are not scored again: their scores are
    read back, so that summary and listeners see all of them.
    """
    windows = _Windows(scorer, sink, listeners)
    for stream in streams:
        stream.when_silent(windows.close)
    try:
        for record in records:
            windows.add(record)
        windows.close()
        if windows.state.records < sink.done.records:
            raise InputError(CHANGED)
        sink.finish()
    finally:
        sink.close()
    return windows.summary.summary()


class _Windows:
    def __init__(self, scorer: Scorer, sink: Sink, listeners: Sequence[Listener]) -> None:
        self.state = State(sink.done.run)
        self.summary = SummaryBuilder(scorer.columns, scorer.preset, scorer.speakers)
        self._scorer = scorer
        self._sink = sink
        self._listeners = listeners
        self._digest = hashlib.blake2b(digest_size=16)
        self._earlier = sink.replay()
        self._window: list[Conversation | RecordError] = []
        self._turns = 0
        self._most_turns = FIRST_TURNS

    def add(self, record: Conversation | RecordError) -> None:
        """Take a record; a full window is closed."""
        self._window.append(record)
        self._turns += len(record.turns) if isinstance(record, Conversation) else 0
        records = self.state.records + len(self._window)
        full = self._turns >= self._most_turns or len(self._window) >= WINDOW_RECORDS
        if full or records == self._sink.done.records:  # where an earlier run closed one
            self._most_turns = min(WINDOW_TURNS, 2 * self._most_turns)
            self.close()

    def close(self) -> None:
        """Score the records since the last window, if there are any."""
        window, self._window, self._turns = self._window, [], 0
        if not window:
            return
        for record in window:
            is_broken = isinstance(record, RecordError)
            content = str(record).encode("utf-8", "replace") if is_broken else encode(record)
            self._digest.update(content)
        records = self.state.records + len(window)
        self.state = State(self.state.run, self._digest.hexdigest(), records)
        conversations = [record for record in window if isinstance(record, Conversation)]
        if records <= self._sink.done.records:
            if records == self._sink.done.records and self.state.input != self._sink.done.input:
                raise InputError(CHANGED)
            scores = [
                list(islice(self._earlier, self._scorer.count(item))) for item in conversations
            ]
        else:
            scores = self._scorer.score(conversations)
            logger.info("scored %d conversations", len(conversations))
            self._sink.append([score for group in scores for score in group], self.state)
        groups = iter(scores)
        for record in window:
            if isinstance(record, RecordError):
                logger.warning("skipped: %s", record)
                self.summary.skip(record)
                continue
            group = next(groups)
            self.summary.add(record, group)
            for listener in self._listeners:
                listener.add(record, group)
