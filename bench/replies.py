"""Speed of relevance and engagement together, as a share of the bare encoder on the same texts.

    python bench/replies.py

Processor time of one core, both sides in turn; every turn is another text and every turn but the
first is judged by both metrics, with evidence. Two cores score two windows at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from run import best, machine, texts, timed

from grice.records import Conversation, Turn
from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedEncoder
from grice.scoring import load

if TYPE_CHECKING:
    pass

METRICS = ("relevance", "engagement")
TALKS, TURNS = 20, 20


def talks() -> list[Conversation]:
    """Return conversations in which every turn is another text."""
    pool = iter(texts(TALKS * TURNS))
    return [
        Conversation(str(i), tuple(Turn("AB"[j % 2], next(pool)) for j in range(TURNS)))
        for i in range(TALKS)
    ]


def main() -> None:
    said = talks()
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    distinct = [turn.text for talk in said for turn in talk.turns]

    def ours() -> float:
        # A grader remembers texts: a fresh one encodes them again.
        with load(*METRICS, workers=1, cache=None) as grader:
            grader.score(said[:1])
            start = time.process_time()
            grader.score(said[1:])
            return time.process_time() - start

    bare, both = best(lambda: timed(lambda: encoder.encode(distinct[TURNS:])), ours)
    replies = (TALKS - 1) * (TURNS - 1)
    turns = (TALKS - 1) * TURNS
    print(f"encoder alone      {turns / bare:7.0f} texts/s of processor time")
    print(f"both metrics       {turns / both:7.0f} turns/s, {replies / both:.0f} replies/s")
    print(f"share of the encoder {bare / both:.2f}   ({machine()})")


if __name__ == "__main__":
    main()
