"""Does 0.5 mean one in two? True and random replies of held-out conversations, by their score.

    python -m grice_research.recipes.relevance.reliability --data ../shared/data

Prints the share of true replies in ten bands of the score, how far scores and shares lie apart, and
how often the band of one half of the conversations holds the share of the other; draws
``docs/relevance-reliability.svg``. No rated set is read.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.metrics.relevance.pairs import PairHead, PairSettings
from grice.models.bundle import open_bundle
from grice.models.protocols import Pair
from grice.models.registry import read_settings
from grice.stats import mean
from grice_research.places import MODELS
from grice_research.recipes.relevance.corpora import evaluated_texts, read_dialogues
from grice_research.recipes.relevance.examples import Mix, collect, draw_negatives, texts_of
from grice_research.recipes.relevance.train import CORPORA, WORK
from grice_research.recipes.relevance.vectors import VectorStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.stats import Estimate

    Floats = NDArray[np.float64]

BANDS = 10
LEAST = 20
"""A band with fewer replies says nothing."""
SPLITS = 200
FIGURE = Path("docs/relevance-reliability.svg")


class Stored:
    """The encoder's vectors, looked up by their number."""

    identity = "stored"

    def __init__(self, vectors: NDArray[np.float16]) -> None:
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [self._vectors[int(text)].astype(np.float32) for text in texts]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False for _ in texts]


class Scored(NamedTuple):
    """Scores of replies, whether each is the true one, and its conversation."""

    values: Floats
    true: NDArray[np.bool_]
    conversation: NDArray[np.int64]


def scored(data: Path, bundle: Path, count: int) -> Scored:
    """Score true replies of held-out conversations, and as many random ones of their corpora."""
    store = VectorStore(WORK / "vectors")
    dialogues = list(read_dialogues(data))
    allowed = texts_of(dialogues, evaluated_texts(data))
    index = {text: place for text, place in store.index.items() if text in allowed}
    plain, _ = collect(dialogues, index, CORPORA)
    valid = plain.where(plain.held_out)
    rng = np.random.default_rng(1)
    rows = np.sort(rng.permutation(len(valid.reply))[:count])
    vectors = store.matrix()
    false = draw_negatives(valid, rows, Mix(), vectors, rng)
    opened = open_bundle(bundle)
    head = PairHead(opened, read_settings(opened, PairSettings), Stored(vectors))
    histories = [tuple(str(i) for i in row if i >= 0) for row in valid.history[rows]]
    pairs = [
        Pair(history, str(reply))
        for replies in (valid.reply[rows], false)
        for history, reply in zip(histories, replies, strict=True)
    ]
    return Scored(
        np.array(head.classify(pairs)),
        np.repeat([True, False], len(rows)),
        np.tile(valid.conversation[rows], 2),
    )


def by_band(replies: Scored) -> list[tuple[float, Estimate]]:
    """Return mean score and share of true replies of each band that has enough of them."""
    bands = np.minimum((replies.values * BANDS).astype(int), BANDS - 1)
    return [
        (
            float(replies.values[bands == band].mean()),
            mean(
                replies.true[bands == band].astype(float),
                groups=replies.conversation[bands == band],
            ),
        )
        for band in range(BANDS)
        if (bands == band).sum() >= LEAST
    ]


def distance(replies: Scored) -> float:
    """Return how far score and share lie apart in a band, on average over the replies."""
    shares = by_band(replies)
    weights = [share.n for _, share in shares]
    return float(np.average([abs(value - share.value) for value, share in shares], weights=weights))


def coverage(replies: Scored) -> float:
    """Return how often the 95 % band of one half's shares holds the share of the other half."""
    rng = np.random.default_rng(0)
    talks = np.unique(replies.conversation)
    held = tried = 0
    for _ in range(SPLITS):
        first = np.isin(replies.conversation, talks[rng.random(len(talks)) < 0.5])
        bands = np.minimum((replies.values * BANDS).astype(int), BANDS - 1)
        for band in range(BANDS):
            first_half, other = (
                replies.true[first & (bands == band)],
                replies.true[~first & (bands == band)],
            )
            if min(len(first_half), len(other)) < LEAST:
                continue
            share = (first_half.sum() + 1) / (len(first_half) + 2)
            spread = np.sqrt(share * (1 - share) * (1 / len(first_half) + 1 / len(other)))
            held += abs(other.mean() - share) <= 1.96 * spread
            tried += 1
    return held / tried


def drawing(replies: Scored) -> str:
    """Return the plot: share of true replies over score, with intervals and the diagonal."""
    side, edge = 240, 40

    def x(value: float) -> str:
        return f"{edge + side * value:.1f}"

    def y(value: float) -> str:
        return f"{edge / 2 + side * (1 - value):.1f}"

    marks = [
        f'<line x1="{x(0)}" y1="{y(0)}" x2="{x(1)}" y2="{y(1)}" stroke="#999" '
        f'stroke-dasharray="4 3"/>',
        f'<rect x="{x(0)}" y="{y(1)}" width="{side}" height="{side}" fill="none" stroke="#555"/>',
    ]
    for value, share in by_band(replies):
        low, high = share.interval or (share.value, share.value)
        marks.append(
            f'<line x1="{x(value)}" y1="{y(low)}" x2="{x(value)}" y2="{y(high)}" '
            f'stroke="#1f6f8b" stroke-width="2"/>'
        )
        marks.append(f'<circle cx="{x(value)}" cy="{y(share.value)}" r="4" fill="#1f6f8b"/>')
    for tick in (0.0, 0.5, 1.0):
        marks.append(f'<text x="{x(tick)}" y="{y(-0.07)}" text-anchor="middle">{tick:g}</text>')
        marks.append(f'<text x="{edge - 8}" y="{y(tick - 0.02)}" text-anchor="end">{tick:g}</text>')
    marks.append(
        f'<text x="{x(0.5)}" y="{y(-0.14)}" text-anchor="middle">relevance</text>'
        f'<text x="{x(0.03)}" y="{y(0.93)}">share of true replies</text>'
    )
    body = "\n".join(marks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side + 2 * edge} '
        f'{side + 1.6 * edge:.0f}" font-family="sans-serif" font-size="12" role="img">\n'
        f"<title>Share of true replies by relevance, with 95 % intervals</title>\n"
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--count", type=int, default=3000, help="true replies")
    parser.add_argument("--bundle", type=Path, default=MODELS / "relevance", help="the model")
    options = parser.parse_args()
    replies = scored(options.data, options.bundle, options.count)
    for value, share in by_band(replies):
        print(f"score {value:.3f}: {share}")
    print(
        f"mean distance {distance(replies):.4f}, n {len(replies.values):,} replies of "
        f"{len(np.unique(replies.conversation)):,} held-out conversations; the band of one half "
        f"holds the other's share in {coverage(replies):.1%}"
    )
    FIGURE.write_text(drawing(replies), "utf-8")


if __name__ == "__main__":
    main()
