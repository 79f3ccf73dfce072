"""What a correlation owes to things that are no quality: length, number of turns, overlap."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError
from grice.evaluation.verdicts import side_of
from grice.stats import correlation_within, partial_correlation
from grice.text.tokens import WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.evaluation.datasets import Item, Level, Rated
    from grice.stats.estimate import Estimate

__all__ = ["ALL", "Confound", "confounds", "covariates"]

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


def confounds(
    values: Sequence[float | None],
    human: Sequence[float | None],
    plain: Estimate,
    held: Mapping[str, Sequence[float]],
    systems: Sequence[str | None],
    groups: Sequence[str] | None,
) -> tuple[Confound, ...]:
    """Return partial correlations, controlling for each covariate, all of them, and the system."""
    usable = {name: column for name, column in held.items() if np.ptp(column) > 0}
    partials = []
    for name in held:
        if name in usable:
            partials.append(_partial(name, values, human, plain, [usable[name]], groups))
        else:
            partials.append(Confound(name, None, None, "the same for every item"))
    if len(usable) > 1:
        partials.append(_partial(ALL, values, human, plain, list(usable.values()), groups))
    partials += _within(values, human, plain, systems)
    return tuple(partials)


def _partial(
    name: str,
    values: Sequence[float | None],
    human: Sequence[float | None],
    plain: Estimate,
    held: Sequence[Sequence[float]],
    groups: Sequence[str] | None,
) -> Confound:
    try:
        partial = partial_correlation(values, human, held, kind="spearman", groups=groups)
    except InputError:
        # Too few items raise before this is asked; what is left is a metric that is the covariate.
        return Confound(name, None, None, "nothing is left of the metric")
    return Confound(name, partial, _kept(partial, plain))


def _kept(partial: Estimate, plain: Estimate) -> float | None:
    return partial.value / plain.value if side_of(plain, 0) in ("above", "below") else None


def _within(
    values: Sequence[float | None],
    human: Sequence[float | None],
    plain: Estimate,
    systems: Sequence[str | None],
) -> list[Confound]:
    named = [system for system in systems if system is not None]
    large = {system for system in named if named.count(system) >= FEW_PER_SYSTEM}
    if len(large) < 2:
        return []
    kept = [i for i, system in enumerate(systems) if system in large]
    try:
        inside = correlation_within(
            [values[i] for i in kept],
            [human[i] for i in kept],
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
