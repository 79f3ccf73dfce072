"""Compare the engagement bundle with people's ratings; nothing may be chosen by these figures.

    python -m grice_research.recipes.engagement.evaluate --data ../shared/data [BUNDLE_FOLDER]

Writes ``work/figures.jsonl``, which the next ``train.py bundle`` states in the card.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

from grice.evaluation.datasets import Rated, known_sets, load_rated
from grice.models.bundle import shipped_bundles
from grice.models.models import Models
from grice.models.protocols import Pair
from grice.stats import correlation, partial_correlation
from grice_research.places import work_folder
from grice_research.recipes.options import parser_of

WORK = work_folder("engagement")
SETS = (
    ("replies_human", "overall"),
    ("replies_generated", "overall"),
    ("replies_600", "overall"),
    ("fed_turn", "engaging"),
    ("fed_turn", "interesting"),
    ("usr_topicalchat", "engaging"),
)
COMMAND = "python -m grice_research.recipes.engagement.evaluate --data ../shared/data"


def figures(rated: Rated, aspect: str, values: list[float]) -> Iterator[dict[str, object]]:
    """Yield Spearman with length held constant, then Spearman and Pearson."""
    human = rated.human(aspect)
    groups = [item.group for item in rated.items] if rated.grouped else None
    texts = [item.conversation.turns[-1].text for item in rated.items]
    length = [math.log1p(len(text)) for text in texts]
    floor = correlation(length, human, kind="spearman", groups=groups).value
    correlations = {
        "Spearman given length": partial_correlation(values, human, [length], groups=groups),
        "Spearman": correlation(values, human, kind="spearman", groups=groups),
        "Pearson": correlation(values, human, kind="pearson", groups=groups),
    }
    for measure, estimate in correlations.items():
        low, high = estimate.interval or (estimate.value, estimate.value)
        yield {
            "on": f"{rated.set.name} {aspect}",
            "measure": measure,
            "value": round(estimate.value, 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "n": estimate.n,
            "command": COMMAND,
            "note": f"log characters, Spearman {floor:.3f}",
        }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "bundle", nargs="?", type=Path, default=shipped_bundles().get("engagement"), help="folder"
    )
    options = parser.parse_args()
    models = Models(mode="exact", workers=1, cache=None)
    head = models.open(f"file:{options.bundle}")
    lines = []
    for name, aspect in SETS:
        rated = load_rated(known_sets()[name], options.data)
        pairs = [
            Pair(tuple(turn.text for turn in item.conversation.turns[:-1]),
                 item.conversation.turns[-1].text)
            for item in rated.items
        ]  # fmt: skip
        for row in figures(rated, aspect, head.classify(pairs)):
            lines.append(json.dumps(row))
            print(lines[-1], flush=True)
    WORK.mkdir(exist_ok=True)
    (WORK / "figures.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
