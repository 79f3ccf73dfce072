"""Can a metric be trusted on this file? Figures, and sentences that say when not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError, RecordError, counted
from grice.evaluation.domain import USUAL, open_domain
from grice.evaluation.proportions import proportion
from grice.evaluation.sample import sample
from grice.evaluation.table import STATUSES
from grice.metrics.limits import explained
from grice.records import Conversation, Score, Status, TripleEvidence
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

__all__ = ["HealthCard", "HealthResult", "Thresholds", "health"]

WINDOW = 256
"""Conversations scored at once."""
RESAMPLES = 1000


class Thresholds(msgspec.Struct, frozen=True):
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
        conversations: How many were evaluated.
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
    bars: Thresholds
    seed: int


class _Item(NamedTuple):
    """What a card needs of one score.

    Attributes:
        conversation: Number of the conversation.
        value: NaN unless ``ok``.
        length: Logarithm of the number of judged words.
        position: Index of the turn; NaN for a whole conversation.
        status: Its status.
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


def _item(
    number: int, conversation: Conversation, score: Score, outside: Mapping[str, bool]
) -> _Item:
    texts = _judged(conversation, score)
    return _Item(
        number,
        score.value if score.status == "ok" and score.value is not None else math.nan,
        math.log(max(1, sum(len(text.split()) for text in texts))),
        math.nan if score.turn is None else float(score.turn),
        score.status,
        "truncated" in score.flags,
        [
            piece.known.head_similarity
            for piece in score.evidence
            if isinstance(piece, TripleEvidence) and piece.known is not None
        ],
        [outside[text] for text in texts if text in outside],
    )


def _proportion(groups: Sequence[int], hits: Iterable[bool]) -> Estimate | None:
    if not groups:
        return None
    return _by_group(groups, np.array([*hits], np.float64), np.ones(len(groups)))


def _by_group(groups: Sequence[int], hits: Floats, counted_items: Floats) -> Estimate | None:
    return proportion(
        [*map(float, np.bincount(groups, hits))], [*map(int, np.bincount(groups, counted_items))]
    )


class _Outside:
    """Which metrics read the shipped encoder, and which turns are out of domain."""

    def __init__(self, metrics: Sequence[LoadedMetric], encode: Encode | None) -> None:
        self.metrics: set[str] = set()
        self._encode = encode
        if encode is not None and any(loaded.bundles for loaded in metrics):
            self._domain = open_domain()
            self.metrics = {
                loaded.metric.name for loaded in metrics if self._domain.fits(loaded.bundles)
            }

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
        outside = self._domain.outside([*texts], self._encode)
        return dict(zip(texts, outside.tolist(), strict=True))


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
    thresholds: Thresholds = Thresholds(),  # noqa: B008 - frozen
    encode: Encode | None = None,
) -> HealthResult:
    """Score conversations and say how far each metric can be trusted on them.

    Args:
        records: The conversations; up to ``most`` are drawn from them.
        scorer: The metrics.
        most: How many conversations at most.
        seed: Seed of the draw and of the resamples.
        thresholds: From where on a finding is said.
        encode: Gives vectors of the shipped encoder (:meth:`grice.scoring.api.Grader.encode`), to
            say how far the turns lie from what the models were trained on.

    Raises:
        InputError: If there is no conversation, or nothing in any to judge.
    """
    drawn = sample(records, most, seed)
    if not drawn.conversations:
        broken = counted(drawn.broken, "broken record")
        raise InputError(f"no conversation could be read ({broken})")
    items: dict[str, list[_Item]] = {loaded.metric.name: [] for loaded in scorer.metrics}
    unlike = _Outside(scorer.metrics, encode)
    for start in range(0, len(drawn.conversations), WINDOW):
        window = drawn.conversations[start : start + WINDOW]
        groups = scorer.score(window)
        outside = unlike.among(window, groups)
        for place, (conversation, scores) in enumerate(zip(window, groups, strict=True)):
            for score in scores:
                known = outside if score.metric in unlike.metrics else {}
                items[score.metric].append(_item(start + place, conversation, score, known))
    cards = (
        _card(loaded, items[loaded.metric.name], thresholds, seed) for loaded in scorer.metrics
    )
    return HealthResult(
        tuple(cards),
        len(drawn.conversations),
        drawn.seen,
        drawn.broken,
        drawn.problems,
        thresholds,
        seed,
    )


def _card(
    loaded: LoadedMetric, items: Sequence[_Item], thresholds: Thresholds, seed: int
) -> HealthCard:
    metric = loaded.metric
    groups = [item.conversation for item in items]
    values = np.array([item.value for item in items])
    statuses = [item.status for item in items]
    judged = ~np.isnan(values)
    bounds = (metric.low, metric.high)
    top, bottom = (_end(groups, values, end, bounds, thresholds.edge) for end in reversed(bounds))
    known = [(item.conversation, cosine) for item in items for cosine in item.known]
    outside = [(item.conversation, out) for item in items for out in item.outside]
    card = HealthCard(
        metric=metric.name,
        warnings=(),
        remarks=(),
        mean=mean(values, groups=groups, bounds=bounds) if judged.any() else None,
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
        signature=loaded.signature,
        limits=tuple(explained(metric.name, signature=loaded.signature)),
    )
    units = len({item.conversation for item in items if not math.isnan(item.value)})
    constant = bool(judged.any() and np.ptp(values[judged]) == 0)
    return msgspec.structs.replace(
        card,
        warnings=tuple(_warnings(card, thresholds, units, constant=constant)),
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
    groups: Sequence[int], values: Floats, end: float, bounds: tuple[float, float], edge: float
) -> Estimate | None:
    """Return the share of the scores that lie at one end of the range; None if it is open."""
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    judged = ~np.isnan(values)
    at_end = judged & (np.abs(np.nan_to_num(values) - end) <= edge * (high - low))
    return _by_group(groups, at_end.astype(float), judged.astype(float))


def _warnings(card: HealthCard, thresholds: Thresholds, units: int, *, constant: bool) -> list[str]:
    reasons = []
    if units < thresholds.conversations:
        reasons.append(
            f"only {counted(units, 'conversation has', 'conversations have')} a score; at least "
            f"{thresholds.conversations} are needed to tell anything"
        )
    if constant:
        reasons.append("it gives every item the same value")
    for bias, what in ((card.length_bias, "length"), (card.position_bias, "position")):
        if bias is not None and _beyond(bias, thresholds.bias):
            way = "longer" if what == "length" else "later"
            side = "higher" if bias.value > 0 else "lower"
            reasons.append(
                f"it follows {what}: {way} items score {side} (Spearman {bias.value:.2f} "
                f"[{bias.low:.2f}, {bias.high:.2f}])"
            )
    shares = (
        (card.ceiling, thresholds.ends, "of its scores lie at the top of its range"),
        (card.floor, thresholds.ends, "of its scores lie at the bottom of its range"),
        (card.truncated, thresholds.truncated, "of the items are too long to be read whole"),
        (card.abstained, thresholds.abstained, "of the items give it nothing to judge"),
        (card.failed, thresholds.failed, "of the items could not be judged at all"),
    )
    for share, most, words in shares:
        if share is not None and share.value > most:
            reasons.append(f"{share.value:.0%} {words}")
    if card.outside is not None and card.outside.value > thresholds.outside:
        reasons.append(
            f"{card.outside.value:.0%} of its turns are unlike anything its models were trained "
            f"on ({USUAL:.0%} are usual)"
        )
    return [f"do not trust {card.metric} on this file because {reason}" for reason in reasons]


def _beyond(bias: Estimate, threshold: float) -> bool:
    if bias.low is None or bias.high is None:
        return False
    return bias.low > threshold or bias.high < -threshold


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
