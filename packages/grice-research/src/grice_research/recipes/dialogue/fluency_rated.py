"""What the metric ``fluency`` is worth where people rated how fluent replies are, beside length.

    python -m grice_research.recipes.dialogue.fluency_rated --data ../shared/data

Evaluation only: nothing is chosen by it. Spearman correlations of the metric and of the number of
words, and the share of the written minimal pairs in which the good reply scores higher.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np

import grice
from grice.records import Conversation, Turn
from grice.stats import correlation, mean
from grice_research.benches.minimal_pairs import read_pairs
from grice_research.recipes.options import parser_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice.scoring.api import Grader
    from grice.stats.estimate import Estimate

RATED = {
    "fed_turn": ("fluent", "understandable"),
    "usr_topicalchat": ("understandable", "natural"),
    "holistic_fluency": ("fluency",),
}
"""Files of ``rated``, with the questions about how a reply is said."""


def main() -> None:
    parser = parser_of(__doc__)
    given = parser.parse_args()
    with grice.load("fluency") as grader:
        for on, measure, row, estimate in (*rated(grader, given.data), *pairs(grader)):
            print(json.dumps({"on": on, "measure": measure, "row": row, "value": str(estimate)}))


def rated(grader: Grader, data: Path) -> Iterator[tuple[str, str, str, Estimate]]:
    """Yield the correlations with what people said."""
    for name, questions in RATED.items():
        with gzip.open(data / "rated" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            replies = [json.loads(line) for line in lines]
        columns = {
            "fluency": values(grader, [_conversation(str(i), r) for i, r in enumerate(replies)]),
            "number of words": [float(len(reply["response"].split())) for reply in replies],
        }
        for question in questions:
            ratings = [_rating(reply["ratings"].get(question)) for reply in replies]
            judged = [i for i, rating in enumerate(ratings) if rating is not None]
            for row, column in columns.items():
                truth = [float(ratings[i] or 0.0) for i in judged]
                found = correlation([column[i] for i in judged], truth)
                yield f"{name}: {question}", "Spearman", row, found


def pairs(grader: Grader) -> Iterator[tuple[str, str, str, Estimate]]:
    """Yield how often the good reply of a written pair scores higher, kind by kind."""
    written = read_pairs()
    talks = [
        _conversation(f"{i}", {"context": [], "response": text})
        for i, pair in enumerate(written)
        for text in (pair.good, pair.bad)
    ]
    columns = {
        "fluency": values(grader, talks),
        "number of words": [float(len(talk.turns[-1].text.split())) for talk in talks],
    }
    for kind in dict.fromkeys(pair.kind for pair in written):
        for row, column in columns.items():
            right = [
                0.5 if good == bad else float(good > bad)
                for pair, good, bad in zip(written, column[::2], column[1::2], strict=True)
                if pair.kind == kind
            ]
            yield f"minimal pairs: {kind}", "share right", row, mean(right, bounds=(0, 1))


def values(grader: Grader, talks: Sequence[Conversation]) -> list[float]:
    """Return the value of the last turn of each conversation."""
    return [0.0 if score.value is None else score.value for score in grader.score(talks)]


def _conversation(name: str, reply: dict[str, Any]) -> Conversation:
    before = tuple(Turn(turn["speaker"], turn["text"]) for turn in reply["context"])
    return Conversation(
        name, (*before, Turn("replying", reply["response"])), targets=(len(before),)
    )


def _rating(votes: list[float | None] | None) -> float | None:
    given = [vote for vote in votes or () if vote is not None]
    return float(np.mean(given)) if given else None


if __name__ == "__main__":
    main()
