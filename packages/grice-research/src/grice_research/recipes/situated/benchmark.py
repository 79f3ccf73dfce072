"""Write questions of CREAK, StrategyQA and ARC as one file, and build the benchmark from it.

    python -m grice_research.recipes.situated.benchmark --data ../shared/data --output DIR

The questions of all parts are taken; ``DIR`` gets ``questions.jsonl``, the three splits and
``DATASHEET.md``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from grice.cli import main as grice
from grice_research.recipes.situated.corpora import rows

SOURCES = (
    "CREAK, true claims (Onoe et al. 2021, MIT License)",
    "StrategyQA, questions with answers (Geva et al. 2021, MIT License)",
    "ARC, questions with the right choice (Clark et al. 2018, CC BY-SA 4.0)",
)


def questions(data: Path) -> Iterator[dict[str, object]]:
    for part in ("train", "dev"):
        for i, row in enumerate(rows(data / f"creak/{part}.jsonl.gz")):
            yield {"id": f"creak::{part}::{i}", "question": row["sentence"], "form": "claim",
                   "answer": row["label"] == "true"}  # fmt: skip
    for part in ("train", "train_filtered"):
        for i, row in enumerate(rows(data / f"strategyqa/{part}.jsonl.gz")):
            yield {"id": f"strategyqa::{part}::{i}", "question": row["question"],
                   "form": "yes_no", "answer": row["answer"]}  # fmt: skip
    for level in ("easy", "challenge"):
        for part in ("train", "test"):
            for i, row in enumerate(rows(data / f"arc/{level}_{part}.jsonl.gz")):
                yield {"id": f"arc::{level}::{part}::{i}", "question": row["stem"],
                       "form": "choice", "answer": row["choices"][row["answer"]]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--most", type=int, help="questions of each source, for a quick run")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "questions.jsonl"
    taken: dict[str, int] = {}
    with file.open("w", encoding="utf-8") as out:
        for row in questions(arguments.data):
            source = str(row["id"]).partition("::")[0]
            taken[source] = taken.get(source, 0) + 1
            if arguments.most is None or taken[source] <= arguments.most:
                out.write(json.dumps(row) + "\n")
    stated = [word for source in SOURCES for word in ("--source", source)]
    raise SystemExit(
        grice(["situated", "build", str(file), "-o", str(arguments.output),
               "--title", "Places and times of CREAK, StrategyQA and ARC", *stated])
    )  # fmt: skip


if __name__ == "__main__":
    main()
