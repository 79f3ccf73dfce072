"""A number with its interval."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import GriceError, plural

if TYPE_CHECKING:
    from types import ModuleType

    from grice.stats.clusters import Bounds

FEW = 10
"""With fewer items or conversations than this, an interval is marked as a rough guide."""
Side: TypeAlias = Literal["above", "below", "either"]
"""The whole interval lies above a threshold, below it, or it holds the threshold."""


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number with its interval and what it rests on.

    Attributes:
        low, high: Bounds; None where the data allow no interval, and then ``note`` says why.
        level: Confidence level of the interval, 0.95 for 95 %.
        n: Number of items.
        method: How value and interval were computed, with resamples and seed where there are any.
        groups: Number of conversations of the items, if they were taken into account.
        note: A warning; None if there is no reason for one.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    n: int
    method: str
    groups: int | None = None
    note: str | None = None

    @property
    def interval(self) -> Bounds | None:
        """Both bounds; None where the data allow no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def side(self, threshold: float) -> Side | None:
        """Return on which side of a threshold the interval lies; None without an interval."""
        if self.low is None or self.high is None:
            return None
        if self.low > threshold:
            return "above"
        return "below" if self.high < threshold else "either"

    def __neg__(self) -> Estimate:
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return msgspec.structs.replace(self, value=-self.value, low=low, high=high)

    def __str__(self) -> str:
        interval = "no interval"
        if self.low is not None and self.high is not None:
            interval = f"{100 * self.level:g} % [{self.low:.3f}, {self.high:.3f}]"
        clusters = "" if self.groups is None else f" in {plural(self.groups, 'conversation')}"
        note = "" if self.note is None else f"; {self.note}"
        return f"{self.value:.3f}, {interval}, n {self.n}{clusters}{note}"


def few_units(units: int, unit: str) -> str | None:
    """Return the note of an interval over too few units; None if there are enough."""
    return f"fewer than {FEW} {unit}: the interval is a rough guide" if units < FEW else None


def clamp(value: float, low: float, high: float) -> float:
    """Return the value, or the nearer bound if it lies outside."""
    return min(high, max(low, value))


def scipy_module(name: str) -> ModuleType:
    """Return a module of scipy, imported when it is first needed: it takes a second."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise GriceError(
            'intervals and fits need scipy, which is not installed: pip install "grice[stats]"'
        ) from error
