"""What every function of this room takes and gives: columns of numbers in, estimates out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.errors import GriceError, InputError, counted

if TYPE_CHECKING:
    from types import ModuleType

    from grice.stats.clusters import Bounds

__all__ = [
    "FEW",
    "Estimate",
    "Floats",
    "Groups",
    "Integers",
    "Values",
    "check_bounds",
    "check_level",
    "clamp",
    "columns_of",
    "cut",
    "group_codes",
    "joined",
    "ordered",
    "scipy_module",
]

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Values: TypeAlias = Sequence[float | None] | Sequence[float] | Floats
"""Numbers in item order; None or NaN where there is none."""
Groups: TypeAlias = Sequence[Hashable] | NDArray[np.generic]
"""For each item the conversation (or other cluster) it belongs to."""

FEW = 10
"""With fewer items or conversations than this, an interval is marked as a rough guide."""


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number with its interval and what it rests on.

    Attributes:
        value: The estimate.
        low: Lower bound; None where the data allow no interval, and then ``note`` says why.
        high: Upper bound; likewise.
        level: Confidence level of the interval, 0.95 for 95 %.
        n: How many items went in.
        method: How value and interval were computed, with resamples and seed where there are any.
        groups: How many conversations (clusters) the items come from, if that was taken into
            account.
        note: What to keep in mind about this number; None if nothing.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    n: int
    method: str
    groups: int | None = None
    note: str | None = None

    def __str__(self) -> str:
        interval = (
            "no interval" if self.low is None else f"{100 * self.level:g} % [{self.low:.3f}, "
        )
        end = "" if self.high is None else f"{self.high:.3f}]"
        clusters = "" if self.groups is None else f" in {counted(self.groups, 'conversation')}"
        note = "" if self.note is None else f"; {self.note}"
        return f"{self.value:.3f}, {interval}{end}, n {self.n}{clusters}{note}"


def check_level(level: float) -> None:
    """Refuse a confidence level that is not strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"level={level}: a confidence level lies between 0 and 1, such as 0.95")


def check_bounds(columns: Floats, bounds: Bounds | None) -> None:
    """Refuse bounds that are none, or that a value lies beyond."""
    if bounds is None:
        return
    least, most = bounds
    if not least < most:
        raise InputError(f"bounds={bounds}: the least possible value and a greater one are needed")
    beyond = columns[(columns < least) | (columns > most)]
    if len(beyond):
        raise InputError(f"bounds={bounds}: {float(beyond[0]):g} lies beyond them")


def cut(estimate: Estimate, bounds: Bounds | None) -> Estimate:
    """Return the estimate with an interval that ends at the bounds."""
    if bounds is None or estimate.low is None or estimate.high is None:
        return estimate
    low, high = max(estimate.low, bounds[0]), min(estimate.high, bounds[1])
    return msgspec.structs.replace(estimate, low=low, high=high)


def columns_of(**named: Values) -> list[Floats]:
    """Return the named columns as arrays of one length, NaN where a value is missing.

    Raises:
        InputError: If lengths differ, or a value is infinite or no number.
    """
    columns = []
    for name, values in named.items():
        try:
            column = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{name}: numbers are needed (None where one is missing), found {_odd(values)!r}"
            ) from None
        if column.ndim != 1:
            raise InputError(f"{name}: one number per item is needed, found shape {column.shape}")
        if np.isinf(column).any():
            place = int(np.flatnonzero(np.isinf(column))[0])
            raise InputError(f"{name}[{place}] is infinite; leave it out or give None")
        columns.append(column)
    lengths = {name: len(column) for name, column in zip(named, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        stated = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"columns over the same items are needed, found lengths {stated}")
    return columns


def _odd(values: Values) -> object:
    for value in values:
        if not isinstance(value, int | float | np.number | None):
            return value
    return values


def group_codes(groups: Groups, n: int) -> Integers:
    """Return the groups as whole numbers from 0, equal for equal labels.

    Raises:
        InputError: If there is not one label per item, or a label is None.
    """
    labels = list(groups)
    if len(labels) != n:
        raise InputError(f"groups: one label per item is needed, found {len(labels)} for {n} items")
    if None in labels:
        raise InputError(f"groups[{labels.index(None)}] is None: every item needs its conversation")
    try:
        names: Sequence[Hashable] = sorted(set(labels))
    except TypeError:  # labels of several types have no order of their own
        names = sorted(set(labels), key=lambda label: (type(label).__name__, str(label)))
    code = {name: i for i, name in enumerate(names)}
    return np.fromiter((code[label] for label in labels), np.int64, n)


def joined(codes: Integers) -> Integers:
    """Return the same groups numbered without gaps."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def ordered(columns: Sequence[Floats], groups: Integers | None) -> Integers:
    """Return an order of the items that depends on their values and groups alone.

    Resampling numbers the items; in this order the same items give the same interval however
    they were listed.
    """
    keys = [*columns] if groups is None else [*columns, groups]
    return np.lexsort(keys)


def clamp(value: float, low: float, high: float) -> float:
    """Return the value, or the nearer bound if it lies outside."""
    return min(high, max(low, value))


def scipy_module(name: str) -> ModuleType:
    """Return a module of scipy, imported when it is first needed: it takes a second.

    Raises:
        GriceError: If scipy is not installed.
    """
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise GriceError(
            'this needs scipy, which is not installed: pip install "grice[stats]"'
        ) from error
