"""Draw the rated replies that ship for ``grice audit``: one reply of each of 100 conversations.

    python -m grice_research.recipes.audit_items --data $GRICE_DATA \
        --out packages/grice/src/grice/data/audit/items.jsonl

They are of ConTurE (Ghazarian et al. 2022, github.com/alexa/conture, CC BY 4.0), which no shipped
model was trained on or chosen by: a person's rating of the reply, 0 to 2, by the majority of three.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from random import Random

FILE = "rated/conture_turn.jsonl.gz"
ITEMS = 100
TURNS = 8
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    replies: dict[str, list[dict]] = {}
    with gzip.open(arguments.data / FILE, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["response"].strip() and row["context"]:
                replies.setdefault(row["dialogue_id"], []).append(row)
    draw = Random(SEED)
    dialogues = draw.sample(sorted(replies), ITEMS)
    with arguments.out.open("w", encoding="utf-8") as out:
        for dialogue in sorted(dialogues):
            row = draw.choice(replies[dialogue])
            turns = [*row["context"][-TURNS:], {"speaker": "system", "text": row["response"]}]
            item = {"id": row["id"], "turns": turns, "rating": row["ratings"]["overall"][0]}
            out.write(json.dumps(item, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
