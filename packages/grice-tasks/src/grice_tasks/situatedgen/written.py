"""Contrasting sentences by a language model: the best of some candidates by coverage and sense."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from grice_tasks.situatedgen.words import lemmas, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.writer import Writer

EXAMPLES = """\
Two true sentences that contrast a place or time. Together they use each keyword once.

Keywords: July, summer, Australia, winter, July, China
Sentences: July is in the summer in China. July is in the winter in Australia.

Keywords: breakfast, morning, evening, dinner
Sentences: People eat breakfast in the morning. People eat dinner in the evening.

Keywords: camels, penguins, Antarctica, desert, Egypt, ice
Sentences: Penguins live on the ice in Antarctica. Camels live in the desert in Egypt.

"""
CANDIDATES, MAX_TOKENS, SENTENCES = 4, 60, 2


class SentenceWriter:
    """A :class:`~grice_tasks.situatedgen.models.KeywordWriter` by a language model."""

    def __init__(self, writer: Writer) -> None:
        self.identity = writer.identity
        self._writer = writer

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords; an empty text for an empty list."""
        return [self._best(words) if words else "" for words in keywords]

    def _best(self, words: Sequence[str]) -> str:
        """Return the candidate of two sentences that leaves out fewest keywords and reads best."""
        listed = ", ".join(" ".join(word.split()) for word in words)
        prompt = f"{EXAMPLES}Keywords: {listed}\nSentences:"
        written = self._writer.write(
            prompt, _two_sentences, count=CANDIDATES, max_tokens=MAX_TOKENS
        )
        sense = self._writer.sense([("", text) for text in written])
        scores = [
            (len(sentences(text)) == SENTENCES, covered(words, text), value)
            for text, value in zip(written, sense, strict=True)
        ]
        return written[scores.index(max(scores))] if written else ""


def covered(words: Sequence[str], text: str) -> int:
    """Return how many keywords are in a text, as often as they are listed.

    >>> covered(["July", "summers", "July"], "It is summer in July.")
    2
    """
    found = lemmas(text)
    runs = Counter(lemmas(word) for word in words)
    times = {run: sum(found[i : i + len(run)] == run for i in range(len(found))) for run in runs}
    return sum(min(count, times[run]) for run, count in runs.items())


def _two_sentences(text: str) -> bool:
    """Return whether a text may begin two sentences on one line."""
    line, end, _ = text.partition("\n")
    count = len(sentences(line))
    return count == SENTENCES and line.rstrip()[-1:] in ".!?" if end else count <= SENTENCES
