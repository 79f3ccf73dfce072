"""What the flaw of a reply is called in a review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.sense import cause_of
from grice.scoring.items import EMPTY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.evaluation.review_stack import Witness
    from grice.records import Evidence, Score

REPEATS = "repeats"
CERTAIN = 0.01
"""A repetition is beyond doubt at so low a score: a probability that it is none."""
FLAWS = {
    "contradiction": "contradicts",
    "repetition": REPEATS,
    "unanswered": "unanswered",
    "nonsense": "senseless",
    "dull": "dull",
}
"""What is said of a flaw that the evidence of a metric names."""


def is_empty(score: Score) -> bool:
    """Whether a score is that of a reply without a word."""
    return score.turn is not None and EMPTY in score.flags


def verbatim_of(
    seen: Mapping[str, Score], effects: Mapping[str, float], witnesses: Mapping[str, Witness]
) -> list[str]:
    """Return the metrics that show a repetition beyond doubt, whatever else speaks against it."""
    return [
        name
        for name, effect in effects.items()
        if witnesses[name].flaw == REPEATS and effect > 0 and (seen[name].value or 0.0) <= CERTAIN
    ]


def flaw_of(witness: Witness, evidence: Sequence[Evidence]) -> str:
    """Return the flaw that a witness speaks of: its own, or one that stands out in its evidence."""
    return witness.flaw or FLAWS.get(cause_of(evidence) or "", "senseless")
