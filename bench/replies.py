"""Speed of relevance and engagement together, as a share of the bare engine's on the same texts.

    python bench/replies.py

The bare engine encodes every turn once, batched by length. Processor time of one core, both sides
in turn; every turn is another text and every turn but the first is judged by both metrics, with
evidence. Two cores score two windows at once.
"""

from __future__ import annotations

from aspects import ours, raw
from run import best, machine, texts

from grice.records import Conversation, Turn

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
    conversations = talks()
    bare, both = best(raw(conversations[1:]), ours(METRICS, conversations))
    replies = (TALKS - 1) * (TURNS - 1)
    turns = (TALKS - 1) * TURNS
    print(f"raw engine         {turns / bare:7.0f} turns/s of processor time")
    print(f"both metrics       {turns / both:7.0f} turns/s, {replies / both:.0f} replies/s")
    print(f"share of the raw engine {bare / both:.2f}   ({machine()})")


if __name__ == "__main__":
    main()
