"""The research variant: the weights of the cues fitted on DECO's training part; never shipped.

    python -m grice_research.recipes.extraction.research [--data ../shared/data]

Prints cross-validated figures for the hand-written weights and for fitted ones at several
strengths, folds by conversation, three seeds, and writes the chosen one to ``work/research``, which
``evaluate.py --bundle weights/extraction/research`` measures. Replies whose
history stands in DECO test are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grice.evaluation.trained import record_texts
from grice.knowledge.extraction.candidates import FEATURES
from grice.knowledge.extraction.cues import cue_weights, read_cues
from grice.knowledge.extraction.protocol import RELATIONS
from grice_research.places import work_folder
from grice_research.recipes.extraction.deco import (
    NOTHING,
    RATE,
    cells,
    folds,
    replies,
    summary,
    without_shared,
)
from grice_research.recipes.extraction.pack import HERE, SLOPE, bases, log_odds, scaled, write
from grice_research.recipes.extraction.pairs import Pairs, best, likeness, read
from grice_research.recipes.options import parser_of
from grice_research.surface import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_research.recipes.extraction.deco import Cells

STRENGTHS = (3.0, 10.0, 30.0, 100.0)
CHOSEN = 100.0
"""How hard the fitted weights are held to their start: picked by the recall printed here."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=work_folder("extraction") / "research")
    arguments = parser.parse_args()
    train = without_shared(
        replies(arguments.data, "deco_train"), replies(arguments.data, "deco_test")
    )
    known = cells(train)
    by_reply = read([reply.exchange for reply in train], [reply.gold for reply in train])
    start = cue_weights(read_cues(HERE / "cues.toml").weights, HERE / "cues.toml").astype(float)
    print(f"{len(train)} replies, {known.positive.sum()} cells, asked {known.asked.sum()}")

    scores, chosen = best(by_reply, start)
    odds = standard(scores)
    print(f"by hand: {summary(odds, likeness(by_reply, chosen, train), known)}")
    for name, begin in (("hand", start), ("nothing", np.zeros_like(start))):
        for strength in STRENGTHS:
            for seed in range(3):
                part = folds(train, 5, seed)
                values, like = held_out(by_reply, train, known, begin, strength, part)
                print(f"from {name}, strength {strength}, seed {seed}: "
                      f"{summary(values, like, known)}", flush=True)  # fmt: skip

    weights = fitted(by_reply, known, start, CHOSEN, np.arange(len(train)))
    scores, _ = best(by_reply, weights)
    scale = scaled(by_reply, weights, bases(scores, known, train))
    least = float(1 / (1 + np.exp(-np.quantile(log_odds(scores, scale), 1 - RATE))))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    cues = arguments.out.parent / "research.toml"
    cues.write_text(as_toml(weights), "utf-8")
    note = f"{len(train)} replies of DECO train, research only, not to be shipped"
    write(arguments.out, cues, scale, least, note)
    record_texts(arguments.out, (t for r in train for t in (*r.exchange.history, r.exchange.reply)))


def standard(scores: np.ndarray) -> np.ndarray:
    """Make the scores of relations comparable, each by its own mean and spread."""
    plain = {}
    for column, name in enumerate(RELATIONS):
        some = scores[scores[:, column] > NOTHING, column]
        plain[name] = Scale(float(some.mean()), float(some.std()), 0.0, SLOPE)
    return log_odds(scores, plain)


def held_out(
    by_reply: Sequence[Pairs],
    train: Sequence[object],
    known: Cells,
    start: np.ndarray,
    strength: float,
    part: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return standard scores and BLEU-2 of cells by weights that have not seen their fold."""
    values = np.full(known.positive.shape, float(NOTHING))
    like = np.full(values.shape, np.nan)
    for fold in range(part.max() + 1):
        rows = np.flatnonzero(part == fold)
        weights = fitted(by_reply, known, start, strength, np.flatnonzero(part != fold))
        scores, chosen = best(by_reply, weights)
        values[rows] = standard(scores)[rows]
        like[rows] = likeness(by_reply, chosen, train)[rows]  # type: ignore[arg-type]
    return values, like


def fitted(
    by_reply: Sequence[Pairs],
    known: Cells,
    start: np.ndarray,
    strength: float,
    rows: np.ndarray,
    rounds: int = 2,
) -> np.ndarray:
    """Fit the weights of each relation, held to their start, by logistic regression.

    A cell is its best pair under the weights so far; in people's cells it is the pair most like
    what they wrote.
    """
    weights = start.copy()
    for _ in range(rounds):
        _, chosen = best(by_reply, weights)
        for column in range(len(RELATIONS)):
            features, labels = [], []
            for i in rows:
                if known.asked[i, column] and chosen[i, column] >= 0:
                    yes = known.positive[i, column]
                    like = np.where(
                        by_reply[i].allowed[:, column], by_reply[i].likeness[:, column], -1
                    )
                    number = like.argmax() if yes else chosen[i, column]
                    features.append(by_reply[i].features[number])
                    labels.append(float(yes))
            weights[:, column] = regressed(
                np.array(features, float), np.array(labels), start[:, column], strength
            )
    return weights


def regressed(
    features: np.ndarray, labels: np.ndarray, start: np.ndarray, strength: float
) -> np.ndarray:
    moved = np.zeros(len(start))
    bias = 0.0
    for _ in range(8):
        logits = np.clip(features @ (start + moved) + bias, -30, 30)
        p = 1 / (1 + np.exp(-logits))
        bias += (labels - p).sum() / max(1e-3, (p * (1 - p)).sum())
        slope = features.T @ (p - labels) + strength * moved
        curve = (features.T * (p * (1 - p))) @ features + strength * np.eye(len(start))
        moved -= np.linalg.solve(curve, slope)
    return np.asarray(start + moved)


def as_toml(weights: np.ndarray) -> str:
    lines = []
    for column, name in enumerate(RELATIONS):
        lines.append(f"[weights.{name}]")
        lines += [
            f'"{feature}" = {value:.4f}'
            for feature, value in zip(FEATURES, weights[:, column], strict=True)
            if abs(value) >= 0.00005
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
