"""What a correlation owes to things that are no quality: length, number of turns, overlap."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError
from grice.stats import correlation_within, partial_correlation
from grice.text.tokens import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.evaluation.datasets import Item, Level, Rated
    from grice.stats.estimate import Estimate

ALL = "all of them"
WITHIN = "within systems"
FEW_PER_SYSTEM = 10


class Confound(msgspec.Struct, frozen=True):
    """A partial correlation: what is left when controlling for something.

    Attributes:
        given: What is held constant.
        partial: Partial Spearman correlation; of ``within systems`` the mean of the correlations
            inside each. None if it is not defined.
        kept: Share of the plain correlation that is left; None if the plain one may be zero, as
            a share of nothing means nothing.
    """

    given: str
    partial: Estimate | None
    kept: float | None
    why: str = ""


def covariates(rated: Rated) -> dict[str, list[float]]:
    """Return what may stand behind a correlation, one value per item, by name.

    Of a reply: logarithm of its number of words, turns before it, share of its words in the last
    turn. Of a conversation: logarithm of all words, turns, mean share of words of the turn before.
    """
    level = rated.set.level
    return {
        "length": [math.log(1 + _words(item, level)) for item in rated.items],
        "turns": [float(len(item.conversation.turns)) for item in rated.items],
        "overlap": [_overlap(item, level) for item in rated.items],
    }


class Ratings(NamedTuple):
    """What every metric is held against, item by item.

    Attributes:
        human: Mean rating; None where nobody rated.
        groups: The conversation or context; None if items share none.
        systems: Who wrote it; None if that is not stated.
        covariates: See :func:`covariates`.
        seed: Of every draw.
    """

    human: list[float | None]
    groups: list[str] | None
    systems: list[str | None]
    covariates: dict[str, list[float]]
    seed: int


def confounds(
    values: Sequence[float | None], ratings: Ratings, plain: Estimate
) -> tuple[Confound, ...]:
    """Return partial correlations, controlling for each covariate, all of them, and the system.

    Args:
        values: One per item.
        ratings: What they are correlated with.
        plain: The Spearman correlation without any control.
    """
    held = ratings.covariates
    usable = {name: column for name, column in held.items() if np.ptp(column) > 0}
    partials = []
    for name in held:
        if name in usable:
            partials.append(_partial(name, values, ratings, plain, [usable[name]]))
        else:
            partials.append(Confound(name, None, None, "the same for every item"))
    if len(usable) > 1:
        partials.append(_partial(ALL, values, ratings, plain, list(usable.values())))
    return (*partials, *_within(values, ratings, plain))


def _partial(
    name: str,
    values: Sequence[float | None],
    ratings: Ratings,
    plain: Estimate,
    held: Sequence[Sequence[float]],
) -> Confound:
    human, groups = ratings.human, ratings.groups
    try:
        partial = partial_correlation(values, human, held, kind="spearman", groups=groups)
    except InputError:
        # Too few items raise before this is asked; what is left is a metric that is the covariate.
        return Confound(name, None, None, "nothing is left of the metric")
    return Confound(name, partial, _kept(partial, plain))


def _kept(partial: Estimate, plain: Estimate) -> float | None:
    return partial.value / plain.value if plain.side(0) in ("above", "below") else None


def _within(values: Sequence[float | None], ratings: Ratings, plain: Estimate) -> list[Confound]:
    systems = ratings.systems
    named = [system for system in systems if system is not None]
    large = {system for system in named if named.count(system) >= FEW_PER_SYSTEM}
    if len(large) < 2:
        return []
    kept = [i for i, system in enumerate(systems) if system in large]
    try:
        inside = correlation_within(
            [values[i] for i in kept],
            [ratings.human[i] for i in kept],
            [str(systems[i]) for i in kept],
            kind="spearman",
        )
    except InputError as error:
        return [Confound(WITHIN, None, None, str(error))]
    return [Confound(WITHIN, inside, _kept(inside, plain))]


def _words(item: Item, level: Level) -> int:
    turns = item.conversation.turns
    judged = turns[-1:] if level == "turn" else turns
    return sum(len(turn.text.split()) for turn in judged)


def _overlap(item: Item, level: Level) -> float:
    turns = item.conversation.turns
    pairs = list(pairwise(turns))
    if level == "turn":
        pairs = pairs[-1:]
    shares = [_share(before.text, after.text) for before, after in pairs]
    return sum(shares) / len(shares) if shares else 0.0


def _share(before: str, after: str) -> float:
    words = set(WORDS.findall(after.lower()))
    return len(words.intersection(WORDS.findall(before.lower()))) / len(words) if words else 0.0
