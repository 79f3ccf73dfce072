"""How long a run will take, and what a sample of its input would tell, by its first seconds."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from grice.stats import ClusteredMean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.records import Conversation, Score
    from grice.scoring.columns import ScoreColumn

MEASURED, FEWEST = 3.0, 8
"""Seconds and conversations on which a forecast rests, …"""
PATIENCE = 15.0
"""… or so many seconds of conversations that are slow."""
PAUSE = 0.2
"""Seconds: what comes sooner was computed before, and says nothing of the rest."""
WITHIN = 0.03
"""Half the width of the interval of a mean that a sample is to give."""
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)


class Forecast(NamedTuple):
    """What the first seconds say of a run.

    Attributes:
        seconds: Time that is left.
        replies: Replies a second; 0 if only whole conversations are judged.
        sample: Conversations of a sample that would do; 0 if none would save half of the time.
        within: Half the width of the widest 95 % interval of a mean over that sample.
        sample_seconds: Time the sample takes.
    """

    seconds: float
    replies: float
    sample: int = 0
    within: float = 0.0
    sample_seconds: float = 0.0


class Pace:
    """Listens to a run and says once how long it will take.

    Args:
        columns: What is computed.
        part: Returns how much of the input was taken so far, 0 to 1.
        clock: Returns seconds.
    """

    def __init__(
        self,
        columns: Sequence[ScoreColumn],
        part: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.replies = 0
        self._means = {
            column.name: ClusteredMean((0.0, 1.0))
            for column in columns
            if (column.low, column.high) == (0.0, 1.0)
        }
        self._part, self._clock = part, clock
        self._start: tuple[float, float, int, int] | None = None
        self._latest = (clock(), 0.0, 0, 0)
        self._done = False

    def add(
        self,
        conversation: Conversation,  # noqa: ARG002 - a listener's
        scores: Sequence[Score],
    ) -> Forecast | None:
        """Take one conversation with its scores; return a forecast once there is one."""
        forecast = None
        if self._clock() - self._latest[0] > PAUSE:
            if self._start is None:
                self._start = self._latest
            forecast = self._forecast(self._start)
        self._count(scores)
        return forecast

    def _count(self, scores: Sequence[Score]) -> None:
        self.replies += len({score.turn for score in scores if score.turn is not None})
        for name, mean in self._means.items():
            ok = [score for score in scores if score.metric == name and score.status == "ok"]
            mean.add([score.value for score in ok if score.value is not None])
        conversations = self._latest[2] + 1
        self._latest = (self._clock(), self._part(), conversations, self.replies)

    def _forecast(self, start: tuple[float, float, int, int]) -> Forecast | None:
        seconds, part, conversations, replies = (
            now - before for now, before in zip(self._latest, start, strict=True)
        )
        enough = seconds >= MEASURED and conversations >= FEWEST
        if self._done or part <= 0 or not (enough or seconds >= PATIENCE):
            return None
        self._done = True
        left = seconds / part * (1 - self._latest[1])
        forecast = Forecast(left, replies / seconds)
        size, within = self._sample()
        needed = size * seconds / conversations
        return (
            forecast._replace(sample=size, within=within, sample_seconds=needed)
            if (size and needed < left / 2)
            else forecast
        )

    def _sample(self) -> tuple[int, float]:
        """Return how many conversations give every mean well enough, and how well; 0 if unknown."""
        means = (mean.estimate() for mean in self._means.values())
        intervals = [mean.interval for mean in means if mean and mean.interval]
        widths = [(high - low) / 2 for low, high in intervals]
        scored = self._latest[2]
        if not widths or scored < FEWEST:
            return 0, 0.0
        # The width of an interval falls with the root of the number of conversations.
        spread = max(widths) * math.sqrt(scored)
        size = next((size for size in SIZES if spread / math.sqrt(size) <= WITHIN), 0)
        return size, spread / math.sqrt(size) if size else 0.0
