"""Verdicts: how a figure that was measured here stands to the printed one beside it.

They are defined here alone; every table, JSON row, count and page takes them from here. Which of
them can be given follows from how the figure was computed, which its row declares; which outcome it
has follows from the figures, compared with their sign.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Computation: TypeAlias = Literal["released files", "published method", "another method"]
"""How a figure was computed: from what the authors released (scores, ratings, predictions, data);
by the published method, trained here or with its released weights; or by another method on the same
data. The published method with a substitute for one of its models is another method."""

Verdict: TypeAlias = Literal[
    "recomputed",
    "not recomputed",
    "reproduced",
    "not reproduced",
    "beside: above",
    "beside: level",
    "beside: below",
    "cannot be checked",
]
"""``recomputed``, ``reproduced``, ``beside`` and ``cannot be checked``, each with its outcome."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All of them in the order of tables."""

MEANINGS = {
    "recomputed": "released files give the printed digits; *not recomputed*: they give others",
    "reproduced": (
        "the published method, trained here or with its released weights, gives the printed figure "
        "within its 95 % interval; *not reproduced*: it does not"
    ),
    "beside": (
        "another method on the same data: *above*, *level* or *below* by the 95 % interval of the "
        "difference, paired where scores of each item were released, otherwise by the interval of "
        "our figure; above is better"
    ),
    "cannot be checked": "scores or data were not released",
}
"""What each verdict says."""

Interval: TypeAlias = tuple[float | None, float | None]


def verdict_on(
    published: float,
    value: float,
    interval: Interval,
    *,
    computed: Computation,
    rounding: float = 0.0,
    lower: bool = False,
    difference: Interval | None = None,
) -> Verdict:
    """Return the verdict on a figure that stands beside a printed one.

    >>> verdict_on(0.30, 0.12, (0.02, 0.22), computed="another method")
    'beside: below'
    >>> verdict_on(-0.47, 0.20, (0.02, 0.37), computed="another method")
    'beside: above'
    """
    if computed == "released files":
        return "recomputed" if abs(value - published) <= rounding else "not recomputed"
    low, high = (value if bound is None else bound for bound in interval)
    low, high = low - published - rounding, high - published + rounding
    if computed == "published method":
        return "reproduced" if low <= 0 <= high else "not reproduced"
    if difference is not None and difference[0] is not None and difference[1] is not None:
        low, high = difference[0], difference[1]
    if low <= 0 <= high:
        return "beside: level"
    return "beside: above" if (low > 0) != lower else "beside: below"


def legend() -> list[str]:
    """Return what the verdicts mean, as a list in Markdown."""
    return [f"- *{name}*: {meaning}." for name, meaning in MEANINGS.items()]
