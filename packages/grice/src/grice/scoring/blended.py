"""Several metrics as one score: the smallest, the largest, or a mean of theirs."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from grice.errors import InputError, did_you_mean
from grice.scoring.loaded import ScoreColumn, column_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grice.metrics.registry import Registry
    from grice.records import Score
    from grice.scoring.loaded import LoadedMetric

HOW: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "mean": lambda values: math.fsum(values) / len(values),
    "geometric": lambda values: math.prod(values) ** (1 / len(values)),
}
_SIGNATURE = re.compile(rf"({'|'.join(HOW)})_\w+:1\|of:\[(.+)\]")
"""Signature of a blend: how it is made, and the signatures of its parts."""


class Blend(NamedTuple):
    """A score that is made of the scores of metrics of the same run.

    An item on which one of them abstains is abstained, with their neutral value; one on which one
    failed is failed.

    Attributes:
        column: What is said of its scores.
        how: One of :data:`HOW`.
        parts: Names of the metrics.
    """

    column: ScoreColumn
    how: str
    parts: tuple[str, ...]

    def score(self, by_metric: Mapping[str, Sequence[Sequence[Score]]]) -> list[list[Score]]:
        """Return the scores of each conversation from those of its parts, by their names."""
        groups = zip(*(by_metric[name] for name in self.parts), strict=True)
        return [[self._blend(scores) for scores in zip(*group, strict=True)] for group in groups]

    def _blend(self, scores: Sequence[Score]) -> Score:
        values = [score.value for score in scores if score.value is not None]
        whole = len(values) == len(scores)
        abstained = any(score.status == "abstained" for score in scores)
        value = self.column.neutral if abstained or not whole else HOW[self.how](values)
        told = ", ".join(
            f"{score.metric} {score.status if score.value is None else format(score.value, '.2f')}"
            for score in scores
        )
        return replace(
            scores[0],
            metric=self.column.name,
            value=value if whole else None,
            status="failed" if not whole else "abstained" if abstained else "ok",
            reason=told,
            flags=tuple(dict.fromkeys(flag for score in scores for flag in score.flags)),
            evidence=(),
            signature=self.column.signature,
        )


def blend_of(stated: str, loaded: Sequence[LoadedMetric]) -> Blend:
    """Return a blend of metrics that are run."""
    how, _, listed = stated.partition(":")
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if how not in HOW:
        raise InputError(
            f"--blend {stated}: HOW:METRIC,METRIC with one of {', '.join(HOW)}"
            f"{did_you_mean(how, HOW)}"
        )
    known = {metric.metric.name: metric for metric in loaded}
    for name in names:
        if name not in known:
            raise InputError(
                f"--blend {stated}: {name} is not run: the metrics are {', '.join(known)}"
                f"{did_you_mean(name, known)}"
            )
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise InputError(f"--blend {stated}: two different metrics or more are needed")
    parts = [known[name] for name in names]
    if len({part.metric.judges for part in parts}) > 1:
        raise InputError(f"--blend {stated}: some judge replies, some whole conversations")
    for part in parts:
        if (part.metric.low, part.metric.high) != (0.0, 1.0):
            raise InputError(
                f"--blend {stated}: {part.metric.name} goes from {part.metric.low:g} to "
                f"{part.metric.high:g}; scores from 0 to 1 are blended"
            )
    return Blend(_column(how, [part.column for part in parts]), how, tuple(names))


def _column(how: str, parts: Sequence[ScoreColumn]) -> ScoreColumn:
    names = [part.name for part in parts]
    name = "_".join((how, *names))
    return ScoreColumn(
        name,
        f"The {how} of {', '.join(names)}",
        parts[0].judges,
        low=0.0,
        high=1.0,
        neutral=HOW[how]([part.neutral for part in parts]),
        source="Blends as in RUBER (Tao et al., AAAI 2018) and predictive engagement (2020).",
        signature=f"{name}:1|of:{'+'.join(f'[{part.signature}]' for part in parts)}",
    )


def written_column(name: str, signature: str, registry: Registry) -> ScoreColumn:
    """Return what is said of scores in a file, of a metric or of a blend."""
    blend = _SIGNATURE.match(signature)
    if blend is None:
        return column_of(registry.named(name), signature)
    how, listed = blend.groups()
    parts = [
        column_of(registry.named(part.partition(":")[0]), part) for part in listed.split("]+[")
    ]
    return _column(how, parts)._replace(name=name, signature=signature)
