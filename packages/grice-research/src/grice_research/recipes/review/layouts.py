"""Ask a language model in several layouts which of two replies fits, on items that were written.

    grice models get medium
    python -m grice_research.recipes.review.layouts [--model model:medium] [--items 300]

Prints, for each layout and each figure of the reply, how often the better of two replies to one
history has more of it. The items are those of the recipe ``sense`` that are not kept back.
"""

from __future__ import annotations

import json
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from grice.models.models import Models
from grice.models.protocols import CausalLM, Segment
from grice.stats import mean
from grice_research.recipes.options import parser_of
from grice_research.recipes.sense.pairs import written_items

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grice.models.protocols import Passage
    from grice_research.recipes.sense.pairs import Item, Reading

LAYOUTS = {"lines alone": "", "titled": "A conversation between two friends:\n"}
"""What stands above the lines of speakers A and B."""
FIGURES = {
    "after": {"after": 1.0},
    "gain over own turns": {"after": 1.0, "own": -1.0},
    "gain over the reply alone": {"after": 1.0, "alone": -1.0},
    "after and gain over own turns": {"after": 2.0, "own": -1.0},
    "after and gain over the reply alone": {"after": 2.0, "alone": -1.0},
}
"""Sums of mean log likelihoods: after the history, after own turns, and after nothing."""


def passages(reading: Reading, title: str) -> Iterator[Passage]:
    """Yield a reply after its history, after what its speaker said of it, and after nothing."""
    count = len(reading.history)
    said = [("BA"[(count - i) % 2], text) for i, text in enumerate(reading.history)]
    reply = [Segment("B:"), Segment(f" {reading.reply.strip()}", scored=True)]
    for lines in (said, [line for line in said if line[0] == "B"], []):
        above = [Segment(title)] if title else []
        yield [*above, *(Segment(f"{name}: {text}\n") for name, text in lines), *reply]


def compared(item: Item) -> tuple[Reading, Reading]:
    """Return the better and the worse reply to the first history of an item."""
    return item.readings[0], item.readings[item.comparisons[0][1]]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", default="model:medium")
    parser.add_argument("--items", type=int, default=300)
    given = parser.parse_args()
    items = [item for item in written_items() if not item.validation]
    drawn = Random(5).sample(items, given.items)
    models = Models(mode="fast", workers=1, cache=None)
    model = models.open(given.model, CausalLM)
    for layout, title in LAYOUTS.items():
        read = [p for item in drawn for reading in compared(item) for p in passages(reading, title)]
        means = [fmean(t.log_probability for t in tokens) for (tokens,) in model.token_scores(read)]
        replies = [
            dict(zip(("after", "own", "alone"), means[i : i + 3], strict=True))
            for i in range(0, len(means), 3)
        ]
        for name, weights in FIGURES.items():
            sums = [_sum(reply, weights) for reply in replies]
            right = [_right(*sums[i : i + 2]) for i in range(0, len(sums), 2)]
            share = mean(right)
            print(json.dumps({
                "layout": layout, "figure": name, "right": round(share.value, 3),
                "low": round(share.low, 3), "high": round(share.high, 3), "n": len(right),
            }), flush=True)  # fmt: skip
    models.close()


def _sum(reply: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(weight * reply[name] for name, weight in weights.items())


def _right(better: float, worse: float) -> float:
    return float(better > worse) + 0.5 * float(better == worse)


if __name__ == "__main__":
    main()
