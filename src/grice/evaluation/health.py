"""Can a metric be trusted on this file? Figures, and sentences that say when not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError, RecordError
from grice.evaluation.sample import Sample, sample
from grice.evaluation.shares import share
from grice.records import Conversation, Score, TripleEvidence
from grice.stats.correlations import correlation
from grice.stats.estimate import FEW, Estimate, Floats
from grice.stats.systems import mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.scoring.loaded import LoadedMetric
    from grice.scoring.run import Scorer

__all__ = ["Bars", "HealthCard", "HealthResult", "health"]

WINDOW = 256
"""Conversations scored at once."""
RESAMPLES = 1000


class Bars(msgspec.Struct, frozen=True):
    """From where on a finding is said; conventions, stated beside every card.

    Attributes:
        bias: Correlation with length or position, held against the nearer end of the interval.
        ends: Share of scores at one end of the range.
        edge: Part of the range that counts as its end.
        truncated: Share of items cut.
        abstained: Share of items abstained on.
        failed: Share of items failed on.
        conversations: Fewest conversations with a score.
    """

    bias: float = 0.3
    ends: float = 0.25
    edge: float = 0.01
    truncated: float = 0.1
    abstained: float = 0.2
    failed: float = 0.01
    conversations: int = FEW


class HealthCard(msgspec.Struct, frozen=True):
    """One metric on one file.

    Attributes:
        metric: Its name.
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
        counts: Items by status.
        signature: What exactly was computed.
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
    counts: dict[str, int]
    signature: str


class HealthResult(msgspec.Struct, frozen=True):
    """All metrics on one file.

    Attributes:
        cards: One per metric.
        conversations: How many were looked at.
        of: How many there are.
        broken: Records that could not be read.
        problems: The first of them.
        bars: From where on a finding was said.
        seed: Seed of the draw and of the resamples.
    """

    cards: tuple[HealthCard, ...]
    conversations: int
    of: int
    broken: int
    problems: tuple[str, ...]
    bars: Bars
    seed: int


class _Items:
    """What the card is made of, item by item."""

    def __init__(self) -> None:
        self.conversations: list[int] = []
        self.values: list[float] = []
        self.lengths: list[float] = []
        self.positions: list[float] = []
        self.statuses: list[str] = []
        self.truncated: list[bool] = []
        self.known: list[float] = []
        self.known_in: list[int] = []

    def add(self, number: int, conversation: Conversation, score: Score) -> None:
        turns = conversation.turns if score.turn is None else (conversation.turns[score.turn],)
        is_ok = score.status == "ok" and score.value is not None
        self.conversations.append(number)
        self.values.append(score.value if is_ok and score.value is not None else math.nan)
        self.lengths.append(math.log(max(1, sum(len(turn.text.split()) for turn in turns))))
        self.positions.append(math.nan if score.turn is None else float(score.turn))
        self.statuses.append(score.status)
        self.truncated.append("truncated" in score.flags)
        for piece in score.evidence:
            if isinstance(piece, TripleEvidence) and piece.known is not None:
                self.known.append(piece.known.head_similarity)
                self.known_in.append(number)

    def share(
        self, hits: Sequence[bool] | np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> Estimate | None:
        codes = np.asarray(self.conversations)
        return share(
            [*map(float, np.bincount(codes, np.asarray(hits, np.float64)))],
            [*map(int, np.bincount(codes))],
        )


def health(
    records: Iterable[Conversation | RecordError],
    scorer: Scorer,
    *,
    most: int = 2000,
    seed: int = 0,
    bars: Bars = Bars(),  # noqa: B008 - frozen
) -> HealthResult:
    """Score conversations and say how far each metric can be trusted on them.

    Args:
        records: The conversations; up to ``most`` are drawn from them.
        scorer: The metrics.
        most: How many conversations at most.
        seed: Seed of the draw and of the resamples.
        bars: From where on a finding is said.

    Raises:
        InputError: If there is no conversation, or nothing in any to judge.
    """
    drawn = sample(records, most, seed)
    if not drawn.conversations:
        raise InputError(f"no conversation could be read ({drawn.broken} broken records)")
    items = {loaded.metric.name: _Items() for loaded in scorer.metrics}
    for start in range(0, len(drawn.conversations), WINDOW):
        window = drawn.conversations[start : start + WINDOW]
        groups = scorer.score(window)
        for place, (conversation, scores) in enumerate(zip(window, groups, strict=True)):
            for score in scores:
                items[score.metric].add(start + place, conversation, score)
    cards = [_card(loaded, items[loaded.metric.name], bars, seed) for loaded in scorer.metrics]
    return _result(tuple(cards), drawn, bars, seed)


def _result(cards: tuple[HealthCard, ...], drawn: Sample, bars: Bars, seed: int) -> HealthResult:
    return HealthResult(
        cards, len(drawn.conversations), drawn.seen, drawn.broken, drawn.problems, bars, seed
    )


def _card(loaded: LoadedMetric, items: _Items, bars: Bars, seed: int) -> HealthCard:
    metric = loaded.metric
    values = np.array(items.values)
    judged = ~np.isnan(values)
    statuses = np.array(items.statuses)
    groups = items.conversations
    ends = {
        "ceiling": _end(items, values, metric.high, metric.low, metric.high, bars),
        "floor": _end(items, values, metric.low, metric.low, metric.high, bars),
    }
    known = mean(items.known, groups=items.known_in) if items.known else None
    card = HealthCard(
        metric.name,
        (),
        (),
        mean(values, groups=groups) if judged.any() else None,
        _bias(values, np.array(items.lengths), groups, seed),
        _bias(values, np.array(items.positions), groups, seed),
        ends["ceiling"],
        ends["floor"],
        items.share(items.truncated),
        items.share(statuses == "abstained"),
        items.share(statuses == "failed"),
        known,
        {status: items.statuses.count(status) for status in ("ok", "abstained", "failed")},
        loaded.signature,
    )
    units = len(set(np.array(groups)[judged].tolist()))
    constant = bool(judged.any() and np.ptp(values[judged]) == 0)
    return msgspec.structs.replace(
        card,
        warnings=tuple(_warnings(card, bars, units, constant=constant)),
        remarks=tuple(_remarks(card, metric.judges)),
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
    items: _Items, values: Floats, end: float, low: float, high: float, bars: Bars
) -> Estimate | None:
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    codes = np.array(items.conversations)
    judged = ~np.isnan(values)
    at_end = judged & (np.abs(np.nan_to_num(values) - end) <= bars.edge * (high - low))
    return share(
        [*map(float, np.bincount(codes, at_end.astype(float)))],
        [*map(int, np.bincount(codes, judged.astype(float)))],
    )


def _warnings(card: HealthCard, bars: Bars, units: int, *, constant: bool) -> list[str]:
    reasons = []
    if units < bars.conversations:
        reasons.append(
            f"only {units} conversations have a score; at least {bars.conversations} are needed "
            "to tell anything"
        )
    if constant:
        reasons.append("it gives every item the same value")
    for bias, what in ((card.length_bias, "length"), (card.position_bias, "position")):
        if bias is not None and _beyond(bias, bars.bias):
            way = "longer" if what == "length" else "later"
            side = "higher" if bias.value > 0 else "lower"
            reasons.append(
                f"it follows {what}: {way} items score {side} (Spearman {bias.value:.2f} "
                f"[{bias.low:.2f}, {bias.high:.2f}])"
            )
    shares = (
        (card.ceiling, bars.ends, "of its scores lie at the top of its range"),
        (card.floor, bars.ends, "of its scores lie at the bottom of its range"),
        (card.truncated, bars.truncated, "of the items are too long to be read whole"),
        (card.abstained, bars.abstained, "of the items give it nothing to judge"),
        (card.failed, bars.failed, "of the items could not be judged at all"),
    )
    for found, bar, words in shares:
        if found is not None and found.value > bar:
            reasons.append(f"{found.value:.0%} {words}")
    return [f"do not trust {card.metric} on this file because {reason}" for reason in reasons]


def _beyond(bias: Estimate, bar: float) -> bool:
    if bias.low is None or bias.high is None:
        return False
    return bias.low > bar or bias.high < -bar


def _remarks(card: HealthCard, judges: str) -> list[str]:
    remarks = []
    if card.nearest_known is not None:
        remarks.append(
            f"what was said is like the nearest known event by a cosine of "
            f"{card.nearest_known.value:.2f} on average; nothing ships to say what is usual"
        )
    else:
        remarks.append(
            "how far this file lies from what the metric was trained on cannot be told: no "
            "sample of its training texts ships"
        )
    if card.mean is not None and card.length_bias is None:
        remarks.append(
            "no correlation with length: one of the two never changes, or n is too small"
        )
    if judges == "response" and card.mean is not None and card.position_bias is None:
        remarks.append(
            "no correlation with position: one of the two never changes, or n is too small"
        )
    return remarks
