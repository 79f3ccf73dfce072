"""Blends: the smallest, the largest or a mean of the scores of several metrics.

Scores of another range are first brought to 0 to 1 linearly, as RUBER does before it blends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from msgspec.structs import replace

from grice.data import Score, Signature
from grice.errors import InputError, did_you_mean
from grice.scoring.loaded import LoadedMetric, ScoreColumn, column_of

if TYPE_CHECKING:
    from grice.metrics.declaration import Registry

Rule: TypeAlias = Literal["min", "max", "mean", "geometric"]
RULES: tuple[Rule, ...] = get_args(Rule)


def combined(rule: str, values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Return the smallest or largest value, or the weighted arithmetic or geometric mean."""
    if rule in ("min", "max"):
        return min(values) if rule == "min" else max(values)
    weights = [1.0] * len(values) if weights is None else weights
    pairs, total = list(zip(values, weights, strict=True)), math.fsum(weights)
    if rule == "mean":
        return math.fsum(weight * value for value, weight in pairs) / total
    product = math.prod(value**weight for value, weight in pairs) if min(values) > 0 else 0.0
    return float(product ** (1 / total))


PARTS = "of"  # setting of a signature that holds the signatures of the parts


class Blend(NamedTuple):
    """A score made of those of metrics; it fails if one of them fails, or abstains if one does."""

    column: ScoreColumn
    rule: str
    parts: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]  # lowest and highest score of each part

    def score(self, by_metric: Mapping[str, Sequence[Sequence[Score]]]) -> list[list[Score]]:
        """Return the scores of each conversation from those of its parts, by their names."""
        groups = zip(*(by_metric[name] for name in self.parts), strict=True)
        return [[self._blend(scores) for scores in zip(*group, strict=True)] for group in groups]

    def _blend(self, scores: Sequence[Score]) -> Score:
        values = [
            (score.value - low) / (high - low)
            for score, (low, high) in zip(scores, self.ranges, strict=True)
            if score.value is not None
        ]
        failed = len(values) < len(scores)
        abstained = any(score.status == "abstained" for score in scores)
        value = self.column.neutral if failed or abstained else combined(self.rule, values)
        parts = (
            f"{score.metric} {score.status if score.value is None else format(score.value, '.2f')}"
            for score in scores
        )
        return replace(
            scores[0],
            metric=self.column.name,
            value=None if failed else value,
            status="failed" if failed else "abstained" if abstained else "ok",
            reason=", ".join(parts),
            flags=tuple(dict.fromkeys(flag for score in scores for flag in score.flags)),
            evidence=(),
            signature=self.column.signature,
        )


def blend_of(stated: str, loaded: Sequence[LoadedMetric]) -> Blend:
    """Return a blend of metrics that are run, stated as ``RULE:METRIC,METRIC``."""
    rule, _, listed = stated.partition(":")
    names = [name.strip() for name in listed.split(",") if name.strip()]
    known = {metric.metric.name: metric for metric in loaded}
    unknown = next((name for name in names if name not in known), None)
    columns = [known[name].column for name in names if name in known]
    ranges = tuple((part.low, part.high) for part in columns)
    wide = next((part for part in columns if not math.isfinite(part.high - part.low)), None)
    if rule not in RULES:
        known_rules = ", ".join(RULES)
        problem = f"HOW:METRIC,METRIC with one of {known_rules}{did_you_mean(rule, RULES)}"
    elif unknown is not None:
        near = did_you_mean(unknown, known)
        problem = f"{unknown} is not run: the metrics are {', '.join(known)}{near}"
    elif len(set(names)) < 2 or len(set(names)) < len(names):
        problem = "two different metrics or more are needed"
    elif len({part.judges for part in columns}) > 1:
        problem = "some judge replies, some whole conversations"
    elif wide is not None:
        problem = f"{wide.name} goes from {wide.low:g} to {wide.high:g}: it has no scale"
    else:
        return Blend(_column(rule, columns), rule, tuple(names), ranges)
    raise InputError(f"--blend {stated}: {problem}")


def _column(rule: str, parts: Sequence[ScoreColumn]) -> ScoreColumn:
    names = [part.name for part in parts]
    name = "_".join((rule, *names))
    of = "+".join(f"[{part.signature}]" for part in parts)
    scaled = [(part.neutral - part.low) / (part.high - part.low) for part in parts]
    neutral = combined(rule, scaled)
    source = "Blends as in RUBER (Tao et al., AAAI 2018) and predictive engagement (2020)."
    return ScoreColumn(
        name, f"The {rule} of {', '.join(names)}", parts[0].judges, 0.0, 1.0, neutral, source,
        str(Signature(name, "1", ((PARTS, of),))),
    )  # fmt: skip


def written_column(name: str, signature: str, registry: Registry) -> ScoreColumn:
    """Return the metadata of scores of a file, of a metric or of a blend."""
    written = Signature.parse(signature)
    of = dict(written.settings).get(PARTS, "")
    rule = written.metric.partition("_")[0]
    if rule not in RULES or not of.startswith("["):
        return column_of(registry.named(name), signature)
    parts = [
        column_of(registry.named(Signature.parse(part).metric), part)
        for part in of[1:-1].split("]+[")
    ]
    return _column(rule, parts)._replace(name=name, signature=signature)
