"""Two sentences from keywords by a causal language model that was shown a few, held to the task.

An answer is valid if it is two sentences that hold every keyword. Where the best answer is not,
further ones are looked at; of these the one that lacks the fewest keywords is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.situated.match import match_keywords
from grice.situated.words import sentences
from grice_research.situated.writing import shown_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.runtime.protocols import CausalGenerator
    from grice.situated.records import Sample

__all__ = ["WrittenPair", "write_valid_pairs"]

RETRIES = 3
"""Answers that are looked at where the first is not valid."""
LONGEST = 70
"""Tokens of two sentences."""


class WrittenPair(NamedTuple):
    """Two sentences and how they came about.

    Attributes:
        text: What was written.
        attempts: Answers that were looked at.
        valid: Whether it is two sentences with every keyword.
    """

    text: str
    attempts: int
    valid: bool


def write_valid_pairs(
    keywords: Sequence[Sequence[str]], model: CausalGenerator, *, shown: Sequence[Sample]
) -> list[WrittenPair]:
    """Return what a language model writes for each list of keywords.

    Args:
        keywords: The inputs.
        model: The language model.
        shown: Solved samples of the training split.
    """
    prompts = [shown_prompt(words, shown) for words in keywords]
    # What stands before the keywords is the same for all, and read once.
    before = shown_prompt([], shown).rpartition("Keywords: ")[0]
    asked = [prompt.removeprefix(before) for prompt in prompts]
    first = model.generate(asked, shown=before, max_tokens=LONGEST)
    refused = [
        place
        for place, (answers, words) in enumerate(zip(first, keywords, strict=True))
        if not answers or _lacking(answers[0].text, words)
    ]
    further = dict(
        zip(
            refused,
            model.generate(
                [asked[place] for place in refused],
                count=RETRIES,
                shown=before,
                max_tokens=LONGEST,
            ),
            strict=True,
        )
    )
    return [
        _chosen([answer.text for answer in (*answers, *further.get(place, ()))] or [""], words)
        for place, (answers, words) in enumerate(zip(first, keywords, strict=True))
    ]


def _lacking(text: str, keywords: Sequence[str]) -> int:
    """Return how many keywords a text lacks, and one more if it is not two sentences."""
    # Whose sentence a keyword belongs to is not looked at.
    missing = match_keywords(text, keywords, [0] * len(keywords)).missing
    return len(missing) + (len(sentences(text)) != 2)


def _chosen(texts: Sequence[str], keywords: Sequence[str]) -> WrittenPair:
    lacking = [_lacking(text, keywords) for text in texts]
    best = lacking.index(min(lacking))
    attempts = best + 1 if not lacking[best] else len(texts)
    return WrittenPair(texts[best], attempts, not lacking[best])
