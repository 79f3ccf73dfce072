"""What a person sees while a model is fetched: lines, and a bar on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from grice.cli.terminal import console, note, warn

if TYPE_CHECKING:
    from rich.progress import TaskID


class Fetching:
    """Listens to a download; everything goes to standard error, the bar to a terminal alone."""

    def __init__(self) -> None:
        out = console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=out,
            disable=not out.is_terminal,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Fetching:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            warn("what came is kept; the same command goes on")

    def say(self, message: str) -> None:
        """Print one line."""
        warn(message)

    def received(self, file: str, done: int, total: int | None) -> None:
        """Draw how much of a file is there; its first bytes are worth a line in a log."""
        if file not in self._tasks:
            self._tasks[file] = self._bar.add_task(file, total=total)
            note(f"fetching {file}{_begun(done, total)}")
        self._bar.update(self._tasks[file], completed=done, total=total)


def _begun(done: int, total: int | None) -> str:
    size = "" if total is None else f" of {total / 1e6:,.1f} MB"
    return f"{size}, of which {done / 1e6:,.1f} MB are here" if done else size
