"""Packs the default heads into the model ``triplets``.

python -m grice_research.recipes.triplets.pack [--seed 0]

Figures of the card come from ``work/bench.jsonl`` (``grice bench cider --json``) and
``judged.tsv``: the links of ten conversations of topical_chat test_freq, each read by one person.
"""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from grice.stats import mean
from grice_research.places import TASK_MODELS, work_folder
from grice_research.recipes.common import figure_of, parser_of, rows_of, table_of, update_card
from grice_research.recipes.triplets.weak import nouns_of
from grice_research.training_texts import record_texts
from grice_tasks.cider.find import fitting, near_pairs
from grice_tasks.cider.models import LinkHead, Sides
from grice_tasks.cider.reading import layout_of
from grice_tasks.cider.span_candidates import RELATIONS, informative

WORK = work_folder("triplets")
COMMAND = "python -m grice_research.recipes.triplets.pack"
SHARE = 0.001  # of the pairs that a relation can hold between, those that are above its level
CONVERSATIONS = 40  # conversations of each part of the clean talk that levels are taken from
SHOWN = RELATIONS | {"Implies"}
"""Reported relations: those of connectives, and those of persons in ATOMIC."""
NEVER = 50.0


def relation_levels(path: Path) -> list[float]:
    """Return for each relation the log odds that only few pairs of clean talk are above."""
    links = LinkHead(path)
    odds = []
    for part in sorted(WORK.glob("weak_[0-9].pkl")):
        for _, joined, spotted, vectors in pickle.loads(part.read_bytes())[:CONVERSATIONS]:
            kept = [i for i, span in enumerate(spotted) if informative(joined.text, span)]
            places = [spotted[i].place for i in kept]
            pairs = near_pairs(joined, places)
            spans = [joined.text[a:b] for a, b in places]
            rows = vectors.astype(np.float32)[kept]
            numbers = links(Sides(layout_of(joined.text), spans, places, rows), pairs)[:, 0]
            fits = fitting(pairs, [spotted[i].event for i in kept], links.relations)
            odds.append(np.where(fits, numbers, -NEVER))
    levels = np.quantile(np.concatenate(odds), 1 - SHARE, axis=0)
    return [
        round(float(level), 3) if name in SHOWN else NEVER
        for name, level in zip(links.relations, levels, strict=True)
    ]


QUALITY = {
    ("nli", "macro_f1"), ("nli", "average_precision"), ("choice", "accuracy"),
    ("choice balanced", "accuracy"), ("relation", "accuracy"),
}  # fmt: skip


def quality() -> list[dict[str, Any]]:
    figures = []
    bench = WORK / "bench.jsonl"
    for row in rows_of(bench) if bench.exists() else ():
        if (row["row"], row["measure"]) in QUALITY:
            bounds = {name: round(row[name], 4) for name in ("value", "low", "high")}
            on = f"cider, transfer: {row['row']}, mean of the released folds"
            given = {"n": row["n"], "command": "grice bench cider"}
            figures.append({"on": on, "measure": row["measure"], **bounds, **given})
    rows = list(table_of(Path(__file__).parent / "judged.tsv"))
    talks = [row["conversation"] for row in rows]
    on = "links of ten conversations of topical_chat test_freq, read by one person (judged.tsv)"
    for measure, right in (("right or trivial", {"right", "trivial"}), ("right", {"right"})):
        share = mean([float(row["verdict"] in right) for row in rows], groups=talks)
        figures.append(figure_of(on, f"share {measure}", share, COMMAND, len(rows)))
    return figures


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    out = TASK_MODELS / "triplets"
    out.mkdir(parents=True, exist_ok=True)
    trained = WORK / f"links_weak_0_{options.seed}"
    shutil.copy(trained.with_suffix(".npz"), out / "links.npz")
    level = json.loads(trained.with_suffix(".json").read_text())["level"]
    dropped = json.loads((WORK / "weak.json").read_text())["dropped"]
    lines = [" ".join(sorted(words)) for words in nouns_of(options.data)]
    (out / "nouns.txt").write_text("\n".join(lines) + "\n", "utf-8")
    update_card(
        out,
        files=("links.npz", "nouns.txt"),
        settings={"level": round(level, 4), "levels": relation_levels(out / "links.npz")},
        quality=quality(),
        excluded="conversations with a turn of over 20 letters that stands in CIDER: "
        f"{dropped}; no text and no label of CIDER was looked at to fit or choose",
        command=f"python -m grice_research.recipes.triplets.links --seed {options.seed}",
        seeds=[options.seed],
    )
    record_texts(out, json.loads((WORK / "weak_texts.json").read_text()))


if __name__ == "__main__":
    main()
