"""What every step of this recipe reads: CIDER with its states, and rows of the four tasks."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grice_research.places import work_folder
from grice_research.triplets.task_files import Item, read_folds, read_items
from grice_tasks.cider.reading import TextReading
from grice_tasks.cider.structure import Layout, layout_of

WORK = work_folder("triplets")


class Cider(NamedTuple):
    items: list[Item]
    folds: dict[str, int]
    readings: dict[str, TextReading]
    layouts: dict[str, Layout]
    alone: dict[str, np.ndarray]


def load(data: Path) -> Cider:
    folder = data / "cider"
    items = read_items(folder / "experiment.jsonl.gz")
    readings = pickle.loads((WORK / "states.pkl").read_bytes())
    names, vectors = pickle.loads((WORK / "spans.pkl").read_bytes())
    return Cider(
        items,
        read_folds(folder / "folds.tsv"),
        readings,
        {name: layout_of(reading.text) for name, reading in readings.items()},
        dict(zip(names, vectors.astype(np.float32), strict=True)),
    )
