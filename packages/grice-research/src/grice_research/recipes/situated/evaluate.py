"""Take the figures of the cards from the bench: ``pack.py`` writes them into the cards.

grice bench situatedgen --json > weights/situated/bench.jsonl
python -m grice_research.recipes.situated.sources --data ../shared/data
python -m grice_research.recipes.situated.folds --data ../shared/data
python -m grice_research.recipes.situated.folds --data ../shared/data --held 2
python -m grice_research.recipes.situated.evaluate
python -m grice_research.recipes.situated.evaluate --steps     # agreement of each step as a table
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grice_research.places import work_folder

if TYPE_CHECKING:
    from grice.stats.estimate import Estimate

WORK = work_folder("situated")
MEASURES = {
    "statements_equal": "context", "context_f1": "context", "context_f1_labels": "context",
    "swap_detection": "situated", "plausibility": "situated", "match_exclusive": "situated",
}  # fmt: skip
BESIDE = (("context", "sources"), ("situated", "folds_1"), ("situated", "folds_2"))
"""What other recipes measured for which card."""
STEPS = {
    "statements_equal": "statements, equal", "statements_rouge_l": "statements, ROUGE-L",
    "context_f1": "contexts, F1 without articles", "context_f1_labels": "contexts, F1 as spelt",
    "keywords_f1": "keywords, F1", "pairs_recall": "released pairs that are mined",
    "pairs_in_one_split": "released pairs that no split cuts",
    "contrast_kept": "released pairs that depend on context",
}  # fmt: skip


def figures() -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield measure, data and row of every measured figure."""
    for line in (WORK / "bench.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        measure, _, on = row["measure"].partition(" on ")
        if row["value"] is not None and not row["row"].startswith("table"):
            yield measure, on, row


def as_quality(on: str, measure: str, estimate: Estimate, command: str) -> dict[str, object]:
    """Return a figure as the cards have it."""
    value, low, high = (
        round(figure, 4) for figure in (estimate.value, estimate.low, estimate.high)
    )
    return {"on": on, "measure": measure, "value": value, "low": low, "high": high,
            "n": estimate.n, "command": command}  # fmt: skip


def print_steps() -> None:
    print("| step | on | agreement | 95 % | n |\n|---|---|---|---|---|")
    for measure, on, row in sorted(figures(), key=lambda figure: list(STEPS).index(figure[0])
                                   if figure[0] in STEPS else 0):  # fmt: skip
        if row["row"] == "pipeline":
            print(f"| {STEPS[measure]} | {on or 'all'} | {row['value']:.3f} | "
                  f"{row['low']:.3f} to {row['high']:.3f} | {row['n']:,} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", action="store_true", help="print the table and nothing else")
    if parser.parse_args().steps:
        print_steps()
        return
    quality: dict[str, list[dict[str, object]]] = {"context": [], "situated": []}
    for measure, on, row in figures():
        if measure in MEASURES:
            quality[MEASURES[measure]].append({
                "on": f"{row['row']}, {on or 'SituatedGen test'}", "measure": measure,
                **{key: round(row[key], 4) for key in ("value", "low", "high")}, "n": row["n"],
                "command": "grice bench situatedgen",
            })  # fmt: skip
    for bundle, name in BESIDE:
        quality[bundle] += json.loads((WORK / f"quality_{name}.json").read_text())
    (WORK / "quality.json").write_text(json.dumps(quality, indent=1))
    print({name: len(rows) for name, rows in quality.items()})


if __name__ == "__main__":
    main()
