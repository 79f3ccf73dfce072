"""Can a metric be trusted on this file? Figures, and sentences that say when not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError, RecordError, counted
from grice.evaluation.domain import USUAL, open_domain
from grice.evaluation.proportions import proportion
from grice.evaluation.sample import Sample, sample
from grice.metrics.limits import explained
from grice.records import Conversation, Score, TripleEvidence
from grice.scoring.items import utterances
from grice.stats.correlations import correlation
from grice.stats.estimate import FEW, Estimate
from grice.stats.inputs import Floats
from grice.stats.systems import mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grice.evaluation.domain import Encode
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
        outside: Share of judged turns unlike the training conversations; 5 % are usual.
    """

    bias: float = 0.3
    ends: float = 0.25
    edge: float = 0.01
    truncated: float = 0.1
    abstained: float = 0.2
    failed: float = 0.01
    conversations: int = FEW
    outside: float = 0.25


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
        outside: Share of the judged turns that lie farther from the training conversations of the
            shipped models than 95 % of held-out turns of these do; None for a metric that does
            not read the shipped encoder, or without vectors of it.
        counts: Items by status.
        signature: What exactly was computed.
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
        self.outside: list[bool] = []
        self.outside_in: list[int] = []

    def add(
        self, number: int, conversation: Conversation, score: Score, outside: Mapping[str, bool]
    ) -> None:
        texts = _judged(conversation, score)
        for text in texts:
            if text in outside:
                self.outside.append(outside[text])
                self.outside_in.append(number)
        is_ok = score.status == "ok" and score.value is not None
        self.conversations.append(number)
        self.values.append(score.value if is_ok and score.value is not None else math.nan)
        self.lengths.append(math.log(max(1, sum(len(text.split()) for text in texts))))
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
        return _share(self.conversations, hits)


def _share(
    groups: Sequence[int], hits: Sequence[bool] | np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Estimate | None:
    if not groups:
        return None
    return proportion(
        [*map(float, np.bincount(groups, np.asarray(hits, np.float64)))],
        [*map(int, np.bincount(groups))],
    )


class _Outside:
    """Which metrics read the shipped encoder, and which turns are unlike its training texts."""

    def __init__(self, metrics: Sequence[LoadedMetric], encode: Encode | None) -> None:
        self.metrics: set[str] = set()
        self._encode = encode
        if encode is not None and any(loaded.bundles for loaded in metrics):
            self._domain = open_domain()
            self.metrics = {one.metric.name for one in metrics if self._domain.fits(one.bundles)}

    def among(
        self, window: Sequence[Conversation], groups: Sequence[Sequence[Score]]
    ) -> dict[str, bool]:
        """Return for each turn that these metrics judged whether it lies outside."""
        texts = dict.fromkeys(
            text
            for conversation, scores in zip(window, groups, strict=True)
            for score in scores
            if score.metric in self.metrics
            for text in _judged(conversation, score)
        )
        if not texts or self._encode is None:
            return {}
        found = self._domain.outside([*texts], self._encode)
        return dict(zip(texts, found.tolist(), strict=True))


def _judged(conversation: Conversation, score: Score) -> list[str]:
    """Return the turns that a score is about."""
    if score.turn is None:
        return [turn.text for turn in utterances(conversation).conversation.turns]
    return [conversation.turns[score.turn].text]


def health(
    records: Iterable[Conversation | RecordError],
    scorer: Scorer,
    *,
    most: int = 2000,
    seed: int = 0,
    bars: Bars = Bars(),  # noqa: B008 - frozen
    encode: Encode | None = None,
) -> HealthResult:
    """Score conversations and say how far each metric can be trusted on them.

    Args:
        records: The conversations; up to ``most`` are drawn from them.
        scorer: The metrics.
        most: How many conversations at most.
        seed: Seed of the draw and of the resamples.
        bars: From where on a finding is said.
        encode: Gives vectors of the shipped encoder (:meth:`grice.scoring.api.Grader.encode`), to
            say how far the turns lie from what the models were trained on.

    Raises:
        InputError: If there is no conversation, or nothing in any to judge.
    """
    drawn = sample(records, most, seed)
    if not drawn.conversations:
        broken = counted(drawn.broken, "broken record")
        raise InputError(f"no conversation could be read ({broken})")
    items = {loaded.metric.name: _Items() for loaded in scorer.metrics}
    unlike = _Outside(scorer.metrics, encode)
    for start in range(0, len(drawn.conversations), WINDOW):
        window = drawn.conversations[start : start + WINDOW]
        groups = scorer.score(window)
        outside = unlike.among(window, groups)
        for place, (conversation, scores) in enumerate(zip(window, groups, strict=True)):
            for score in scores:
                found = outside if score.metric in unlike.metrics else {}
                items[score.metric].add(start + place, conversation, score, found)
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
    known = mean(items.known, groups=items.known_in, bounds=(-1, 1)) if items.known else None
    card = HealthCard(
        metric.name,
        (),
        (),
        mean(values, groups=groups, bounds=(metric.low, metric.high)) if judged.any() else None,
        _bias(values, np.array(items.lengths), groups, seed),
        _bias(values, np.array(items.positions), groups, seed),
        ends["ceiling"],
        ends["floor"],
        items.share(items.truncated),
        items.share(statuses == "abstained"),
        items.share(statuses == "failed"),
        known,
        _share(items.outside_in, items.outside),
        {status: items.statuses.count(status) for status in ("ok", "abstained", "failed")},
        loaded.signature,
        tuple(explained(metric.name, signature=loaded.signature)),
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
    return proportion(
        [*map(float, np.bincount(codes, at_end.astype(float)))],
        [*map(int, np.bincount(codes, judged.astype(float)))],
    )


def _warnings(card: HealthCard, bars: Bars, units: int, *, constant: bool) -> list[str]:
    reasons = []
    if units < bars.conversations:
        reasons.append(
            f"only {counted(units, 'conversation has', 'conversations have')} a score; at least "
            f"{bars.conversations} are needed to tell anything"
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
    if card.outside is not None and card.outside.value > bars.outside:
        reasons.append(
            f"{card.outside.value:.0%} of its turns are unlike anything its models were trained "
            f"on ({USUAL:.0%} are usual)"
        )
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
            f"{card.nearest_known.value:.2f} on average"
        )
    if card.outside is None:
        remarks.append(
            "how far this file lies from what the metric was trained on cannot be told: it reads "
            "no vectors of the shipped encoder, or there are none at hand"
        )
    else:
        remarks.append(
            f"{card.outside.value:.1%} of its turns lie farther from what the models were trained "
            f"on than {1 - USUAL:.0%} of the turns of held-out conversations; {USUAL:.0%} are usual"
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
