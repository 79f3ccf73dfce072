"""How many labels ``grice annotate --order uncertain`` saves a calibration, on rated sets::

    GRICE_DATA=../shared/data python bench/active_selection.py --write docs/annotate.md

The map of all ratings is the truth. Labels are drawn at random, or bin by bin as the studio gives
them, again and again; the error is that of the map which they give, over all items. The last
column is how many labels at random reach the error of a hundred chosen ones.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from serving import written_between

from grice.evaluation.datasets import data_folder, load_rated, wanted_sets
from grice.scoring import load
from grice.stats.conformal import fit_human_scale
from grice_annotate.order import bins, gains

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SETS = "predictive_engagement_dd,dailydialog_zhao,conture_turn,fed_turn,usr_topicalchat"
METRIC = "relevance"
SIZES = (25, 50, 75, 100, 125, 150, 200, 300)
CHOSEN = 100
MARKS = ("<!-- selection -->", "<!-- end of selection -->")


def chosen(number: Sequence[int], ratings: np.ndarray, draw: random.Random) -> list[int]:
    """Return items in the order of the studio: the bin of most gain, any item of it."""
    waiting: dict[int, list[int]] = {}
    for item, place in enumerate(number):
        waiting.setdefault(place, []).append(item)
    for items in waiting.values():
        draw.shuffle(items)
    labels: list[list[float]] = [[] for _ in waiting]
    order = []
    while len(order) < min(CHOSEN, len(number)):
        gain = gains(labels)
        place = max((place for place in waiting if waiting[place]), key=lambda p: gain[p])
        item = waiting[place].pop()
        labels[place].append(float(ratings[item]))
        order.append(item)
    return order


def error(
    values: np.ndarray, ratings: np.ndarray, items: Sequence[int], truth: np.ndarray
) -> float:
    """Return the root of the mean squared error of the map of some labels."""
    places = np.array(items)
    scale = (float(ratings.min()), float(ratings.max()))
    fitted = fit_human_scale(values[places], ratings[places], scale=scale)
    return float(np.sqrt(np.mean((np.interp(values, fitted.knots, fitted.ratings) - truth) ** 2)))


def row(name: str, values: np.ndarray, ratings: np.ndarray, draws: int) -> str:
    """Return the line of a set."""
    scale = (float(ratings.min()), float(ratings.max()))
    whole = fit_human_scale(values, ratings, scale=scale)
    truth = np.interp(values, whole.knots, whole.ratings)
    number = bins([float(value) for value in values])
    sizes = [size for size in SIZES if size < len(values)]
    at_random = {size: [] for size in sizes}
    by_gain = []
    for seed in range(draws):
        draw = random.Random(seed)
        by_gain.append(error(values, ratings, chosen(number, ratings, draw), truth))
        order = draw.sample(range(len(values)), len(values))
        for size in sizes:
            at_random[size].append(error(values, ratings, order[:size], truth))
    needed = interval(lambda part: worth(at_random, by_gain, part), draws)
    means = {size: float(np.mean(errors)) for size, errors in at_random.items()}
    low, value, high = needed
    return (
        f"| {name} | {len(values)} | {np.mean(by_gain):.3f} | {means[CHOSEN]:.3f} | "
        f"{value:.0f} [{low:.0f}, {high:.0f}] |"
    )


def worth(at_random: dict[int, list[float]], by_gain: list[float], part: np.ndarray) -> float:
    """Return how many labels at random have the mean error of the chosen ones, over some draws."""
    sizes = list(at_random)
    errors = [float(np.mean(np.array(at_random[size])[part])) for size in sizes]
    target = float(np.mean(np.array(by_gain)[part]))
    # The error falls with the number of labels; its noise must not make it rise.
    falling = np.minimum.accumulate(errors)
    return float(np.interp(-target, -falling, sizes))


def interval(statistic: Callable[[np.ndarray], float], draws: int) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    drawn = [statistic(rng.integers(draws, size=draws)) for _ in range(1000)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), statistic(np.arange(draws)), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default=SETS)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows = [
        f"| set | items | error of {CHOSEN} chosen | of {CHOSEN} at random | labels at random that "
        f"{CHOSEN} chosen ones are worth |",
        "|---|---|---|---|---|",
    ]
    with load(METRIC) as grader:
        for wanted in wanted_sets(arguments.on.split(",")):
            rated = load_rated(wanted.set, data_folder())
            human = rated.human(wanted.aspects[0])
            scores = {
                score.conversation: score.value
                for score in grader.score([item.conversation for item in rated.items])
            }
            pairs = [
                (scores[item.conversation.id], rating)
                for item, rating in zip(rated.items, human, strict=True)
                if rating is not None and scores.get(item.conversation.id) is not None
            ]
            values, ratings = np.array(pairs, np.float64).T
            rows.append(row(rated.set.name, values, ratings, arguments.draws))
            print(rows[-1], flush=True)
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        section = "\n".join(rows) + "\n"
        arguments.write.write_text(written_between(page, MARKS, section), "utf-8")


if __name__ == "__main__":
    main()
