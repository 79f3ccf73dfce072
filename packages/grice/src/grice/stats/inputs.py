"""Input of the statistics: columns of numbers over the same items, and groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grice.errors import InputError

if TYPE_CHECKING:
    from grice.stats.estimate import Bounds

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Values: TypeAlias = Sequence[float | None] | Sequence[float] | Floats
"""Numbers in item order; None or NaN if missing."""
Groups: TypeAlias = Sequence[Hashable] | NDArray[np.generic]
"""For each item the conversation (or other cluster) it belongs to."""


def check_level(level: float) -> None:
    """Refuse a confidence level that is not strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"level={level}: a confidence level lies between 0 and 1, such as 0.95")


def check_bounds(columns: Floats, bounds: Bounds | None) -> None:
    """Refuse bounds in the wrong order, or that a value lies beyond."""
    if bounds is None:
        return
    least, most = bounds
    if not least < most:
        raise InputError(f"bounds={bounds}: the least possible value and a greater one are needed")
    beyond = columns[(columns < least) | (columns > most)]
    if len(beyond):
        raise InputError(f"{float(beyond[0]):g} lies outside of the bounds {least:g} to {most:g}")


def complete_items(
    named: Mapping[str, Values], groups: Groups | None, *, least: int = 0, varying: bool = False
) -> tuple[list[Floats], Integers | None]:
    """Return the columns over the items that have all values, and their groups.

    The items are sorted by their values and groups: resampling numbers them, so the same items
    give the same interval however they were listed. ``varying`` refuses constant columns.
    """
    columns = columns_of(**named)
    total = len(columns[0])
    complete = ~np.isnan(np.stack(columns)).any(axis=0)
    codes = None if groups is None else joined(group_codes(groups, total)[complete])
    columns = [column[complete] for column in columns]
    n = len(columns[0])
    if n < least:
        raise InputError(
            f"{n} of {total} items have a value of {' and '.join(named)}; "
            f"at least {least} are needed"
        )
    for name, column in zip(named, columns, strict=True):
        if varying and np.ptp(column) == 0:
            raise InputError(
                f"{name} is {column[0]:g} on all {n} items: "
                "a column that never changes has no correlation"
            )
    order = np.lexsort(columns if codes is None else [*columns, codes])
    return [column[order] for column in columns], None if codes is None else codes[order]


def columns_of(**named: Values) -> list[Floats]:
    """Return the named columns as arrays of one length, NaN where a value is missing."""
    columns = []
    for name, values in named.items():
        try:
            column = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            kinds = int | float | np.number | None
            odd = next((value for value in values if not isinstance(value, kinds)), values)
            raise InputError(
                f"{name}: numbers are needed (None where one is missing), found {odd!r}"
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


def group_codes(groups: Groups, n: int) -> Integers:
    """Return the groups as integers from 0, equal for equal labels."""
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
