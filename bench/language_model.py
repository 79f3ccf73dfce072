r"""What one reading of a conversation saves a language model, in one run.

    grice models get medium
    python bench/language_model.py [--turns 20] [--talks 6] [--workers 2] \
           [--write docs/language-models.md] [MODEL]

Conversations of so many turns are made of those of ``examples``, one after the other. Every reply
is scored after its whole history: by a reading each, and by one reading for all, in ``fast`` and in
``exact``. Then replies are read without a history: one at a time, and all in batches of one length.
Processor time of one thread, with the largest difference of the mean log probability of a reply;
then the time on the clock of so many workers for both.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

import grice
from grice.models.models import Models
from grice.models.protocols import CausalLM, Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.embedded import Mode
    from grice.models.protocols import Passage

MARKS = "<!-- written by bench/language_model.py -->", "<!-- end of what it writes -->"
EXAMPLES = Path(__file__).parents[1] / "examples" / "chatbots.jsonl"


class Read(NamedTuple):
    """The mean log probability of each reply, and the seconds that took."""

    means: list[float]
    processor: float
    clock: float


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
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--talks", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a page with the marks of these figures")
    given = parser.parse_args()
    talks = conversations(given.turns, given.talks)

    def read(calls: list[list[Passage]], workers: int = 1, mode: Mode = "fast") -> Read:
        # A model of its own each time: what one has read, it does not read again.
        models = Models(mode=mode, workers=workers, cache=None)
        model = cast("CausalLM", models.open(given.model, CausalLM))
        model.token_scores([[Segment("A:"), Segment(" hello", scored=True)]])
        processor, clock = time.process_time(), time.perf_counter()
        scores = [score for passages in calls for score in model.token_scores(passages)]
        taken = time.process_time() - processor, time.perf_counter() - clock
        models.close()
        means = [
            float(np.mean([token.log_probability for token in tokens]))
            for segments in scores
            for tokens in segments
        ]
        return Read(means, *taken)

    places = range(1, given.turns)
    reads = [passage(talk[: i + 1], {i}) for talk in talks for i in places]
    each = read([reads])
    whole = [passage(talk, set(places)) for talk in talks]
    once, exact = read([whole]), read([whole], mode="exact")
    exactly = read([reads], mode="exact")
    alone: list[Passage] = [
        [Segment("A:"), Segment(f" {talk[i].strip()}", scored=True)]
        for talk in talks
        for i in places
    ]
    singly, batched = read([[request] for request in alone]), read([alone])
    count = len(each.means)
    saved = each.processor / once.processor
    both = read([whole, alone], given.workers)
    free = both.processor / both.clock  # what other work on the machine left to this one
    text = (
        f"{count} replies\n"
        f"after the history: {count / each.processor:.1f} a second of a core by a reading each, "
        f"{count / once.processor:.1f} by one reading; ratio {saved:.1f}; "
        f"largest difference {apart(each, once):.2g}, in exact {apart(exactly, exact):.2g}, of one "
        f"reading in fast from exact {apart(once, exact):.2g}\n"
        f"alone: {count / singly.processor:.1f} one at a time, {count / batched.processor:.1f} in "
        f"batches of one length; ratio {singly.processor / batched.processor:.2f}; largest "
        f"difference {apart(singly, batched):.2g}\n"
        f"both: {count / both.processor:.1f} a second of a core, "
        f"{count / both.clock:.1f} by the clock of {given.workers} workers on {free:.1f} cores"
    )
    print(text)
    if given.write:
        before, rest = given.write.read_text("utf-8").split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        listed = "\n".join(f"- {line}" for line in text.splitlines())
        given.write.write_text(f"{before}{MARKS[0]}\n\n{listed}\n\n{MARKS[1]}{after}", "utf-8")


def apart(first: Read, second: Read) -> float:
    """Return the largest difference of two readings of the same replies."""
    return float(np.abs(np.array(first.means) - np.array(second.means)).max())


if __name__ == "__main__":
    main()
