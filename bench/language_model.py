"""How many replies a second a language model judges, beside the shipped networks, in one run.

    PYTHONPATH=src python bench/language_model.py FOLDER

Processor time of one thread, the turns of ``examples`` with up to four turns before each.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import grice
from grice.runtime.models import Models
from grice.runtime.protocols import Pair

if TYPE_CHECKING:
    from grice.runtime.protocols import PairClassifier

EXAMPLES = Path(__file__).parents[1] / "examples"
REPLIES = 80


def rate(model: PairClassifier, pairs: list[Pair]) -> float:
    """Return replies a second of processor time."""
    model.classify(pairs[:2])
    began = time.process_time()
    model.classify(pairs)
    return len(pairs) / (time.process_time() - began)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    models = Models(mode="exact", workers=1, cache=None)
    talks = [[turn.text for turn in talk.turns] for talk in grice.read(EXAMPLES / "chatbots.jsonl")]
    pairs = [Pair(tuple(talk[max(0, i - 4) : i]), talk[i])
             for talk in talks for i in range(1, len(talk))][:REPLIES]  # fmt: skip
    shipped = rate(models.open("bundle:context-relevance"), pairs)  # type: ignore[arg-type]
    own = rate(models.open(f"file:{sys.argv[1]}"), pairs)  # type: ignore[arg-type]
    print(f"{len(pairs)} replies: language model {own:.1f} a second, shipped {shipped:.0f}; "
          f"ratio {shipped / own:.0f}")  # fmt: skip
    models.close()


if __name__ == "__main__":
    main()
