"""What a person is told of a run that takes long, in one line on standard error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from grice.scoring.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.readers import Reading
    from grice.records import Conversation, Score
    from grice.scoring.columns import ScoreColumn
    from grice.scoring.pace import Forecast

LONG = 30
"""Seconds from which it is said how long a run will take."""


class Course:
    """How far a run has come, by the bytes read of its inputs.

    Of a sample the conversations are counted instead, for its inputs are read to their end first.

    Args:
        readings: The inputs.
        sample: How many conversations are drawn of them; None if all are scored.
    """

    def __init__(self, readings: Sequence[Reading], sample: int | None = None) -> None:
        self.sampled = sample is not None
        self.conversations = 0
        sizes = [reading.size for reading in readings]
        self.total = sample or (None if None in sizes else sum(size or 0 for size in sizes))
        self._readings = readings

    @property
    def completed(self) -> int:
        """How much of ``total`` is done."""
        if self.sampled:
            return self.conversations
        return sum(reading.position for reading in self._readings)

    def part(self) -> float:
        """Return how much is done, 0 to 1; 0 where nobody can tell."""
        return min(1.0, self.completed / self.total) if self.total else 0.0


class Announcer:
    """Listens to a run, and says how long it will take if that is long.

    Args:
        course: How far the run has come.
        columns: What it computes.
        clock: Returns seconds.
    """

    def __init__(
        self,
        course: Course,
        columns: Sequence[ScoreColumn],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._course = course
        self._pace = Pace(columns, course.part, clock)

    def add(self, conversation: Conversation, scores: Sequence[Score]) -> None:
        """Count one scored conversation."""
        self._course.conversations += 1
        forecast = self._pace.add(conversation, scores)
        if forecast and forecast.seconds > LONG:
            from grice.cli.terminal import warn

            warn(_sentence(forecast, sampled=self._course.sampled))


def _sentence(forecast: Forecast, *, sampled: bool) -> str:
    rate = f" ({forecast.replies:,.3g} replies/s)" if forecast.replies else ""
    left = f"about {_span(forecast.seconds)} on this machine{rate}"
    if sampled or not forecast.sample:
        return left
    within, seconds = f"{forecast.within:.2g}", _span(forecast.sample_seconds)
    return f"{left}; --sample {forecast.sample} gives the means within ±{within} in {seconds}"


def _span(seconds: float) -> str:
    """Return a length of time in its largest unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h" if seconds < 48 * 3600 else f"{seconds / 86400:.2g} days"
