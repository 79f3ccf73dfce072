"""Set where a reply is said to contradict, on conversations that were kept back.

    python -m grice_research.recipes.contradiction.threshold

Prints the shift of the metric with which one in twenty replies of people who contradict nothing (in
Synthetic-Persona-Chat) is below one half, and what share of the written items then is: of those
that contradict, and of those that do not.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

import grice
from grice import Conversation, Turn
from grice.metrics.contradiction import SHIFT
from grice.stats import mean
from grice_research.recipes.contradiction.pairs import is_kept_back
from grice_research.recipes.options import parser_of
from grice_research.recipes.sense.pairs import written_items
from grice_research.recipes.sense.sources import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice.scoring.api import Grader
    from grice_research.recipes.sense.pairs import Reading

ALARMS = 0.05
"""Share of replies that contradict nothing and may be below one half."""


def conversations(data: Path) -> Iterator[Conversation]:
    """Yield the conversations that the networks have not seen."""
    for talk in lines_of(data / "synthetic_persona_chat/valid.jsonl.gz"):
        if is_kept_back(talk["id"]) and talk["turns"]:
            turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in talk["turns"])
            yield Conversation(talk["id"], turns)


def read_again(name: str, reading: Reading) -> Conversation:
    """Return a reading as a conversation of two, whose last turn is judged."""
    texts = (*reading.history, reading.reply)
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    return Conversation(name, turns, targets=(len(turns) - 1,))


def values_of(grader: Grader, talks: Sequence[Conversation]) -> list[float]:
    """Return the values of the replies that were judged."""
    scores = grader.score(talks)
    return [score.value for score in scores if score.status == "ok" and score.value is not None]


def main() -> None:
    given = parser_of(__doc__).parse_args()
    sides: dict[bool, list[Conversation]] = {True: [], False: []}
    for number, item in enumerate(written_items()):
        if item.validation and item.kind == "self_contradiction":
            good = {better for better, _ in item.comparisons}
            for place, reading in enumerate(item.readings):
                sides[place not in good].append(read_again(f"{number}-{place}", reading))
    with grice.load("contradiction") as grader:
        clean = np.array(values_of(grader, list(conversations(given.data))))
        flawed, fine = (np.array(values_of(grader, sides[side])) for side in (True, False))
    clean = clean[clean < 1]
    odds = np.log1p(-clean) - np.log(clean) - SHIFT
    shift = -float(np.quantile(odds, 1 - ALARMS))
    print(json.dumps({"shift": round(shift, 2), "replies": len(clean)}))
    for name, values in (("contradict", flawed), ("do not", fine)):
        chances = np.log1p(-values) - np.log(values) - SHIFT + shift
        share = mean(list((chances > 0).astype(float)))
        figures = {"said to": share.value, "low": share.low, "high": share.high, "n": len(values)}
        print(json.dumps({"written items that": name, **figures}))


if __name__ == "__main__":
    main()
