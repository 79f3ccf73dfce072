"""Progress bars with the time left on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from grice.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.readers import Reading
    from grice.records import Conversation, Score

UNSEEN = 0.3
"""Seconds that a part of the work may take without a bar, which would only flicker."""


def _bar(total: int | None, unit: str) -> tuple[Bar, TaskID]:
    """Return a bar on standard error, and its only task; in a pipe it draws nothing."""
    out = console(stderr=True)
    bar = Bar(
        TextColumn("{task.fields[count]:,} {task.fields[unit]}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=out,
        disable=not out.is_terminal,
        transient=True,
        # What is printed meanwhile stands above the bar, but results stay out of standard error.
        redirect_stdout=sys.stdout.isatty(),
    )
    return bar, bar.add_task("", total=total, count=0, unit=unit)


class Stages:
    """Watches the work of a command, and draws a bar for each part of it that takes long."""

    def __init__(self, patience: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._earliest = clock() + patience
        self._stage: tuple[str, int | None, float] = ("", None, 0.0)
        self._done = 0
        self._bar: Bar | None = None
        self._task = TaskID(0)

    def begin(self, unit: str, total: int | None) -> None:
        """Learn of a part of the work."""
        self._stage, self._done = (unit, total, self._clock()), 0

    def advance(self, done: int, part: float | None = None) -> None:
        """Draw how far it has come."""
        unit, total, since = self._stage
        self._done += done
        if self._bar is None and self._clock() >= max(self._earliest, since + UNSEEN):
            self._bar, self._task = _bar(total, unit)
            # The rate is that since the part began.
            self._bar.tasks[0].start_time = self._bar.get_time() - (self._clock() - since)
            self._bar.start()
        if self._bar is not None and part is None:
            self._bar.update(self._task, completed=self._done, count=self._done)
        elif self._bar is not None:
            self._bar.update(self._task, total=1.0, completed=part, count=self._done)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class Progress:
    """Listens to a run of ``grice score`` and draws its progress, by the bytes read of its inputs.

    Of a sample the conversations are counted instead, for its inputs are read to their end first.
    """

    def __init__(self, readings: Sequence[Reading], sample: int | None = None) -> None:
        self._readings, self._sampled = readings, sample is not None
        self._conversations = self._turns = self._replies = 0
        sizes = [reading.size for reading in readings]
        total = sample or (None if None in sizes else sum(size or 0 for size in sizes))
        self._bar, self._task = _bar(total, "turns")

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
