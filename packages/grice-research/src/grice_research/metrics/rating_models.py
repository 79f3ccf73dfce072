"""The trained baselines of ACCENT: what a rating is foretold from, and the network that does it.

ACCENT (Ghazarian et al., Findings of ACL 2023) compares itself with a cross-encoder, which reads
history and reply together, and with an MLP regressor on counted edges of ConceptNet. Both learn
ratings of replies. The cross-encoder here is a head on the frozen encoder's vectors; the regressor
leaves out the paper's two losses of DialoGPT-large.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from grice.files import write_bytes
from grice.models.loader import Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import Encoder, PairClassifier
from grice.text.contractions import written_out
from grice.text.verbs import base_form
from grice.text.wordlists import (
    AUXILIARIES,
    DEGREES,
    DETERMINERS,
    FILLERS,
    KEPT_ADVERBS,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Pair

    Array: TypeAlias = NDArray[np.float32]

FURTHER = "be few less lot me more most much one or other own same several then two us while you"
STOP = frozenset(FURTHER.split()).union(
    AUXILIARIES, DEGREES, DETERMINERS, FILLERS, KEPT_ADVERBS, PREPOSITIONS, QUESTIONS, THINGS
)
LETTER_WORDS = re.compile(r"[a-z]{2,}")
CONTENT = ("VERB", "NOUN", "ADJ")


def concepts(text: str) -> list[str]:
    """Return the base forms of the nouns, verbs and adjectives of a text, each once, in order.

    >>> concepts("My dogs were barking at the old postman.")
    ['dog', 'bark', 'old', 'postman']
    """
    words = LETTER_WORDS.findall(" ".join(written_out(text)).lower())
    lemmas = [_lemma(word) for word in words if word not in STOP]
    return list(dict.fromkeys(word for word in lemmas if word and word not in STOP))


@cache
def _lemma(word: str) -> str:
    """Return the base form of a content word; nothing for another word."""
    # It takes a moment to import, and only this baseline asks it here.
    from lemminflect import getAllLemmas

    lemmas = getAllLemmas(word)
    kinds = [kind for kind in CONTENT if kind in lemmas]
    if not kinds:
        return ""
    base = base_form(word)
    known = [lemma for kind in kinds for lemma in lemmas[kind]]
    return base if base != word or word in known else str(known[0])


UNREAD = 0.5
"""The answer for a reply without a word."""


class Reading(Protocol):
    """Turns pairs of history and reply into numbers."""

    def __call__(self, pairs: Sequence[Pair]) -> Array:
        """Return features of shape ``(pairs, features)``."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        ...


class JoinedTexts:
    """Vectors of history, reply and both as one text, and the first two's product."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __call__(self, pairs: Sequence[Pair]) -> Array:
        """Return features of shape ``(pairs, 4 * dimensions)``, of order one."""
        before = [" ".join(pair.left) for pair in pairs]
        texts = [*before, *(pair.right for pair in pairs)]
        texts += [f"{left} {pair.right}".strip() for left, pair in zip(before, pairs, strict=True)]
        vectors = np.stack(self._encoder.encode(texts))
        scale = np.float32(np.sqrt(vectors.shape[1]))
        history, reply, both = np.split(vectors, 3)
        blocks = (history, reply, both, history * reply * scale)
        return np.concatenate(blocks, axis=1, dtype=np.float32) * scale

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the encoder reads only its end."""
        return self._encoder.truncated(texts)


class CountedEdges:
    """How many pairs of words of history and reply are joined by one edge and by two; length."""

    def __init__(self, edges: dict[str, frozenset[str]]) -> None:
        self._edges = edges

    def __call__(self, pairs: Sequence[Pair]) -> Array:
        """Return logarithms of one more than each number, shape ``(pairs, 3)``."""
        counted = [self._counted(" ".join(pair.left), pair.right) for pair in pairs]
        return np.log1p(np.array(counted, np.float32).reshape(len(pairs), 3))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return that all texts are read whole."""
        return [False for _ in texts]

    def _counted(self, before: str, reply: str) -> tuple[int, int, int]:
        nothing: frozenset[str] = frozenset()
        sides = [
            [(word, self._edges.get(word, nothing)) for word in concepts(text)]
            for text in (before, reply)
        ]
        pairs = [(a, b) for a in sides[0] for b in sides[1] if a[0] != b[0]]
        direct = sum(right in near for (_, near), (right, _) in pairs)
        indirect = sum(not near.isdisjoint(other) for (_, near), (_, other) in pairs)
        return direct, indirect, len(reply.split())


class RegressorSettings(Settings, frozen=True):
    """Settings of type ``rating-regressor``: what it reads."""

    reads: Literal["texts", "edges"]


class Regressor:
    """A :class:`~grice.models.protocols.PairClassifier` that learned ratings."""

    def __init__(self, folder: ModelFolder, settings: RegressorSettings, encoder: Encoder) -> None:
        self._read: Reading
        if settings.reads == "texts":
            self._read = JoinedTexts(encoder)
        else:
            self._read = CountedEdges(read_edges(folder.file("edges.txt.gz")))
        self.identity = f"{folder.identity}/{encoder.identity}"
        self._network = Mlp.load(folder.file("head.npz"))

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the rating each reply is expected to get, 0 to 1; 0.5 without a word."""
        spoken = [i for i, pair in enumerate(pairs) if pair.right.strip()]
        answers = [UNREAD] * len(pairs)
        if spoken:
            ratings = self._network(self._read([pairs[i] for i in spoken]))[:, 0]
            for i, value in zip(spoken, np.clip(ratings, 0, 1).tolist(), strict=True):
                answers[i] = value
        return answers

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        return self._read.truncated(texts)


def write_edges(path: Path, pairs: set[tuple[str, str]]) -> None:
    """Write pairs of words, each pair once, as a word a line with those that follow it."""
    after: dict[str, list[str]] = {}
    for first, second in sorted({(min(pair), max(pair)) for pair in pairs}):
        after.setdefault(first, []).append(second)
    lines = "".join(f"{word} {' '.join(others)}\n" for word, others in after.items())
    # Without a time, the same words are the same bytes.
    write_bytes(path, gzip.compress(lines.encode(), mtime=0))


def read_edges(path: Path) -> dict[str, frozenset[str]]:
    """Return the neighbours of each word in both directions."""
    near: dict[str, set[str]] = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        word, *others = line.split()
        near.setdefault(word, set()).update(others)
        for other in others:
            near.setdefault(other, set()).add(word)
    return {word: frozenset(others) for word, others in near.items()}


@model_type("rating-regressor", task="ratings", protocol=PairClassifier, settings=RegressorSettings)
def rating_regressor(
    folder: ModelFolder, settings: RegressorSettings, loader: ModelLoader
) -> Regressor:
    """Open a network that learned ratings."""
    return Regressor(folder, settings, loader.encoder_of(folder, Encoder))
