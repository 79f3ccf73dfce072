"""Puts the research heads of each fold where ``grice bench cider`` looks for them.

PYTHONPATH=src:. python -m recipes.triplets.pack_research [--name NAME] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import shutil

from recipes.triplets.data import WORK


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for fold in range(1, 6):
        out = WORK / f"fold_{fold}"
        out.mkdir(exist_ok=True)
        links = WORK / f"links{options.name}_{fold}_{options.seed}"
        level = json.loads(links.with_suffix(".json").read_text())["level"]
        shutil.copy(links.with_suffix(".npz"), out / "links.npz")
        answers = WORK / f"answers_{fold}_{options.seed}.npz"
        if answers.exists():
            shutil.copy(answers, out / "answers.npz")
        (out / "settings.json").write_text(json.dumps({"level": level}))


if __name__ == "__main__":
    main()
