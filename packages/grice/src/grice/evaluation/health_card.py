"""The figures of one metric on one file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.evaluation.health_findings import Thresholds, remarks, warnings
from grice.evaluation.table import STATUSES
from grice.metrics.limits import explained
from grice.records import Status
from grice.stats.correlations import correlation
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats
from grice.stats.proportions import proportion
from grice.stats.systems import mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


RESAMPLES = 1000


class HealthCard(msgspec.Struct, frozen=True):
    """One metric on one file.

    Attributes:
        warnings: Sentences that say why not to trust it here; empty if nothing was found.
        remarks: What else there is to know, such as what could not be told.
        mean: Mean of the scores; None without any.
        length_bias: Spearman correlation with the log of the number of words.
        position_bias: Spearman correlation with the index of the turn.
        ceiling: Share of the scores at the top of the range; None if it has no top.
        floor: Share at the bottom; None if it has no bottom.
        truncated: Share of items flagged as truncated.
        abstained: Share of items abstained on.
        failed: Share of items failed on.
        nearest_known: Mean cosine of what was said to the nearest known head, over the triples of
            the evidence; None for a metric without such evidence.
        outside: Share of the judged turns that lie farther from the training conversations of the
            shipped models than 95 % of held-out turns of these do; None for a metric that does
            not read the shipped encoder, or without vectors of it.
        limits: What the metric does not see on any file, by recorded benches.
    """

    metric: str
    warnings: tuple[str, ...]
    remarks: tuple[str, ...]
    mean: Estimate | None
    length_bias: Estimate | None
    position_bias: Estimate | None
    ceiling: Estimate | None
    floor: Estimate | None
    truncated: Estimate | None
    abstained: Estimate | None
    failed: Estimate | None
    nearest_known: Estimate | None
    outside: Estimate | None
    counts: dict[str, int]
    signature: str
    limits: tuple[str, ...]


class HealthItem(NamedTuple):
    """What a card needs of one score.

    Attributes:
        value: NaN unless ``ok``.
        length: Logarithm of the number of judged words.
        position: Index of the turn; NaN for a whole conversation.
        truncated: Whether the text was cut.
        known: Cosines of what was said to the nearest known heads.
        outside: For each judged turn whether it is out of domain, as far as that is known.
    """

    conversation: int
    value: float
    length: float
    position: float
    status: Status
    truncated: bool
    known: list[float]
    outside: list[bool]


class JudgedBy(NamedTuple):
    """What a card needs of what gave the scores.

    Attributes:
        judges: ``response`` or ``conversation``.
        bounds: What no value can lie outside of.
        ends: Lowest and highest value, to count the scores that lie there; None where the range
            is open.
    """

    name: str
    judges: str
    signature: str
    bounds: tuple[float, float] = (-math.inf, math.inf)
    ends: tuple[float, float] | None = None


def card_of(
    metric: JudgedBy, items: Sequence[HealthItem], thresholds: Thresholds, seed: int
) -> HealthCard:
    """Return the card of a metric from what is kept of its scores."""
    groups = [item.conversation for item in items]
    values = np.array([item.value for item in items])
    statuses = [item.status for item in items]
    judged = ~np.isnan(values)
    bottom, top = (_end(groups, values, high, metric.ends, thresholds.edge) for high in (0, 1))
    known = [(item.conversation, cosine) for item in items for cosine in item.known]
    outside = [(item.conversation, out) for item in items for out in item.outside]
    card = HealthCard(
        metric=metric.name,
        warnings=(),
        remarks=(),
        mean=mean(values, groups=groups, bounds=metric.bounds) if judged.any() else None,
        length_bias=_bias(values, np.array([item.length for item in items]), groups, seed),
        position_bias=_bias(values, np.array([item.position for item in items]), groups, seed),
        ceiling=top,
        floor=bottom,
        truncated=_proportion(groups, (item.truncated for item in items)),
        abstained=_proportion(groups, (status == "abstained" for status in statuses)),
        failed=_proportion(groups, (status == "failed" for status in statuses)),
        nearest_known=mean(
            [cosine for _, cosine in known], groups=[group for group, _ in known], bounds=(-1, 1)
        )
        if known
        else None,
        outside=_proportion([group for group, _ in outside], (out for _, out in outside)),
        counts={status: statuses.count(status) for status in STATUSES},
        signature=metric.signature,
        limits=tuple(explained(metric.name, signature=metric.signature)),
    )
    units = len({item.conversation for item in items if not math.isnan(item.value)})
    constant = bool(judged.any() and np.ptp(values[judged]) == 0)
    return msgspec.structs.replace(
        card,
        warnings=tuple(warnings(card, thresholds, units, constant=constant)),
        remarks=tuple(remarks(card, metric.judges)),
    )


def _bias(values: Floats, other: Floats, groups: Sequence[int], seed: int) -> Estimate | None:
    """Return the correlation; None where a column never changes or too little is there."""
    both = ~(np.isnan(values) | np.isnan(other))
    if both.sum() < 2 or np.ptp(values[both]) == 0 or np.ptp(other[both]) == 0:
        return None
    if len(set(np.array(groups)[both].tolist())) < 2:
        return None
    return correlation(values, other, groups=groups, resamples=RESAMPLES, seed=seed)


def _end(
    groups: Sequence[int],
    values: Floats,
    place: int,
    ends: tuple[float, float] | None,
    edge: float,
) -> Estimate | None:
    """Return the share of the scores that lie at one of the ends; None if there is none."""
    if ends is None:
        return None
    low, high = ends
    judged = ~np.isnan(values)
    at_end = judged & (np.abs(np.nan_to_num(values) - ends[place]) <= edge * (high - low))
    return _by_group(groups, at_end.astype(float), judged.astype(float))


def _proportion(groups: Sequence[int], hits: Iterable[bool]) -> Estimate | None:
    if not groups:
        return None
    return _by_group(groups, np.array([*hits], np.float64), np.ones(len(groups)))


def _by_group(groups: Sequence[int], hits: Floats, counted_items: Floats) -> Estimate | None:
    return proportion(
        [*map(float, np.bincount(groups, hits))], [*map(int, np.bincount(groups, counted_items))]
    )
