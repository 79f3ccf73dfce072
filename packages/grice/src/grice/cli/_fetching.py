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
    from collections.abc import Callable, Mapping

SHORTEST, LONGEST = 10, 60
"""Seconds between two lines of a log: the first at least, the second if little comes."""
STEP = 0.1
"""Part of a model that is worth a line of a log."""


class Fetching:
    """Listens to a download and reports it on standard error.

    All files of a model are one bar on a terminal; a log has a line for every tenth of the model,
    at most one in ten seconds and at least one in a minute.

    Args:
        clock: Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._out = console(stderr=True)
        self._bar: Progress | None = None
        self._total: int | None = None
        self._files: dict[str, tuple[int, int | None]] = {}
        self._name = ""
        self._begun = self._said = 0.0
        self._before = self._told = 0

    def __enter__(self) -> Fetching:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop()
        if kind is KeyboardInterrupt:
            warn("what came is kept; the same command goes on")

    def say(self, message: str) -> None:
        """Print one message."""
        note(message)

    def begin(self, name: str, total: int | None, done: Mapping[str, int]) -> None:
        """Start the bar of a model."""
        self._name, self._total = name, total
        self._files = {file: (size, None) for file, size in done.items()}
        self._begun = self._said = self._clock()
        self._before = self._told = sum(done.values())
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
        self._bar.add_task(name, total=total, completed=self._told)
        self._bar.start()

    def received(self, file: str, done: int, total: int | None) -> None:
        """Show how much of the model is there."""
        if self._bar is None:
            return
        self._files[file] = (done, total)
        came = self._came
        self._bar.update(self._bar.task_ids[0], completed=came, total=self._expected)
        if not self._out.is_terminal:
            self._log(came)

    def end(self) -> None:
        """Take the bar away and print how much was fetched, and in which time."""
        self._stop()
        took = timedelta(seconds=round(self._clock() - self._begun))
        if fetched := self._came - self._before:
            note(f"{self._name}: {fetched / 1e6:,.1f} MB fetched in {took}")

    @property
    def _came(self) -> int:
        return sum(size for size, _ in self._files.values())

    @property
    def _expected(self) -> int | None:
        """Bytes in all, as far as they are known."""
        sizes = [total for _, total in self._files.values()]
        return self._total or (None if None in sizes else sum(size or 0 for size in sizes))

    def _log(self, came: int) -> None:
        total, waited = self._expected, self._clock() - self._said
        step = total is None or came - self._told >= STEP * total
        if waited < (SHORTEST if step else LONGEST) or self._bar is None:
            return
        self._said, self._told = self._clock(), came
        of, task = "", self._bar.tasks[0]
        if total:
            of = f" of {total / 1e6:,.1f} MB ({came / total:.0%})"
        speed = f", {task.speed / 1e6:,.1f} MB/s" if task.speed else ""
        left = f", {timedelta(seconds=task.time_remaining)} left" if task.time_remaining else ""
        note(f"{self._name}: {came / 1e6:,.1f}{of or ' MB'}{speed}{left}")

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
