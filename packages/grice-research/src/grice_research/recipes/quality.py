"""Write the figures of ``grice meta-eval`` into the card of a metric's model.

    python -m grice_research.recipes.quality relevance --data ../shared/data

Run once, when the model is final: nothing may be chosen by these figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grice_research.places import MODELS
from grice_research.recipes.common import parser_of, update_card

SETS = {
    "relevance": (
        "replies_600:overall", "replies_generated:overall", "replies_human:overall",
        "dailydialog_zhao:relevance", "fed_turn:relevant", "grade_dailydialog:coherence",
        "grade_empatheticdialogues:coherence", "usr_topicalchat:maintains_context",
    ),
    "engagement": (
        "replies_human:overall", "replies_generated:overall", "replies_600:overall",
        "fed_turn:engaging", "fed_turn:interesting", "usr_topicalchat:engaging",
    ),
}  # fmt: skip
"""Rated sets and aspects of each metric, none of which chose anything."""
COMMAND = "grice meta-eval"


def measured(metric: str, data: Path) -> Iterator[dict[str, Any]]:
    """Yield the quality rows of a metric, each with its command and trivial baselines."""
    for rated in SETS[metric]:
        arguments = f"{metric} --mode exact --on {rated} --json"
        ran = subprocess.run(
            [sys.executable, "-m", *COMMAND.split(), *arguments.split(), "--data", str(data)],
            check=True,
            capture_output=True,
            text=True,
        )
        for table in json.loads(ran.stdout):
            yield from _rows(table, metric, f"{COMMAND} {arguments}")


def _rows(table: dict[str, Any], metric: str, command: str) -> Iterator[dict[str, Any]]:
    results = {result["metric"]: result for result in table["rows"]}
    given = {each["given"]: each["partial"] for each in results[metric].get("confounds", ())}
    figures = {
        "Spearman": results[metric]["spearman"],
        "Pearson": results[metric]["pearson"],
        "Spearman given length": given.get("length"),
    }
    for measure, figure in figures.items():
        if figure is not None:
            kind = measure.lower().split()[0]
            beside = [
                f"{name} {result[kind]['value']:.3f}"
                for name, result in results.items()
                if result["trivial"] and result.get(kind)
            ]
            yield {
                "on": f"{table['data']} {table['aspect']}",
                "measure": measure,
                **{bound: round(figure[bound], 4) for bound in ("value", "low", "high")},
                "n": figure["n"],
                "command": command,
                "note": f"{kind.capitalize()} of trivial baselines: " + ", ".join(beside),
            }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("metric", choices=SETS)
    options = parser.parse_args()
    folder = MODELS / options.metric
    card = tomllib.loads((folder / "card.toml").read_text("utf-8"))
    kept = [row for row in card.get("quality", ()) if not row["command"].startswith(COMMAND)]
    quality = [*kept, *measured(options.metric, options.data)]
    update_card(folder, files=card["files"], quality=quality)


if __name__ == "__main__":
    main()
