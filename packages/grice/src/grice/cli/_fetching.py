"""Progress of a model that is fetched: one bar on a terminal, a few lines in a log."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from grice.cli._streams import QUIET
from grice.cli.terminal import console, note, warn

if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST = 10
"""Seconds between two lines of a log."""


class Fetching:
    """Listens to a download and reports it on standard error."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._out = console(stderr=True)
        self._bar: Progress | None = None
        self._name = ""
        self._total: int | None = None
        self._begun = self._said = 0.0
        self._before = self._came = 0

    def __enter__(self) -> Fetching:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop()
        if kind is KeyboardInterrupt:
            warn("files that came whole are kept; the same command goes on")

    def say(self, message: str) -> None:
        """Print one message."""
        note(message)

    def begin(self, name: str, total: int | None, done: int) -> None:
        """Start the bar of a model."""
        self._name, self._total = name, total
        self._begun = self._said = self._clock()
        self._before = self._came = done
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=self._out,
            disable=QUIET.get() or not self._out.is_terminal,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            get_time=self._clock,
        )
        self._bar.add_task(name, total=total, completed=done)
        self._bar.start()

    def received(self, done: int) -> None:
        """Show how much of the model is here."""
        self._came = done
        if self._bar is None:
            return
        self._bar.update(self._bar.task_ids[0], completed=done)
        if not self._out.is_terminal and self._clock() - self._said >= SHORTEST:
            self._said = self._clock()
            task = self._bar.tasks[0]
            of = (
                f" of {self._total / 1e6:,.1f} MB ({done / self._total:.0%})" if self._total else ""
            )
            left = task.time_remaining
            rest = f", {timedelta(seconds=left)} left" if left else ""
            note(f"{self._name}: {done / 1e6:,.1f}{of or ' MB'}{rest}")

    def end(self) -> None:
        """Take the bar away and print how much was fetched, and in which time."""
        self._stop()
        took = timedelta(seconds=round(self._clock() - self._begun))
        if fetched := self._came - self._before:
            note(f"{self._name}: {fetched / 1e6:,.1f} MB fetched in {took}")

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
