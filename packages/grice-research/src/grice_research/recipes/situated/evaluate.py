"""Take the figures of the cards from the bench: ``pack.py`` writes them into the cards.

grice bench situatedgen --json > weights/situated/bench.jsonl
python -m grice_research.recipes.situated.evaluate
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from grice_research.places import work_folder

WORK = work_folder("situated")
MEASURES = {
    "statements_equal": "context", "context_f1": "context", "context_f1_labels": "context",
    "swap_detection": "situated", "plausibility": "situated", "match_exclusive": "situated",
}  # fmt: skip


def figures() -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield measure, data and row of every measured figure."""
    for line in (WORK / "bench.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        measure, _, on = row["measure"].partition(" on ")
        if row["value"] is not None and not row["row"].startswith("table"):
            yield measure, on, row


def main() -> None:
    quality: dict[str, list[dict[str, object]]] = {"context": [], "situated": []}
    for measure, on, row in figures():
        if measure in MEASURES:
            quality[MEASURES[measure]].append({
                "on": f"{row['row']}, {on or 'SituatedGen test'}", "measure": measure,
                **{key: round(row[key], 4) for key in ("value", "low", "high")}, "n": row["n"],
                "command": "grice bench situatedgen",
            })  # fmt: skip
    (WORK / "quality.json").write_text(json.dumps(quality, indent=1))
    print({name: len(rows) for name, rows in quality.items()})


if __name__ == "__main__":
    main()
