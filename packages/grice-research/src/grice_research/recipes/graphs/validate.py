"""Validates the judges on held-out topics, by three seeds, beside word counts.

python -m grice_research.recipes.graphs.validate [--data ../shared/data]
"""

from __future__ import annotations

import json

import numpy as np

from grice.stats import mean
from grice_research.recipes.graphs.data import instances
from grice_research.recipes.graphs.judges import (
    EA,
    SECA,
    STANCE,
    Example,
    held_out,
    meaning_examples,
    offset_by_fold,
    parity_agrees,
    rows_of,
    stance_examples,
    tfidf_held_out,
)
from grice_research.recipes.graphs.space import WORK, Kept, make_space, topic_folds
from grice_research.recipes.options import parser_of
from grice_tasks.explagraphs.features import Features

SEEDS = (0, 1, 2)
Figure = dict[str, object]


def figure(on: str, measure: str, values: np.ndarray, examples: list[Example]) -> Figure:
    beliefs = [example.reading.belief.lower() for example in examples]
    estimate = mean(values.astype(float).tolist(), groups=beliefs)
    print(f"{on}: {measure}: {estimate}", flush=True)
    return {"on": on, "measure": measure, "value": estimate.value, "low": estimate.low,
            "high": estimate.high, "n": estimate.n}  # fmt: skip


def _some(examples: list[Example], chosen: np.ndarray) -> list[Example]:
    return [example for example, pick in zip(examples, chosen, strict=True) if pick]


def recall_values(odds: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return values whose mean is the mean recall of the classes."""
    share = np.bincount(labels, minlength=3) / len(labels)
    return (odds.argmax(axis=1) == labels) / (3 * share[labels])


def meaning(examples: list[Example], features: Features) -> list[Figure]:
    rows = rows_of(examples, features)
    judged = rows.kinds == "judged"
    accepted = judged & (rows.labels != 2)
    on = "judged graph versions, held-out topics"
    some = _some(examples, judged)
    words = tfidf_held_out(some, 3).argmax(axis=1) == rows.labels[judged]
    figures = [figure(on, "3-way accuracy, floor: TF-IDF", words, some)]
    agrees = np.zeros(len(examples), bool)
    agrees[accepted] = parity_agrees(_some(examples, accepted))
    made = ~np.isin(rows.kinds, ("unverified", "denied"))
    every = _some(examples, made)
    floor = recall_values(tfidf_held_out(every, 3), rows.labels[made])
    both = "judged and made graphs, held-out topics"
    figures.append(figure(both, "mean recall of the classes, floor: TF-IDF", floor, every))
    for seed in SEEDS:
        odds = held_out(rows, SECA, 3, seed)
        odds[:, 2] += offset_by_fold(odds, rows)
        recall = recall_values(odds[made], rows.labels[made])
        figures.append(figure(both, f"mean recall of the classes, seed {seed}", recall, every))
        figures.append(
            figure(both, f"mean recall above TF-IDF, seed {seed}", recall - floor, every)
        )
        right = odds.argmax(axis=1) == rows.labels
        name = f"seed {seed}"
        figures.append(figure(on, f"3-way accuracy, {name}", right[judged], some))
        gain = right[judged].astype(float) - words
        figures.append(figure(on, f"3-way accuracy above TF-IDF, {name}", gain, some))
        stance = odds[:, :2].argmax(axis=1) == rows.labels
        for which, part in (("all", accepted), ("parity misleads", accepted & ~agrees),
                           ("parity says it", accepted & agrees)):  # fmt: skip
            figures.append(
                figure(f"accepted graphs ({which}), held-out topics", f"stance, {name}",
                       stance[part], _some(examples, part))
            )  # fmt: skip
        for kind in ("flipped", "perturbed"):
            part = rows.kinds == kind
            figures.append(
                figure(f"made graphs ({kind}), held-out topics", f"found incorrect, {name}",
                       right[part], _some(examples, part))
            )  # fmt: skip
    return figures


def stance(
    examples: list[Example], features: Features, settings: dict[str, float], on: str
) -> list[Figure]:
    rows = rows_of(examples, features)
    words = tfidf_held_out(examples, 2).argmax(axis=1) == rows.labels
    figures = [figure(on, "stance, floor: TF-IDF", words, examples)]
    for seed in SEEDS:
        right = held_out(rows, settings, 2, seed).argmax(axis=1) == rows.labels
        figures.append(figure(on, f"stance, seed {seed}", right, examples))
    if "graph" in on:
        agrees = parity_agrees(examples)
        figures.append(
            figure(
                f"{on}, parity misleads", "stance, seed 2", right[~agrees], _some(examples, ~agrees)
            )
        )
    return figures


def main() -> None:
    parser = parser_of(__doc__)
    data = parser.parse_args().data
    corpus, _ = instances(data)
    kept = Kept()
    fold = topic_folds(kept, corpus)
    features = Features(make_space(kept, corpus, data), kept)
    figures = stance(stance_examples(corpus, fold, graph=False), features, STANCE,
                     "belief and argument, held-out topics")  # fmt: skip
    figures += stance(stance_examples(corpus, fold, graph=True), features, EA,
                      "belief, argument and gold graph, held-out topics")  # fmt: skip
    figures += meaning(meaning_examples(corpus, fold), features)
    (WORK / "judges.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
