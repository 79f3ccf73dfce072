"""Ratings of people in the shapes they come in: numbers, lists, aspects, columns of raters."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grice.records import Json

FIELDS = ("ratings", "rating", "human_ratings", "human_rating", "human", "scores", "score", "label")
"""Fields of ratings; of several the first counts."""
RATER = re.compile(r"(?:rater|annotator|judge|rating|score|worker)s?[ _-]?(\d+)", re.IGNORECASE)
OVERALL = "overall"
NONE = frozenset({"", "-", "n/a", "na", "nan", "none", "null", "?"})
"""Texts that stand for no rating."""
UNDERSTOOD = (
    "`rating` or `ratings` with a number, a list of numbers (one per judge), or an object of them "
    'by aspect, as in {"overall": [4, 5]}; or a column for each judge: `rater1`, `rater2`, …'
)
"""What is understood, for messages."""


def ratings_of(fields: Mapping[str, Json]) -> dict[str, tuple[float | None, ...]]:
    """Return the ratings of a record by aspect, one per judge, None where there is none.

    >>> ratings_of({"rating": "4"}), ratings_of({"rater2": 5, "rater1": ""})
    ({'overall': (4.0,)}, {'overall': (None, 5.0)})
    >>> ratings_of({"ratings": {"fluent": [1, 2], "relevant": "3"}})
    {'fluent': (1.0, 2.0), 'relevant': (3.0,)}
    """
    by_name = {name.strip().casefold(): name for name in fields}
    for name in FIELDS:
        given = _unpacked(fields[by_name[name]]) if name in by_name else None
        if isinstance(given, dict):
            return {aspect: numbers(value) for aspect, value in given.items() if "." not in aspect}
        if given not in (None, ""):
            return {OVERALL: numbers(given)}
    raters = sorted(
        (int(match[1]), name) for name in fields if (match := RATER.fullmatch(name.strip()))
    )
    if raters:
        return {OVERALL: tuple(_number(fields[name]) for _, name in raters)}
    return {}


def numbers(value: Json) -> tuple[float | None, ...]:
    """Return ratings as numbers; whatever is no number is N/A."""
    value = _unpacked(value)
    return tuple(map(_number, value if isinstance(value, list) else [value]))


def odd_text(ratings: Json) -> str | None:
    """Return the first text among ratings that is no number and does not stand for none.

    >>> odd_text("4"), odd_text(["n/a", ""]), odd_text([3, "good"])
    (None, None, 'good')
    """
    ratings = _unpacked(ratings)
    for value in ratings if isinstance(ratings, list) else [ratings]:
        if isinstance(value, str) and value.strip().casefold() not in NONE:
            try:
                float(value)
            except ValueError:
                return value
    return None


def understood(fields: Iterable[str]) -> str:
    """Return what fields there are and which are understood, for messages."""
    return f"found {', '.join(fields) or 'no field'}; understood is {UNDERSTOOD}"


def _unpacked(value: Json) -> Json:
    """Return a list or an object that stands as text, as tables have them."""
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        try:
            unpacked: Json = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
        return unpacked
    return value


def _number(value: Json) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
