"""Static word vectors: read from a word2vec or GloVe text file, or made of the texts at hand."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Vectors = dict[str, NDArray[np.float32]]

__all__ = ["learn_vectors", "read_vectors", "words_of"]

WORDS = re.compile(r"[\w']+|[^\w\s]")
WINDOW = 4
RARE = 3


def words_of(text: str) -> list[str]:
    """Return words and marks in lower case."""
    return WORDS.findall(text.lower())


def read_vectors(path: Path, wanted: Iterable[str]) -> Vectors:
    """Return the vectors of the wanted words out of a text file, one word a line.

    The first line of word2vec, two counts, is skipped.

    Raises:
        ValueError: If lines have different numbers of values.
    """
    keep = set(wanted)
    vectors: Vectors = {}
    size = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            word, *values = line.rstrip().split(" ")
            if number == 1 and len(values) == 1:
                continue
            size = size or len(values)
            if len(values) != size:
                raise ValueError(f"{path}:{number}: {len(values)} values, the lines above {size}")
            if word in keep:
                vectors[word] = np.array(values, np.float32)
    return vectors


def learn_vectors(texts: Sequence[str], dimensions: int = 100) -> Vectors:
    """Return vectors of words by how they stand together.

    Positive pointwise mutual information within four words, reduced by a truncated singular
    value decomposition (Levy and Goldberg, 2014: what word2vec factorises).
    """
    worded = [words_of(text) for text in texts]
    counted = Counter(word for words in worded for word in words)
    vocabulary = sorted(word for word, count in counted.items() if count >= RARE)
    place = {word: i for i, word in enumerate(vocabulary)}
    together: Counter[tuple[int, int]] = Counter()
    for words in worded:
        ids = [place[word] for word in words if word in place]
        for gap in range(1, WINDOW + 1):
            for a, b in zip(ids, ids[gap:], strict=False):
                together[a, b] += 1
                together[b, a] += 1
    rows, columns = (np.array(side) for side in zip(*together, strict=True))
    counts = np.fromiter(together.values(), np.float64, len(together))
    size = len(vocabulary)
    sums = np.bincount(rows, counts, size)
    context = sums**0.75 / (sums**0.75).sum()  # frequent contexts weigh less, as in word2vec
    shared = np.log(counts / sums[rows] / context[columns])
    matrix = sparse.csr_matrix((np.maximum(shared, 0), (rows, columns)), (size, size))
    left, weights, _ = svds(matrix, k=min(dimensions, size - 1), random_state=0)
    vectors = (left * np.sqrt(weights)).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return {word: vectors[i] for word, i in place.items()}
