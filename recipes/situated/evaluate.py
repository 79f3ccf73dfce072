"""Take the figures of the cards from the bench: ``pack.py`` writes them into the cards.

grice bench situatedgen --json > recipes/situated/work/bench.jsonl
python recipes/situated/evaluate.py
"""

from __future__ import annotations

import json
from pathlib import Path

WORK = Path(__file__).parent / "work"
MEASURES = {
    "statements_equal": "context", "context_f1": "context", "context_f1_labels": "context",
    "swap_detection": "situated", "plausibility": "situated", "match_exclusive": "situated",
}  # fmt: skip


def main() -> None:
    quality: dict[str, list[dict[str, object]]] = {"context": [], "situated": []}
    for line in (WORK / "bench.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        measure, _, on = row["measure"].partition(" on ")
        if measure not in MEASURES or row["value"] is None or row["row"].startswith("table"):
            continue
        quality[MEASURES[measure]].append({
            "on": f"{row['row']}, {on or 'SituatedGen test'}", "measure": measure,
            **{key: round(row[key], 4) for key in ("value", "low", "high")}, "n": row["n"],
            "command": "grice bench situatedgen",
        })  # fmt: skip
    (WORK / "quality.json").write_text(json.dumps(quality, indent=1))
    print({name: len(rows) for name, rows in quality.items()})


if __name__ == "__main__":
    main()
