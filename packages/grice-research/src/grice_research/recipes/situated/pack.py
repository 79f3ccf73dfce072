"""Pack what was trained into the models ``context`` and ``situated``.

Figures of the cards come from the bench, if it has run:
``grice bench situatedgen --json > weights/situated/bench.jsonl``.
"""

from __future__ import annotations

import shutil
from argparse import Namespace
from typing import Any

from grice_research.places import TASK_MODELS, work_folder
from grice_research.recipes.common import rows_of, update_card
from grice_research.training_texts import record_texts

WORK = work_folder("situated")
FILES = {
    "context": ("tagger.npz", "clauses.npz", "names.txt.gz", "cities.txt.gz"),
    "situated": (
        "contrast.npz", "fluency.npz", "together.npz", "templates.jsonl.gz", "classes.txt.gz",
    ),
}  # fmt: skip
MEASURES = {
    "statements_equal": "context", "context_f1": "context", "context_f1_labels": "context",
    "swap_detection": "situated", "plausibility": "situated", "match_exclusive": "situated",
}  # fmt: skip
"""Measures of the bench and the model whose card states them."""


def figures() -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each card; none before the bench has run."""
    quality: dict[str, list[dict[str, Any]]] = {name: [] for name in FILES}
    measured = WORK / "bench.jsonl"
    for row in rows_of(measured) if measured.is_file() else ():
        measure, _, on = row["measure"].partition(" on ")
        if row["value"] is None or row["row"].startswith("table") or measure not in MEASURES:
            continue
        quality[MEASURES[measure]].append({
            "on": f"{row['row']}, {on or 'SituatedGen test'}", "measure": measure,
            **{key: round(row[key], 4) for key in ("value", "low", "high")}, "n": row["n"],
            "command": "grice bench situatedgen",
        })  # fmt: skip
    return quality


def pack(_: Namespace) -> None:
    labelled = (row for file in ("labels", "questions") for row in rows_of(WORK / f"{file}.jsonl"))
    texts = {
        "context": [row["text"] for row in labelled],
        "situated": [row[4] for row in rows_of(WORK / "facts.jsonl")],
    }
    quality = figures()
    for name, files in FILES.items():
        folder = TASK_MODELS / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(WORK / file, folder / file)
        update_card(folder, files=files, quality=quality[name])
        record_texts(folder, texts[name])
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{name}: {size:,} bytes")
