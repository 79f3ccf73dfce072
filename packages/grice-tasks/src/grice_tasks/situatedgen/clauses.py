"""Find the predicate of a yes/no question by a small network on token states."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from grice.models.mlp import Mlp
from grice_tasks.situatedgen.tagger import Names, token_features
from grice_tasks.tokens import WORDS_WITH_PERIODS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]
    Offsets: TypeAlias = list[tuple[int, int]]

PRONOUNS = frozenset(("there", "it", "he", "she", "they", "we", "you", "i"))
PLACES = "of in on at to from by with for the a an and or her his their its your my than against"
INSIDE = frozenset(PLACES.split())
"""Words no subject ends with."""
ARTICLES = frozenset(("the", "a", "an"))
BE = frozenset(("is", "are", "was", "were", "am"))


class ClauseFinder:
    """Finds the end of the subject."""

    def __init__(
        self,
        folder: Path,
        hidden: Callable[[Sequence[str]], Sequence[tuple[Array, Offsets]]],
        identity: str,
    ) -> None:
        self.identity = identity
        self._hidden = hidden
        self._network = Mlp.load(folder / "clauses.npz")
        self._names = Names.load(folder / "names.txt.gz")

    def predicate_starts(self, questions: Sequence[str]) -> list[int]:
        """Return for each question that starts with its auxiliary where its predicate starts."""
        answers = self._hidden(questions)
        return [self._start(text, *answer) for text, answer in zip(questions, answers, strict=True)]

    def _start(self, text: str, states: Array, offsets: Offsets) -> int:
        first = text.partition(" ")[0]
        if not any(end > start > len(first) for start, end in offsets):
            return len(first)
        features, places, starts = token_features(text, states, offsets, self._names)
        heads = [i for i, start in enumerate(starts) if start and places[i][0] > len(first)]
        begins = [places[i][0] for i in heads]
        # The subject has at least one word.
        possible = [
            k for k in range(1, len(heads)) if _may_start(text, begins[k - 1], begins[k], first)
        ] or [len(heads) - 1]
        opening = WORDS_WITH_PERIODS.match(text, begins[0]) if begins else None
        if opening and opening[0].lower() in PRONOUNS and 1 in possible:
            return begins[1]
        scores = self._network(features[[heads[k] for k in possible]])[:, 0]
        return begins[possible[int(scores.argmax())]]


def _may_start(text: str, before: int, start: int, auxiliary: str) -> bool:
    """Say whether a predicate can start at a word, by the word before and the word itself."""
    word_match, last = WORDS_WITH_PERIODS.match(text, start), WORDS_WITH_PERIODS.match(text, before)
    if word_match is None or last is None or text[start - 1] != " ":
        return False
    word, behind = word_match[0], last[0]
    if behind.lower() in PRONOUNS:
        return True
    if behind.lower() in INSIDE or word.lower() == "of":
        return False
    if auxiliary.lower() not in BE and word.lower() in ARTICLES:
        return False
    # One name goes on: "Super Bowl 50", "Earth Day".
    return not (behind[:1].isupper() and (word[:1].isupper() or word[:1].isdigit()))
