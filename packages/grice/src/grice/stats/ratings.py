"""Ratings of items by several annotators, as the agreement functions take them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import InputError
from grice.stats.inputs import Floats, Groups, Integers, group_codes, joined
from grice.stats.resample import resampled_estimate

if TYPE_CHECKING:
    from grice.stats.estimate import Estimate
    from grice.stats.resample import Sampling, Statistic

Ratings: TypeAlias = Sequence[Sequence[float | None]] | Sequence[Sequence[float]] | Floats
"""One list per item with the rating of each annotator, None or NaN where one gave none. Lists
may differ in length; the position identifies the annotator."""


class Flat(NamedTuple):
    """The ratings that can be paired: those of items with at least two.

    Attributes:
        unit: Item of each rating, from 0, rising.
        value: The rating.
        starts: Where each item's ratings begin.
        sizes: Number of ratings per item.
        groups: Conversation of each item; None if not given.
    """

    unit: Integers
    value: Floats
    starts: Integers
    sizes: Floats
    groups: Integers | None

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.sizes)


def matrix(ratings: Ratings) -> Floats:
    """Return the ratings as an array (items, annotators), NaN where there is none."""
    _check_numbers(ratings)
    rows = [np.asarray(row, np.float64) for row in ratings]
    if not rows:
        raise InputError("ratings: no item is given")
    table = np.full((len(rows), max(1, *(len(row) for row in rows))), np.nan)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    if np.isinf(table).any():
        raise InputError("ratings: an infinite value is no rating; give None")
    return table


def _check_numbers(ratings: Ratings) -> None:
    for i, row in enumerate(ratings):
        for j, value in enumerate(row):
            if value is not None and not isinstance(value, int | float | np.number):
                raise InputError(f"ratings[{i}][{j}]: a number or None is needed, found {value!r}")


def coded(labels: Sequence[Sequence[Hashable]]) -> Floats:
    """Return labels of any kind as numbers, equal for equal labels, None staying missing."""
    codes: dict[Hashable, float] = {}

    def code(label: Hashable) -> float | None:
        # Not a number is not equal to itself.
        missing = label is None or label != label
        return None if missing else codes.setdefault(label, float(len(codes)))

    return matrix([[code(label) for label in row] for row in labels])


def arranged(table: Floats, groups: Groups | None) -> tuple[Floats, Integers | None]:
    """Return the items with at least two ratings, in an order of their own, and their groups.

    Resampling numbers the items; so it does not depend on how they were listed.
    """
    present = ~np.isnan(table)
    codes = None if groups is None else group_codes(groups, len(table))
    usable = present.sum(axis=1) >= 2
    if not usable.any():
        raise InputError(
            f"none of {len(table)} items has two ratings: there is no agreement to measure"
        )
    table = table[usable]
    codes = None if codes is None else joined(codes[usable])
    keys = list(np.nan_to_num(table.T, nan=np.inf))
    order = np.lexsort(keys if codes is None else [*keys, codes])
    return table[order], None if codes is None else codes[order]


def flatten(table: Floats, codes: Integers | None) -> Flat:
    """Return the ratings of what :func:`arranged` gave, one after the other."""
    present = ~np.isnan(table)
    unit, _ = np.nonzero(present)
    sizes = present.sum(axis=1)
    return Flat(
        unit.astype(np.int64),
        table[present],
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        sizes.astype(np.float64),
        codes,
    )


def agreement(statistic: Statistic, flat: Flat, what: str, sampling: Sampling) -> Estimate:
    """Return a coefficient of at most 1 over flattened ratings, with its interval."""
    return resampled_estimate(
        statistic, flat.items, what, sampling, groups=flat.groups, bounded="by one"
    )
