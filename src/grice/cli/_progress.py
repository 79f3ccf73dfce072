"""The progress bar of a run: rate and time left on a terminal, nothing in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TextColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from grice.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from grice.formats import Reading
    from grice.records import Conversation, Score

__all__ = ["Progress"]


class Rate(ProgressColumn):
    """Turns per second."""

    def render(self, task: Task) -> Text:
        """Return the rate so far."""
        seconds = task.elapsed or 0
        rate = task.fields["turns"] / seconds if seconds > 0.5 else 0
        return Text(f"{rate:,.0f} turns/s" if rate else "", style="cyan")


class TimeLeft(ProgressColumn):
    """Time left at the rate since the start; rich's own needs steadier news than ours."""

    def render(self, task: Task) -> Text:
        """Return minutes and seconds."""
        if not task.total or not task.completed or task.elapsed is None:
            return Text("")
        seconds = round(task.elapsed * (task.total - task.completed) / task.completed)
        return Text(f"{seconds // 60}:{seconds % 60:02d} left", style="cyan")


class Progress:
    """Listens to a run and draws how far it has come, by the bytes read of the inputs."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._readings = readings
        self._console = console(stderr=True)
        self._turns = 0
        self._bar = Bar(
            TextColumn("{task.fields[turns]:,} turns"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            Rate(),
            TimeLeft(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        sizes = [reading.size for reading in readings]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        self._task = self._bar.add_task("scoring", total=total, turns=0)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:  # noqa: ARG002
        """Count one scored conversation."""
        self._turns += len(conversation.turns)
        read = sum(reading.position for reading in self._readings)
        self._bar.update(self._task, completed=read, turns=self._turns)
