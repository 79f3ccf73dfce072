r"""Score drawn replies by metrics and keep the values beside them.

    python -m grice_research.recipes.guide.values DRAWN.jsonl relevance,engagement,repetition

The values of METRIC stand in DRAWN.METRIC.json, a row of a context; neutral ones where a metric
abstains.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import grice
from grice.records import Conversation, Turn
from grice_research.recipes.guide.draw import read_drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_research.recipes.guide.draw import Drawn

__all__ = ["talks_of", "values_of"]

Rows = list[list[float]]


def talks_of(drawn: Sequence[Drawn]) -> list[Conversation]:
    """Return a conversation for each reply, which alone is judged in it."""
    return [
        Conversation(
            f"{each.id} {place}",
            (*each.turns, Turn(each.reply.speaker, text)),
            (len(each.turns),),
        )
        for each in drawn
        for place, text in enumerate(each.texts)
    ]


def values_of(path: Path, name: str) -> Rows:
    """Return the values that are kept, a row of each context.

    Raises:
        FileNotFoundError: If these were not computed.
    """
    return msgspec.json.decode(path.with_suffix(f".{name}.json").read_bytes(), type=Rows)


def main() -> None:
    """Score what was drawn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("drawn", type=Path)
    parser.add_argument("metrics", type=lambda text: text.split(","))
    given = parser.parse_args()
    drawn = read_drawn(given.drawn)
    for name in given.metrics:
        with grice.load(name, workers=1) as grader:
            scores = iter(grader.score(talks_of(drawn)))
            rows = [
                [score.value or 0.0 for score in islice(scores, len(each.texts))] for each in drawn
            ]
        given.drawn.with_suffix(f".{name}.json").write_bytes(msgspec.json.encode(rows))


if __name__ == "__main__":
    main()
