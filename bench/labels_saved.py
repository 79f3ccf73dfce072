"""How many labels a metric saves on rated sets, and whether the intervals hold.

    GRICE_DATA=../shared/data python bench/labels_saved.py

Each set is scored once. Then 50 of its items are drawn at random again and again as if only they
were rated: the interval of the mean rating with the metric, clustered by context, is held against
the one of the labels alone, and against the mean of all ratings. Prints one JSON object per row.
"""

from __future__ import annotations

import argparse
import json
import sys
from statistics import fmean, quantiles

import numpy as np

from grice.evaluation.datasets import data_folder, load_rated, wanted_sets
from grice.scoring import load
from grice.stats import correlation, mean, prediction_powered_mean

SETS = "predictive_engagement_dd,dailydialog_zhao,conture_turn"
METRICS = "relevance,cosine_last_turn,log_length"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default=SETS)
    parser.add_argument("--metrics", default=METRICS)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    names = chosen.metrics.split(",")
    with load(*names, workers=1) as grader:
        for wanted in wanted_sets(chosen.on.split(",")):
            rated = load_rated(wanted.set, data_folder())
            human = rated.human(wanted.aspects[0])
            kept = [
                item for item, rating in zip(rated.items, human, strict=True) if rating is not None
            ]
            ratings = np.array([rating for rating in human if rating is not None])
            scores = {
                (score.metric, score.conversation): score.value
                for score in grader.score([item.conversation for item in kept])
            }
            groups = np.unique([item.group for item in kept], return_inverse=True)[1]
            for name in names:
                values = np.array(
                    [scores.get((name, item.conversation.id)) for item in kept], float
                )
                values = np.where(np.isnan(values), np.nanmean(values), values)
                row = trial(values, ratings, groups, chosen.labels, chosen.draws, chosen.seed)
                shown = {"set": rated.set.name, "aspect": wanted.aspects[0], "metric": name, **row}
                sys.stdout.write(json.dumps(shown) + "\n")


def trial(
    values: np.ndarray, ratings: np.ndarray, groups: np.ndarray, labels: int, draws: int, seed: int
) -> dict[str, object]:
    """Draw labelled items and return labels saved, widths and coverage."""
    rng = np.random.default_rng(seed)
    saved, shorter, powered, alone = [], [], [], []
    truth = float(ratings.mean())
    for _ in range(draws):
        rated = np.isin(np.arange(len(ratings)), rng.permutation(len(ratings))[:labels])
        estimate = prediction_powered_mean(
            ratings[rated],
            values[rated],
            values[~rated],
            groups=[*map(int, groups[rated])],
            unlabelled_groups=[*map(int, groups[~rated])],
        )
        saved.append(estimate.worth - labels)
        wide = estimate.labels_only.high - estimate.labels_only.low
        shorter.append(1 - (estimate.mean.high - estimate.mean.low) / wide)
        powered.append(estimate.mean.low <= truth <= estimate.mean.high)
        alone.append(estimate.labels_only.low <= truth <= estimate.labels_only.high)
    pearson = correlation(values, ratings, kind="pearson", groups=[*map(int, groups)])
    average = mean(saved)
    tenths = quantiles(saved, n=10)
    return {
        "n": len(ratings),
        "contexts": int(groups.max()) + 1,
        "labels": labels,
        "pearson": [round(bound, 3) for bound in (pearson.value, pearson.low, pearson.high)],
        "labels_saved": round(average.value, 1),
        "middle_80_percent_of_draws": [round(tenths[0], 1), round(tenths[-1], 1)],
        "interval_shorter_by": round(fmean(shorter), 3),
        "coverage": round(fmean(powered), 3),
        "coverage_labels_alone": round(fmean(alone), 3),
        "draws": draws,
    }


if __name__ == "__main__":
    main()
