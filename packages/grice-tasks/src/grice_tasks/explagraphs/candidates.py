"""Which phrases of belief and argument may become concepts of a graph, and which words beside.

Every phrase is weighed by what it is like and by where it stands: one that stops before the last
word of its noun group reads badly, however near its vector is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice_tasks.explagraphs.baselines import STOP_WORDS
from grice_tasks.explagraphs.wording import phrases
from grice_tasks.tokens import PLAIN_COMPOUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_tasks.explagraphs.features import Features

    Array: TypeAlias = NDArray[np.float32]

OF_EACH, OUTSIDE = 8, 8
"""Candidates of each text, and of the vocabulary."""
FREQUENT = np.float32(0.3)
"""How much the logarithm of a word's frequency counts beside its likeness to both texts."""
NEGATING = frozenset(("never", "no", "not"))
BEING = frozenset(("are", "be", "been", "is", "was", "were"))
MODAL = frozenset(
    ("are", "can", "do", "does", "has", "have", "is", "must", "should", "will", "would")
)
OWNING = frozenset(("a", "an", "her", "his", "its", "my", "our", "the", "their", "your"))
LEADING = frozenset(("can", "must", "should", "to", "will", "would"))


class Candidate(NamedTuple):
    """A text that may become a concept.

    Attributes:
        origin: ``both``, ``belief``, ``argument``, or ``outside`` of both.
        start: Where it begins in the text it comes from, as a share of its length.
        weight: How much it looks like a concept that people choose; 0 for one from outside.
    """

    text: str
    origin: str
    start: float
    end: float
    weight: float


def origin(concept: str, belief: str, argument: str) -> str:
    """Return where a concept stands: ``both``, ``belief``, ``argument`` or ``outside``.

    All three are in lower case.
    """
    if concept in belief:
        return "both" if concept in argument else "belief"
    return "argument" if concept in argument else "outside"


def place_in(concept: str, text: str) -> tuple[float, float]:
    """Return start and end of a concept as shares of the text's length; zeros if not there."""
    start, size = text.find(concept), max(1, len(text))
    return (0.0, 0.0) if start < 0 else (start / size, (start + len(concept)) / size)


def phrase_row(phrase: str, text: str, other: str, features: Features) -> Array:
    """Return what a phrase of a text is like, by which it may look like a concept."""
    lowered = text.lower()
    start, _ = place_in(phrase, lowered)
    words = phrase.count(" ") + 1
    vector = features.vector(phrase)
    own = [
        1.0,
        float(words == 1),
        float(words == 2),
        start,
        float(start == 0),
        float(not lowered[lowered.find(phrase) + len(phrase) :].strip(" .!?")),
        float(phrase in other.lower()),
        len(phrase) / 10,
        float(vector @ features.vector(text)),
        float(vector @ features.vector(other)),
    ]
    around = _around(phrase, lowered, words)
    return np.concatenate(
        [np.array([*own, *around], np.float32), features.axes(phrase) * np.float32(0.3)]
    )


def _around(phrase: str, text: str, words: int) -> list[float]:
    """Return what stands before and after a phrase, alone and by the length of the phrase."""
    first = text.find(phrase)
    last = first + len(phrase)
    matches = list(PLAIN_COMPOUNDS.finditer(text))
    before = next((match for match in reversed(matches) if match.end() <= first), None)
    after = next((match for match in matches if match.start() >= last), None)
    ahead = before[0] if before and not text[before.end() : first].strip() else ""
    behind = after[0] if after and not text[last : after.start()].strip() else ""
    edges = [*_kind(behind), *_kind(ahead)]
    row = [
        *edges,
        any(word in STOP_WORDS for word in phrase.split(" ")[1:-1]),
        ahead in NEGATING,
        ahead in BEING,
        behind in MODAL,
        ahead in OWNING,
        ahead in LEADING,
        len(matches) / 20,
        *(edge * (words == 1) for edge in edges),
        *(edge * (words == 3) for edge in edges),
    ]
    return [float(value) for value in row]


def _kind(word: str) -> tuple[bool, bool, bool]:
    """Return whether a phrase ends here, or an empty word or another full one stands beside."""
    return not word, word in STOP_WORDS, bool(word) and word not in STOP_WORDS


def candidates(
    belief: str,
    argument: str,
    features: Features,
    weights: Array,
    outside: Sequence[tuple[str, float]],
) -> list[Candidate]:
    """Return the best phrases of both texts, and words from outside, each once."""
    texts = (belief.lower(), argument.lower())
    chosen: dict[str, float] = {}
    for text, other in ((belief, argument), (argument, belief)):
        own_phrases = phrases(text)
        scores = [
            float(phrase_row(phrase, text, other, features) @ weights) for phrase in own_phrases
        ]
        for i in sorted(range(len(own_phrases)), key=lambda i: -scores[i])[:OF_EACH]:
            chosen[own_phrases[i]] = max(scores[i], chosen.get(own_phrases[i], scores[i]))
    ranked = []
    for text, weight in chosen.items():
        where = origin(text, *texts)
        ranked.append(Candidate(text, where, *place_in(text, texts[where == "argument"]), weight))
    both = features.vector(belief) + features.vector(argument)
    near = [float(features.vector(word) @ both + FREQUENT * often) for word, often in outside]
    fresh = [
        outside[i][0]
        for i in sorted(range(len(near)), key=lambda i: -near[i])[: 4 * OUTSIDE]
        if origin(outside[i][0], *texts) == "outside"
    ]
    return ranked + [Candidate(word, "outside", 0.0, 0.0, 0.0) for word in fresh[:OUTSIDE]]
