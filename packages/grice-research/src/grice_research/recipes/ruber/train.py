"""Fit the grid of RUBER's unreferenced networks and measure it on the 300 generated replies.

    python -m grice_research.recipes.ruber.train --data DATA  # licence-clean pairs
    python -m grice_research.recipes.ruber.train --data DATA --research  # DailyDialog, as published
    python -m grice_research.recipes.ruber.train --data DATA --cells "max|mean"
    python -m grice_research.recipes.ruber.train --data DATA --pairs 400 --epochs 2 --seeds 1

Written is one line a cell and seed, ``work/grid.jsonl``; a cell that stands there is not fitted
again. Nothing is chosen by these figures: every cell is printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.stats import correlation
from grice_research.places import work_folder
from grice_research.recipes.relevance.corpora import evaluated_texts, normalise, read_dialogues
from grice_research.recipes.ruber.config import GRID, Configuration
from grice_research.recipes.ruber.model import fit, score
from grice_research.recipes.ruber.words import learn_vectors, read_vectors, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Pairs = tuple[list[str], list[str]]
    Tokens = list[NDArray[np.float32]]

WORK = work_folder("ruber")
SHORT = 30
"""Words of the longest text that is used; longer ones are cut by the published model too."""


def pairs_of(data: Path, count: int, *, research: bool) -> tuple[Pairs, Pairs]:
    """Return training and validation pairs, disjoint turns as published, a tenth held out.

    No text of an evaluated set is among them.
    """
    evaluated = evaluated_texts(data)
    sources = {"dailydialog"} if research else {"topical_chat", "persuasion_for_good", "plays",
                                                "casino", "synthetic_persona_chat"}  # fmt: skip
    train: list[tuple[str, str]] = []
    valid: list[tuple[str, str]] = []
    for number, dialogue in enumerate(read_dialogues(data, research=research)):
        if dialogue.source not in sources:
            continue
        for query, reply in list(pairwise(dialogue.turns))[::2]:
            seen = normalise(query) in evaluated or normalise(reply) in evaluated
            if not seen and max(len(query.split()), len(reply.split())) <= SHORT:
                (valid if number % 10 == 0 else train).append((query, reply))
    rng = np.random.default_rng(0)
    return _drawn(train, count, rng), _drawn(valid, max(100, count // 10), rng)


def _drawn(pairs: list[tuple[str, str]], count: int, rng: np.random.Generator) -> Pairs:
    kept = rng.permutation(len(pairs))[:count]
    return [pairs[i][0] for i in kept], [pairs[i][1] for i in kept]


class Embedded:
    """Token vectors of texts under both embeddings."""

    def __init__(self, texts: Sequence[str], static: Path | None) -> None:
        words = {word for text in texts for word in words_of(text)}
        self._words = read_vectors(static, words) if static else learn_vectors(texts)
        self._encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)

    def __call__(self, texts: Sequence[str], embedding: str) -> Tokens:
        """Return one array of shape ``(tokens, d)`` a text."""
        if embedding == "static":
            return [self._static(text) for text in texts]
        distinct = list(dict.fromkeys(texts))
        hidden = self._encoder.hidden(distinct)
        states = {
            text: states.states.astype(np.float16)
            for text, (states, _) in zip(distinct, hidden, strict=True)
        }
        return [states[text] for text in texts]

    def _static(self, text: str) -> NDArray[np.float32]:
        known = [self._words[word] for word in words_of(text) if word in self._words]
        size = len(next(iter(self._words.values())))
        return np.stack(known) if known else np.zeros((1, size), np.float32)


def rated(data: Path) -> tuple[Pairs, list[float]]:
    """Return the 300 generated replies of the thesis and the means of their ratings."""
    with gzip.open(data / "predictive_engagement/rated_600.jsonl.gz", "rt") as lines:
        rows = [row for line in lines if (row := json.loads(line))["set"] == "generated"]
    pairs = [row["query"] for row in rows], [row["reply"] for row in rows]
    return pairs, [float(np.mean(row["ratings"])) for row in rows]


def run(options: argparse.Namespace) -> None:
    """Fit every cell with every seed and write its figures."""
    train, valid = pairs_of(options.data, options.pairs, research=options.research)
    test, human = rated(options.data)
    embedded = Embedded([*train[0], *train[1]], options.static)
    WORK.mkdir(exist_ok=True)
    log = WORK / ("grid_research.jsonl" if options.research else "grid.jsonl")
    done = {_key(row) for row in map(json.loads, log.read_text().splitlines())} if (
        log.exists()) else set()  # fmt: skip
    print(f"{len(train[0]):,} training pairs, {len(valid[0]):,} held out", flush=True)
    parts: dict[str, list[tuple[Tokens, Tokens]]] = {}
    for cell in GRID:
        if not re.search(options.cells, cell.name):
            continue
        configuration = cell._replace(epochs=options.epochs, learning_rate=options.learning_rate)
        for seed in range(options.seeds):
            about = {"cell": cell.name, "seed": seed, "pairs": len(train[0])}
            if _key(about) in done:
                continue
            if cell.embedding not in parts:
                parts = {cell.embedding: _embed(embedded, (train, valid, test), cell.embedding)}
            row = about | _figures(parts[cell.embedding], human, configuration, seed)
            with log.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


def _embed(
    embedded: Embedded, sets: Sequence[Pairs], embedding: str
) -> list[tuple[Tokens, Tokens]]:
    return [(embedded(q, embedding), embedded(r, embedding)) for q, r in sets]


def _figures(
    parts: list[tuple[Tokens, Tokens]], human: list[float], configuration: Configuration, seed: int
) -> dict[str, Any]:
    train, valid, test = parts
    fitted = fit(train, valid, configuration, seed)
    values = score(fitted.network, test, configuration)
    figures: dict[str, Any] = {"valid_loss": min(fitted.losses), "epochs": len(fitted.losses)}
    for measure in ("pearson", "spearman"):
        estimate = correlation(values, human, kind=measure)
        figures[measure] = {
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "n": estimate.n,
        }
    return figures


def _key(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["cell"], row["seed"], row["pairs"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--research", action="store_true", help="DailyDialog, which may not ship")
    parser.add_argument("--static", type=Path, help="word2vec or GloVe vectors as a text file")
    parser.add_argument("--cells", default="", metavar="PATTERN", help="only these cells")
    parser.add_argument("--pairs", type=int, default=22_000)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    torch.set_num_threads(1)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
