"""Several scores of one candidate as one value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

Rule: TypeAlias = Literal["mean", "minimum", "product", "pareto"]
RULES: tuple[Rule, ...] = ("mean", "minimum", "product", "pareto")


class Blend(msgspec.Struct, frozen=True):
    """How the scores of a candidate become one value, higher is better.

    Attributes:
        rule: ``mean``, weighted; ``minimum``, the lowest score decides; ``product``, the weighted
            geometric mean, so that one score of zero is worth nothing; ``pareto``, candidates that
            no other one beats in every metric stand before the rest, and the mean orders each part.
        weights: Of metrics, above zero; 1 where none is given. ``minimum`` takes none.
        vetoes: A candidate whose metric scores below the value stands behind all others.
        held_out: Metrics that are computed and have no part in the value; they may veto.
    """

    rule: Rule = "mean"
    weights: dict[str, float] = {}
    vetoes: dict[str, float] = {}
    held_out: tuple[str, ...] = ()

    def check(self, metrics: Collection[str]) -> None:
        """Raise InputError if something does not fit the metrics that are run.

        Raises:
            InputError: For an unknown rule or metric, a weight that is not above zero, a threshold
                that is no finite number, or if no metric is left that takes part.
        """
        if self.rule not in RULES:
            raise InputError(f"no blend {self.rule!r}{did_you_mean(self.rule, RULES)}")
        for name in (*self.weights, *self.vetoes, *self.held_out):
            if name not in metrics:
                raise InputError(
                    f"{name} is not run: the metrics are {', '.join(metrics)}"
                    f"{did_you_mean(name, metrics)}"
                )
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight > 0):
                raise InputError(
                    f"{name}: a weight is above 0, found {weight}; leave the metric out"
                )
            if name in self.held_out:
                raise InputError(f"{name} is held out: it takes no weight")
        for name, least in self.vetoes.items():
            if not math.isfinite(least):
                raise InputError(f"{name}: a veto is below a finite number, found {least}")
        if self.rule == "minimum" and self.weights:
            raise InputError("the lowest score decides: minimum takes no weights")
        if not self.steering(metrics):
            raise InputError("no metric is left to choose by: hold out fewer of them")

    def steering(self, metrics: Collection[str]) -> tuple[str, ...]:
        """Return the metrics whose scores are blended: all that are not held out."""
        return tuple(name for name in metrics if name not in self.held_out)

    def value(self, scores: Mapping[str, float]) -> float:
        """Return the blend of scores by metric; at least one is needed."""
        if self.rule == "minimum":
            return min(scores.values())
        weights = [self.weights.get(name, 1.0) for name in scores]
        if self.rule == "product":
            if min(scores.values()) <= 0:
                return 0.0
            return math.exp(_mean(map(math.log, scores.values()), weights))
        return _mean(scores.values(), weights)


def _mean(values: Iterable[float], weights: Sequence[float]) -> float:
    products = (weight * value for weight, value in zip(weights, values, strict=True))
    return math.fsum(products) / math.fsum(weights)


def pareto_front(scores: Sequence[Mapping[str, float]]) -> list[bool]:
    """Return for each candidate whether no other one is at least as good in all and better in one.

    Args:
        scores: By metric, the same metrics for each candidate.
    """
    rows = [tuple(score.values()) for score in scores]
    return [
        not any(
            other != row and all(theirs >= own for theirs, own in zip(other, row, strict=True))
            for other in rows
        )
        for row in rows
    ]
