"""Fits the judges, joins all that the bundle ``graphs`` holds, and writes its card.

python -m grice_research.recipes.graphs.encode --data ../shared/data      (once)
python -m grice_research.recipes.graphs.substance --data ../shared/data
python -m grice_research.recipes.graphs.train --data ../shared/data
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch

from grice_research.places import TASK_MODELS
from grice_research.recipes.graphs.card import write_card
from grice_research.recipes.graphs.data import instances
from grice_research.recipes.graphs.encode import lexical
from grice_research.recipes.graphs.judges import (
    EA,
    SECA,
    STANCE,
    best_offset,
    fit_rows,
    held_out,
    meaning_examples,
    rows_of,
    stance_examples,
)
from grice_research.recipes.graphs.space import WORK, Kept, make_space, topic_folds
from grice_research.recipes.options import parser_of
from grice_tasks.explagraphs.features import Features

OUT = TASK_MODELS / "graphs"
FITTED = ("cases.json", "cases.npz", "concepts.txt", "facts.npz", "links.npz")
"""What ``substance.py`` left in the work folder as it ships."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus, dropped = instances(arguments.data)
    kept = Kept()
    fold = topic_folds(kept, corpus)
    space = make_space(kept, corpus, arguments.data)
    features = Features(space, kept)
    arrays: dict[str, np.ndarray] = {"mean": space.mean, "axes": space.axes.astype(np.float16),
                                     "good": space.good}  # fmt: skip
    for name, examples, settings, classes in (
        ("stance", stance_examples(corpus, fold, graph=False), STANCE, 2),
        ("edges", stance_examples(corpus, fold, graph=True), EA, 2),
        ("meaning", meaning_examples(corpus, fold), SECA, 3),
    ):
        rows = rows_of(examples, features)
        head = fit_rows(rows, settings, classes, seed=0)
        arrays |= head.arrays(name)
        if name == "meaning":
            judged = rows.kinds == "judged"
            offset = best_offset(held_out(rows, settings, classes, 0)[judged], rows.labels[judged])
            arrays["meaning_bias"] = arrays["meaning_bias"] + np.array([0, 0, offset], np.float32)
        print(f"{name}: {len(rows.labels)} rows", flush=True)
    with np.load(WORK / "substance.npz", allow_pickle=False) as fitted:
        arrays |= dict(fitted)
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(arguments.out / "judges.npz", allow_pickle=False, **arrays)
    for name in FITTED:
        shutil.copyfile(WORK / name, arguments.out / name)
    write_card(arguments.out, corpus, lexical(arguments.data), dropped)


if __name__ == "__main__":
    main()
