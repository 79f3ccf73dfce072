"""What speaks against a metric on a file, in sentences, and from where on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.errors import plural
from grice.evaluation.domain import USUAL
from grice.stats.estimate import FEW
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.evaluation.health_card import HealthCard


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


def warnings(
    card: HealthCard, thresholds: Thresholds, conversations: int, *, constant: bool
) -> Iterator[str]:
    """Yield why not to trust a metric on a file."""
    for reason in _reasons(card, thresholds, conversations, constant=constant):
        yield f"do not trust {card.metric} on this file because {reason}"


def _reasons(
    card: HealthCard, thresholds: Thresholds, conversations: int, *, constant: bool
) -> Iterator[str]:
    if conversations < thresholds.conversations:
        yield (
            f"only {plural(conversations, 'conversation has', 'conversations have')} a score; at "
            f"least {thresholds.conversations} are needed to tell anything"
        )
    if constant:
        yield "it gives every item the same value"
    yield from _biases(card, thresholds.bias)
    proportions = (
        (card.ceiling, thresholds.ends, "of its scores lie at the top of its range"),
        (card.floor, thresholds.ends, "of its scores lie at the bottom of its range"),
        (card.truncated, thresholds.truncated, "of the items are too long to be read whole"),
        (card.abstained, thresholds.abstained, "of the items give it nothing to judge"),
        (card.failed, thresholds.failed, "of the items could not be judged at all"),
        (
            card.outside,
            thresholds.outside,
            f"of its turns are unlike anything its models were trained on ({USUAL:.0%} are usual)",
        ),
    )
    for proportion, most, words in proportions:
        if proportion is not None and proportion.value > most:
            yield f"{proportion.value:.0%} {words}"


def _biases(card: HealthCard, threshold: float) -> Iterator[str]:
    for bias, what, way in (
        (card.length_bias, "length", "longer"),
        (card.position_bias, "position", "later"),
    ):
        if bias and (bias.side(threshold) == "above" or bias.side(-threshold) == "below"):
            side = "higher" if bias.value > 0 else "lower"
            yield (
                f"it follows {what}: {way} items score {side} (Spearman "
                f"{with_interval(bias, '.2f')})"
            )


def remarks(card: HealthCard, judges: str) -> Iterator[str]:
    """Yield what else there is to know, such as what could not be told."""
    if card.nearest_known is not None:
        yield (
            f"what was said is like the nearest known event by a cosine of "
            f"{card.nearest_known.value:.2f} on average"
        )
    if card.outside is None:
        yield (
            "how far this file lies from what the metric was trained on cannot be told: it reads "
            "no vectors of the shipped encoder, or there are none at hand"
        )
    else:
        yield (
            f"{card.outside.value:.1%} of its turns lie farther from what the models were trained "
            f"on than {1 - USUAL:.0%} of the turns of held-out conversations; {USUAL:.0%} are usual"
        )
    unknown = [("length", card.length_bias)]
    unknown += [("position", card.position_bias)] * (judges == "response")
    for what, bias in unknown:
        if card.mean is not None and bias is None:
            yield f"no correlation with {what}: one of the two never changes, or n is too small"
