"""How often hard decisions are right, both classes weighed alike."""

from __future__ import annotations

import numpy as np

from grice.errors import InputError
from grice.stats.correlations import complete
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats, Groups, Values
from grice.stats.resample import ResamplingKind, Sampling, resampled_estimate


def balanced_accuracy(
    values: Values,
    labels: Values,
    *,
    threshold: float = 0.5,
    groups: Groups | None = None,
    interval: ResamplingKind = "jackknife",
    seed: int = 0,
) -> Estimate:
    """Return the mean of the shares of both classes that are told right, 0 to 1.

    It is the area under the curve of the hard decisions, as which some papers print it; 0.5 is
    what always saying the same gives.
    """
    (predicted, truth), codes = complete({"values": values, "labels": labels}, groups, least=4)
    if not np.isin(truth, (0, 1)).all():
        raise InputError("labels: 1 or 0 is needed for a share of right decisions")
    positive = truth == 1
    if positive.all() or not positive.any():
        raise InputError("labels: all are the same, so that there is nothing to tell apart")
    right = (predicted >= threshold) == positive
    indicators = np.stack([right & positive, positive, right & ~positive, ~positive], axis=1)

    def statistic(weights: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            hit, all_, rejected, rest = (weights @ indicators.astype(np.float64)).T
            return np.asarray((hit / all_ + rejected / rest) / 2)[:, None]

    return resampled_estimate(
        statistic,
        len(truth),
        "balanced accuracy",
        Sampling(interval, seed=seed),
        groups=codes,
        bounded="share",
    )
