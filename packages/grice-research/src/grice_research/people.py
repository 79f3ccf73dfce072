"""What ratings say about the people who gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.stats import correlation, leave_one_annotator_out, mean

if TYPE_CHECKING:
    from grice.evaluation.datasets import Rated
    from grice.stats.estimate import Estimate

PEOPLE = ("judges", "one judge", "ratings", "reply words")
"""Sources of figures that need no metric."""


def of_people(source: str, measure: str, rated: Rated, aspect: str) -> Estimate:
    """Return a figure about ratings or rated texts alone."""
    if source == "ratings":
        return mean(rated.human(aspect))
    if source == "reply words":
        return mean([float(len(item.conversation.turns[-1].text.split())) for item in rated.items])
    if source == "one judge":
        return leave_one_annotator_out([item.ratings[aspect] for item in rated.items])
    first, joined, second = aspect.partition(" and ")
    if joined:
        return _single_ratings(rated, first, second)
    if "against the others" not in measure:
        raise InputError(f"{measure}: not computed from the ratings of judges")
    return leave_one_annotator_out([item.ratings[aspect] for item in rated.items], pool="pairs")


def _single_ratings(rated: Rated, first: str, second: str) -> Estimate:
    """Return the correlation of the ratings that one judge gave to one item on two aspects."""
    pairs = [
        (a, b, item.group)
        for item in rated.items
        for a, b in zip(item.ratings[first], item.ratings[second], strict=True)
    ]
    ratings, others, groups = zip(*pairs, strict=True)
    return correlation(ratings, others, kind="spearman", groups=groups)
