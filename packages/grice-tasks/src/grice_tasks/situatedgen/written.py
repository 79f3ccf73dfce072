"""Contrasting sentences by a language model: the best of some candidates by coverage and sense."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from grice_tasks.situatedgen.words import lemmas, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.writer import Writer

EXAMPLES = """\
Two true sentences that contrast places or times. Together they use every keyword.

Keywords: July, summer, Australia, winter, July, China
Sentences: In China, July is a month of summer. In Australia, July is a month of winter.

Keywords: stars, night, sun, day, shine
Sentences: The sun shines by day. The stars shine by night.

Keywords: camels, penguins, Antarctica, desert, Arabia, ice
Sentences: Penguins walk on the ice of Antarctica. Camels walk through the desert of Arabia.

Keywords: Great Wall, Rome, China, Colosseum
Sentences: The Great Wall stands in China. The Colosseum stands in Rome.

Keywords: church, stadium, pray, team, play, people
Sentences: People pray in a church. A team plays in a stadium.

"""
CANDIDATES, MAX_TOKENS, SENTENCES = 8, 60, 2


class SentenceWriter:
    """A :class:`~grice_tasks.situatedgen.models.KeywordWriter` by a language model."""

    def __init__(self, writer: Writer) -> None:
        self.identity = writer.identity
        self._writer = writer

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords; an empty text for an empty list."""
        return [self._best(words) if words else "" for words in keywords]

    def _best(self, words: Sequence[str]) -> str:
        """Return the candidate of two sentences with most keywords that are likeliest true."""
        listed = ", ".join(" ".join(word.split()) for word in words)
        prompt = f"{EXAMPLES}Keywords: {listed}\nSentences:"
        lines = self._writer.write(prompt, count=CANDIDATES, max_tokens=MAX_TOKENS)
        written = [" ".join(sentences(line)[:SENTENCES]) for line in lines]
        fits = [(len(sentences(text)) == SENTENCES, covered(words, text)) for text in written]
        best = [text for text, fit in zip(written, fits, strict=True) if fit == max(fits)]
        return max(best, key=self._least_true) if len(best) > 1 else "".join(best)

    def _least_true(self, text: str) -> float:
        """Return how much likelier the less likely of the sentences is true than not (nats)."""
        asked = [f"Is this true? {sentence}" for sentence in sentences(text)]
        return min(self._writer.agrees(asked), default=0.0)


def covered(words: Sequence[str], text: str) -> int:
    """Return how many keywords are in a text, as often as they are listed.

    >>> covered(["July", "summers", "July"], "It is summer in July.")
    2
    """
    found = lemmas(text)
    runs = Counter(lemmas(word) for word in words)
    times = {run: sum(found[i : i + len(run)] == run for i in range(len(found))) for run in runs}
    return sum(min(count, times[run]) for run, count in runs.items())
