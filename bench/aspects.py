"""Speed of the default metrics, and of all aspects, as a share of the raw engine alone.

The raw engine encodes each turn once.

    python bench/aspects.py [FILE]

The conversations are those of FILE that hold 20 turns or more, cut to 20, or else made of random
words. Every turn is another text and is judged by every metric that judges it, with evidence.
Processor time of one core, all sides in turn; the figure is each side's best of three. A metric by
itself encodes the turns too: what it costs beside the others is what all cost without it.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import ctranslate2
from run import best, machine, texts
from tokenizers import Tokenizer

from grice.metrics.registry import find_metrics
from grice.models.bundle import open_bundle
from grice.readers import read
from grice.records import Conversation, Turn
from grice.scoring import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ASPECTS = ("relevance", "engagement", "coherence", "commonsense")
TALKS, TURNS = 16, 20
ROWS = 32


def talks(path: str | None) -> list[Conversation]:
    """Return conversations in which every turn is another text."""
    if path is None:
        pool = texts(TALKS * TURNS)
        groups = [pool[start : start + TURNS] for start in range(0, len(pool), TURNS)]
    else:
        groups = _cut(
            [conversation for conversation in read(path) if isinstance(conversation, Conversation)]
        )
    return [Conversation(str(i), tuple(Turn("AB"[j % 2], text) for j, text in enumerate(texts)))
            for i, texts in enumerate(groups)]  # fmt: skip


def _cut(whole: Sequence[Conversation]) -> list[list[str]]:
    seen: set[str] = set()
    groups = []
    for conversation in whole:
        texts = [turn.text for turn in conversation.turns if turn.text not in seen][:TURNS]
        if len(set(texts)) == TURNS and len(groups) < TALKS:
            groups.append(texts)
            seen.update(texts)
    if len(groups) < TALKS:
        sys.exit(f"{len(groups)} conversations of {TURNS} different turns; {TALKS} are needed")
    return groups


def raw(conversations: Sequence[Conversation]) -> Callable[[], float]:
    """Return what times the bare engine on the distinct turns, batched by length."""
    bundle = open_bundle("encoder")
    tokenizer = Tokenizer.from_file(str(bundle.path("tokenizer.json")))
    tokenizer.no_padding()
    engine = ctranslate2.Encoder(str(bundle.folder), compute_type="int8", intra_threads=1)
    distinct = list(dict.fromkeys(turn.text for talk in conversations for turn in talk.turns))

    def run() -> float:
        start = time.process_time()
        ids = sorted((encoding.ids for encoding in tokenizer.encode_batch(distinct)), key=len)
        for first in range(0, len(ids), ROWS):
            engine.forward_batch(ids[first : first + ROWS])
        return time.process_time() - start

    return run


def ours(metrics: Sequence[str], conversations: Sequence[Conversation]) -> Callable[[], float]:
    """Return what times some metrics on the conversations."""

    def run() -> float:
        # A grader remembers texts: a fresh one, whose models are opened, encodes them again.
        with load(*metrics, workers=1, cache=None) as grader:
            grader.score(conversations[:1])
            start = time.process_time()
            grader.score(conversations[1:])
            return time.process_time() - start

    return run


def main() -> None:
    conversations = talks(sys.argv[1] if len(sys.argv) > 1 else None)
    without = [tuple(names for names in ASPECTS if names != left) for left in ASPECTS]
    default = find_metrics().defaults()
    bare, usual, whole, *rest = best(
        raw(conversations[1:]),
        ours(default, conversations),
        ours(ASPECTS, conversations),
        *(ours(names, conversations) for names in without),
    )
    turns = (len(conversations) - 1) * TURNS
    print(f"raw engine          {turns / bare:7.0f} turns/s of processor time   ({machine()})")
    print(f"default metrics     {turns / usual:7.0f} turns/s, {bare / usual:.2f} of the raw engine "
          f"({', '.join(default)})")  # fmt: skip
    print(f"all aspects         {turns / whole:7.0f} turns/s, {bare / whole:.2f} of the raw engine")
    for left, took in zip(ASPECTS, rest, strict=True):
        print(f"without {left:12}{turns / took:7.0f} turns/s, {bare / took:.2f}; it costs "
              f"{(whole - took) / bare:.2f} of an encoding of the turns")  # fmt: skip


if __name__ == "__main__":
    main()
