"""Progress bars with the time left on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    ProgressColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from grice.cli.streams import QUIET
from grice.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.data import Conversation, Score
    from grice.readers import Reading

SHORTEST = 0.3
"""Seconds of work without a bar, which would only flicker."""


def _bar(*columns: ProgressColumn) -> Bar:
    """Return a bar on standard error; in a pipe, and if quiet, it draws nothing."""
    out = console(stderr=True)
    return Bar(
        *columns,
        TimeRemainingColumn(),
        console=out,
        disable=QUIET.get() or not out.is_terminal,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # results stay out of standard error
    )


def _counter(total: int | None, unit: str) -> tuple[Bar, TaskID]:
    """Return a bar that counts units, and its only task."""
    count = TextColumn("{task.fields[count]:,} {task.fields[unit]}")
    bar = _bar(count, BarColumn(), TaskProgressColumn())
    return bar, bar.add_task("", total=total, count=0, unit=unit)


class Stages:
    """Draw a bar for each stage of a command that takes long."""

    def __init__(self, patience: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._earliest = clock() + patience
        self._stage: tuple[str, int | None, float] = ("", None, 0.0)
        self._done = 0
        self._bar: Bar | None = None
        self._task = TaskID(0)

    def begin(self, unit: str, total: int | None) -> None:
        """Start a stage."""
        self._stage, self._done = (unit, total, self._clock()), 0

    def advance(self, done: int, part: float | None = None) -> None:
        """Add finished units; ``part`` is the finished share, 0 to 1, where the total is open."""
        unit, total, since = self._stage
        self._done += done
        if self._bar is None and self._clock() >= max(self._earliest, since + SHORTEST):
            self._bar, self._task = _counter(total, unit)
            # The rate is that since the stage began.
            self._bar.tasks[0].start_time = self._bar.get_time() - (self._clock() - since)
            self._bar.start()
        if self._bar is not None:
            share = {"completed": self._done} if part is None else {"total": 1.0, "completed": part}
            self._bar.update(self._task, count=self._done, **share)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class Progress:
    """Draw the progress of ``grice score``: bytes read of its inputs, or conversations sampled."""

    def __init__(self, readings: Sequence[Reading], sample: int | None = None) -> None:
        self._readings, self._sampled = readings, sample is not None
        self._conversations = self._turns = self._replies = 0
        sizes = [reading.size for reading in readings]
        total = sample or (None if None in sizes else sum(size or 0 for size in sizes))
        self._bar, self._task = _counter(total, "turns")

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Count one scored conversation."""
        self._conversations += 1
        self._turns += len(conversation.turns)
        self._replies += len({score.turn for score in scores if score.turn is not None})
        count, unit = (self._replies, "replies") if self._replies else (self._turns, "turns")
        read = sum(reading.position for reading in self._readings)
        done = self._conversations if self._sampled else read
        self._bar.update(self._task, completed=done, count=count, unit=unit)
