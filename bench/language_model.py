"""What one reading of a conversation saves a language model, in one run.

    grice models get medium
    python bench/language_model.py [--mode fast] [--turns 20] [--talks 6] [MODEL]

Conversations of so many turns are made of those of ``examples``, one after the other. Every reply
is scored after its whole history: by a reading each, and by one reading for all. Processor time of
one thread; the largest difference of the mean log probability of a reply stands beside.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

import grice
from grice.runtime.models import Models
from grice.runtime.protocols import CausalLM, Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.runtime.protocols import Passage

EXAMPLES = Path(__file__).parents[1] / "examples" / "chatbots.jsonl"


def conversations(turns: int, count: int) -> list[list[str]]:
    """Return conversations of so many turns."""
    texts = [turn.text for talk in grice.read(EXAMPLES) for turn in talk.turns]
    return [texts[i * turns : (i + 1) * turns] for i in range(min(count, len(texts) // turns))]


def passage(talk: Sequence[str], judged: set[int]) -> Passage:
    """Return a conversation as lines, the judged turns scored."""
    segments = []
    for place, text in enumerate(talk):
        segments += [
            Segment(f"{'AB'[place % 2]}:"),
            Segment(f" {text.strip()}", scored=place in judged),
            Segment("\n"),
        ]
    return segments


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", default="model:medium")
    parser.add_argument("--mode", choices=("exact", "fast"), default="fast")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--talks", type=int, default=6)
    given = parser.parse_args()
    talks = conversations(given.turns, given.talks)

    def means(passages: list[Passage]) -> list[float]:
        # A model of its own each time: what one has read, it does not read again.
        models = Models(mode=given.mode, workers=1, cache=None)
        model = cast("CausalLM", models.open(given.model, CausalLM))
        model.token_scores([[Segment("A:"), Segment(" hello", scored=True)]])
        start = time.process_time()
        scores = model.token_scores(passages)
        seconds.append(time.process_time() - start)
        models.close()
        return [
            float(np.mean([token.log_probability for token in tokens]))
            for segments in scores
            for tokens in segments
        ]

    seconds: list[float] = []
    places = range(1, given.turns)
    each = means([passage(talk[: i + 1], {i}) for talk in talks for i in places])
    once = means([passage(talk, set(places)) for talk in talks])
    slow, quick = seconds
    apart = float(np.abs(np.array(each) - np.array(once)).max())
    print(
        f"{len(each)} replies, {given.mode}: {len(each) / slow:.1f} a second by a reading each, "
        f"{len(each) / quick:.1f} by one reading; ratio {slow / quick:.1f}; "
        f"largest difference {apart:.2g}"
    )


if __name__ == "__main__":
    main()
