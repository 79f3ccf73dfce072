"""Can a metric be trusted on this file? Figures, and sentences that say when not."""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError, RecordError, plural
from grice.evaluation.domain import open_domain
from grice.evaluation.health_card import HealthCard, HealthItem, JudgedBy, card_of
from grice.evaluation.health_findings import Thresholds
from grice.evaluation.recorded import RecordedScores
from grice.evaluation.sample import sample, windows
from grice.records import Conversation, Score, TripleEvidence
from grice.scoring.items import utterances

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grice.evaluation.domain import Encode
    from grice.scoring.loaded import LoadedMetric
    from grice.scoring.run import Scorer

WINDOW = 32
"""Conversations scored at once: few enough to see how it gets on."""


class HealthResult(msgspec.Struct, frozen=True):
    """All metrics on one file.

    Attributes:
        conversations: How many were evaluated.
        of: How many there are.
        problems: The first of them.
        bars: From where on a finding was said.
    """

    cards: tuple[HealthCard, ...]
    conversations: int
    of: int
    broken: int
    problems: tuple[str, ...]
    bars: Thresholds
    seed: int


def health(
    records: Iterable[Conversation | RecordError],
    scorer: Scorer | RecordedScores,
    *,
    most: int = 2000,
    seed: int = 0,
    thresholds: Thresholds = Thresholds(),  # noqa: B008 - frozen
    encode: Encode | None = None,
) -> HealthResult:
    """Score conversations and say how far each metric can be trusted on them.

    Args:
        records: The conversations; up to ``most`` are drawn from them.
        scorer: What judges them, or scores of any tool that are there already.
        encode: Gives vectors of the shipped encoder (:meth:`grice.scoring.api.Grader.encode`), to
            say how far the turns lie from what the models were trained on.

    Raises:
        InputError: If there is no conversation, or no score of any.
    """
    drawn = sample(records, most, seed)
    if not drawn.conversations:
        broken = plural(drawn.broken, "broken record")
        raise InputError(f"no conversation could be read ({broken})")
    if isinstance(scorer, RecordedScores):
        scorer.check_met(drawn.conversations)
        judges, unlike = scorer.metrics, _Outside((), None)
    else:
        judges = tuple(map(_judged_by, scorer.metrics))
        unlike = _Outside(scorer.metrics, encode)
    items: dict[str, list[HealthItem]] = {judge.name: [] for judge in judges}
    numbers = count()
    for window in windows(drawn.conversations, WINDOW, "conversations"):
        groups = scorer.score(window)
        outside = unlike.among(window, groups)
        for talk, scores, number in zip(window, groups, numbers, strict=False):
            for score in scores:
                known = outside if score.metric in unlike.metrics else {}
                items[score.metric].append(_item(number, talk, score, known))
    cards = (card_of(judge, items[judge.name], thresholds, seed) for judge in judges)
    return HealthResult(
        tuple(cards),
        len(drawn.conversations),
        drawn.seen,
        drawn.broken,
        drawn.problems,
        thresholds,
        seed,
    )


def _judged_by(loaded: LoadedMetric) -> JudgedBy:
    metric = loaded.metric
    bounds = (metric.low, metric.high)
    ends = bounds if all(map(math.isfinite, bounds)) else None
    return JudgedBy(metric.name, metric.judges, loaded.signature, bounds, ends)


def _item(
    number: int, conversation: Conversation, score: Score, outside: Mapping[str, bool]
) -> HealthItem:
    texts = _judged(conversation, score)
    return HealthItem(
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
