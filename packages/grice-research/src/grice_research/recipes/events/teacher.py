"""Mark the events of DECO's training part with the parser, for comparison only.

Writes ``work/teacher.json``, from text to spans; ``evaluate.py`` sets the teacher beside the tagger
if the file is there. Runs where ``label.py`` runs.

    python -m grice_research.recipes.events.teacher --data ../shared/data
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from grice_research.recipes.events.label import WORK, label, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    texts = []
    for row in records(arguments.data / "accent_deco/deco_train.jsonl"):
        texts += [row["response"], row["history"].split("</UTT>")[-2].strip()]
    marked = label(("deco", "", text) for text in texts)
    spans = {row["text"]: row["spans"] for row in marked}
    (WORK / "teacher.json").write_text(json.dumps(spans, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
