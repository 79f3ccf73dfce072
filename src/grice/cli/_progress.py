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

    from grice.cli._forecast import Course
    from grice.records import Conversation, Score

__all__ = ["Progress"]


class Rate(ProgressColumn):
    """Replies per second; turns where no reply is judged by itself."""

    def render(self, task: Task) -> Text:
        """Return the rate so far."""
        seconds = task.elapsed or 0
        rate = task.fields["count"] / seconds if seconds > 0.5 else 0
        written = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
        return Text(f"{written} {task.fields['unit']}/s" if rate else "", style="cyan")


class TimeLeft(ProgressColumn):
    """Time left at the rate since the start; rich's own needs steadier news than ours."""

    def render(self, task: Task) -> Text:
        """Return minutes and seconds."""
        if not task.total or not task.completed or task.elapsed is None:
            return Text("")
        left = max(0, task.total - task.completed)
        seconds = round(task.elapsed * left / task.completed)
        return Text(f"{seconds // 60}:{seconds % 60:02d} left", style="cyan")


class Progress:
    """Listens to a run and draws how far it has come."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._console = console(stderr=True)
        self._turns = self._replies = 0
        self._bar = Bar(
            TextColumn("{task.fields[count]:,} {task.fields[unit]}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            Rate(),
            TimeLeft(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("scoring", total=course.total, count=0, unit="turns")

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Count one scored conversation."""
        self._turns += len(conversation.turns)
        self._replies += len({score.turn for score in scores if score.turn is not None})
        count, unit = (self._replies, "replies") if self._replies else (self._turns, "turns")
        self._bar.update(self._task, completed=self._course.completed, count=count, unit=unit)
