"""What a trained system gets on held-out files, with intervals over dialogues."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.stats.inputs import group_codes
from grice.stats.resample import Sampling, resampled_estimate
from grice.stats.systems import mean
from grice_research.triplets.scores import score_span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from grice.stats.estimate import Estimate
    from grice_research.training.published.files import TrainingExample

    Indicators = NDArray[np.float64]

SHARE = (0.0, 1.0)


class Figure(NamedTuple):
    """A figure by the name of its measure."""

    measure: str
    estimate: Estimate


class Floor(NamedTuple):
    """What an answer without understanding gets."""

    name: str
    figure: Figure


def label_figures(
    examples: Sequence[TrainingExample], gold: Sequence[str], predicted: Sequence[str]
) -> Iterator[Figure]:
    """Yield accuracy, and the mean F1 of the labels that are right or were given somewhere."""
    groups = [example.group for example in examples]
    right = [float(a == b) for a, b in zip(gold, predicted, strict=True)]
    yield Figure("accuracy", mean(right, groups=groups, bounds=SHARE))
    yield Figure("macro_f1", macro_f1(gold, predicted, groups))


def macro_f1(gold: Sequence[str], predicted: Sequence[str], groups: Sequence[str]) -> Estimate:
    """Return the mean F1 over labels, as scikit-learn has it; dialogues are left out in turn."""
    labels = sorted({*gold, *predicted})
    wanted, given = (
        np.array([[float(label == value) for label in labels] for value in side])
        for side in (gold, predicted)
    )

    def statistic(weights: Indicators) -> Indicators:
        hits, sizes = weights @ (wanted * given), weights @ (wanted + given)
        there = sizes > 0
        shares = np.divide(2 * hits, sizes, out=np.zeros_like(hits), where=there)
        return (shares.sum(axis=1) / there.sum(axis=1))[:, None]

    return resampled_estimate(
        statistic,
        len(gold),
        "macro F1",
        Sampling("jackknife"),
        groups=group_codes(groups, len(groups)),
        bounded="share",
    )


def span_figures(
    examples: Sequence[TrainingExample], gold: Sequence[str], answers: Sequence[str]
) -> Iterator[Figure]:
    """Yield exact match and F1 of the released rule, which gives nothing to shared words alone."""
    groups = [example.group for example in examples]
    scores = [score_span(a, b) for a, b in zip(gold, answers, strict=True)]
    exact = [float(score.bucket == "EM") for score in scores]
    yield Figure("em", mean(exact, groups=groups, bounds=SHARE))
    yield Figure("f1", mean([score.f1 for score in scores], groups=groups, bounds=SHARE))
