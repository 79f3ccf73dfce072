"""What a gate holds a run to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grice.stats.clusters import Bounds

EVERY = "every metric"
"""Name under which shares of statuses over all metrics are checked."""


class ShareBelow(msgspec.Struct, frozen=True):
    """At most so large a share of the items may score below a value."""

    metric: str
    below: float
    share: float


class Rules(msgspec.Struct, frozen=True):
    """What a run has to hold.

    Attributes:
        minimum: Least mean by metric, held against the low end of its interval.
        share_below: Largest shares, held against the high end of the interval of the share.
        max_failed: Largest share of failed scores by metric, or of :data:`EVERY`.
        max_abstained: Largest share of abstained scores likewise.
        allow_uncertain: Let checks pass that a larger sample might decide either way.
        max_drop: Largest drop of the mean against a baseline, by metric, or of :data:`EVERY` one
            that both have; held against the low end of the interval of the difference.
    """

    minimum: dict[str, float] = {}
    share_below: tuple[ShareBelow, ...] = ()
    max_failed: dict[str, float] = {}
    max_abstained: dict[str, float] = {}
    allow_uncertain: bool = False
    max_drop: dict[str, float] = {}

    def metrics(self) -> set[str]:
        """Return the metrics that the rules name.

        Raises:
            InputError: If there is no rule, or a threshold is no finite number or no share.
        """
        statuses = (*self.max_failed.items(), *self.max_abstained.items())
        below = [(rule.metric, rule.below) for rule in self.share_below]
        shares = [(rule.metric, rule.share) for rule in self.share_below]
        for metric, value in (*self.minimum.items(), *below):
            if not math.isfinite(value):
                raise InputError(f"{metric}: a threshold is a finite number, found {value}")
        for metric, value in (*statuses, *shares):
            if not 0 <= value <= 1:
                raise InputError(f"{metric}: a share lies between 0 and 1, found {value}")
        for metric, value in self.max_drop.items():
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{metric}: a drop is 0 or more, found {value}")
        drops = self.max_drop.items()
        named = {metric for metric, _ in (*self.minimum.items(), *statuses, *shares, *drops)}
        if not named:
            raise InputError(
                "nothing to check: give a least mean (--min), a largest share below a value "
                "(--max-share-below), a largest share of failed or abstained scores "
                "(--max-failed, --max-abstained), or a largest drop against an earlier run "
                "(--baseline, --max-drop)"
            )
        return named - {EVERY}

    def check_reachable(self, ranges: Mapping[str, Bounds]) -> None:
        """Refuse thresholds that no score can miss, or none can reach.

        Args:
            ranges: The least and the greatest value of metrics, where they are known.

        Raises:
            InputError: If there is one.
        """
        below = [(rule.metric, rule.below) for rule in self.share_below]
        for metric, value in (*self.minimum.items(), *below):
            low, high = ranges.get(metric, (-math.inf, math.inf))
            if not low <= value <= high:
                raise InputError(
                    f"{metric}: its scores lie between {low:g} and {high:g}, a threshold of "
                    f"{value:g} decides nothing"
                )


def rules(
    *,
    minimum: Iterable[tuple[str, float]] = (),
    share_below: Iterable[tuple[str, float, float]] = (),
    max_failed: Iterable[tuple[str, float]] = (),
    max_abstained: Iterable[tuple[str, float]] = (),
    max_drop: Iterable[tuple[str, float]] = (),
    allow_uncertain: bool = False,
) -> Rules:
    """Return rules from thresholds as a command line names them.

    Args:
        minimum: Metric and least mean.
        share_below: Metric, value, and the largest share of items below it.
        max_failed: Metric, or nothing for all of them, and the largest share of failed scores.
        max_abstained: The same of abstained scores.
        max_drop: Metric, or nothing for all of them, and the largest drop of its mean.
        allow_uncertain: Let checks pass that a larger sample might decide either way.

    Raises:
        InputError: If a metric has two thresholds of one kind.
    """
    return Rules(
        _once("--min", minimum),
        tuple(ShareBelow(*rule) for rule in share_below),
        _once("--max-failed", max_failed),
        _once("--max-abstained", max_abstained),
        allow_uncertain,
        _once("--max-drop", max_drop),
    )


def _once(flag: str, thresholds: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return thresholds by metric; of two for one metric none is dropped in silence."""
    by_metric: dict[str, float] = {}
    for metric, value in thresholds:
        name = metric or EVERY
        if name in by_metric:
            pair = f"{by_metric[name]:g} and {value:g}"
            raise InputError(f"{flag}: two thresholds for {name}, {pair}")
        by_metric[name] = value
    return by_metric
