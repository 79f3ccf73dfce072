"""Active selection: first the tasks whose labels would move a calibration most.

A calibration maps scores to the mean label. Tasks are put into bins of equal size by their score;
the error of the mean of a bin falls with its labels as ``variance / n``. The next label belongs
where it takes most off the sum over bins, which is Neyman's allocation (1934), with the variances
learned on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import sqlalchemy as sa

from grice.errors import InputError
from grice_annotate.database import assignments, tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.stats.inputs import Floats

BINS = 10
PRIOR = 2.0
"""Labels that the variance of all labels counts for in each bin."""


def bins(scores: Sequence[float | None]) -> list[int]:
    """Return for each task the number of its bin."""
    if any(score is None for score in scores):
        lacking = sum(score is None for score in scores)
        raise InputError(
            f"--order uncertain chooses by scores, and {lacking} of {len(scores)} items have none; "
            "name a file of scores by --scores, or take --order seed"
        )
    ranks = np.argsort(np.argsort(np.asarray(scores, np.float64), kind="stable"), kind="stable")
    return [int(rank) for rank in ranks * min(BINS, len(scores)) // len(scores)]


def wanted_bin(connection: sa.Connection, number: Callable[[Any], float | None]) -> int | None:
    """Return the bin whose next label takes most off the error; None if none has tasks left."""
    labels: dict[int, list[float]] = {}
    answered = sa.select(tasks.c.bin, assignments.c.answer).where(
        tasks.c.id == assignments.c.task,
        assignments.c.state == "answered",
        tasks.c.bin.is_not(None),
    )
    for place, answer in connection.execute(answered):
        value = number(msgspec.json.decode(answer))
        labels.setdefault(place, []).extend([] if value is None else [value])
    lacking = sa.select(tasks.c.bin).where(tasks.c.taken < tasks.c.judges).distinct()
    places: list[int] = [place for place in connection.scalars(lacking) if place is not None]
    if not places:
        return None
    gain = gains([labels.get(place, []) for place in range(max(places) + 1)])
    return max(places, key=lambda place: float(gain[place]))


def gains(labels: Sequence[Sequence[float]]) -> Floats:
    """Return what one more label of each bin takes off the error of the calibration.

    >>> gains([[1, 5, 1, 5], [3, 3, 3, 3]]).argmax()
    np.int64(0)
    """
    known = np.array([label for of_bin in labels for label in of_bin], np.float64)
    spread = float(known.var()) if len(known) > 1 else 1.0
    values = []
    for of_bin in labels:
        n = len(of_bin)
        squares = float(np.var(of_bin) * n) if n else 0.0
        variance = (squares + PRIOR * spread) / (n + PRIOR)
        values.append(variance / ((n + 1) * (n + 2)))
    return np.array(values)
