"""Measures the shipped generator and writes the figures of its card. Run once, after all choices.

python -m grice_research.recipes.generator.evaluate [--data ../shared/data]
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from grice.knowledge.generative import GenerativeKnowledge
from grice.models.models import Models
from grice.records import Triple
from grice_research.benches import atomic2020
from grice_research.context import BenchContext
from grice_research.places import MODELS
from grice_research.recipes.generator.bundle import open_knowledge
from grice_research.recipes.generator.data import material
from grice_research.recipes.generator.train import WORK
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.card import Measured, write_quality
from grice_research.recipes.plausibility.data import ACCENT
from grice_research.recipes.plausibility.evaluate import read_population
from grice_research.recipes.plausibility.measure import auc, interval, weighted

COMMAND = "python -m grice_research.recipes.generator.evaluate --data ../shared/data"
KEPT = WORK / "quality"
TIMED = 200
"""Triples in a timing."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--bundle", type=Path, default=MODELS / "comet")
    parser.add_argument("--part", choices=list(PARTS), help="measure this alone")
    arguments = parser.parse_args()
    knowledge = open_knowledge(arguments.bundle)
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in [arguments.part] if arguments.part else PARTS:
        figures = PARTS[name](knowledge, arguments.data)
        (KEPT / f"{name}.json").write_text(json.dumps(figures), "utf-8")
        for figure in figures:
            print(
                f"{figure.on} | {figure.measure}: {figure.value:.3f} "
                f"[{figure.low:.3f}, {figure.high:.3f}], n {figure.n} {figure.note}",
                flush=True,
            )
    kept = [KEPT / f"{name}.json" for name in PARTS if (KEPT / f"{name}.json").exists()]
    measured = [Measured(*row) for path in kept for row in json.loads(path.read_text("utf-8"))]
    write_quality(arguments.bundle, measured, COMMAND)


def held_out(knowledge: GenerativeKnowledge, data: Path) -> list[Measured]:
    """Perplexity of a piece on heads that were held out, with and without the head."""
    heads = material(data).validation
    triples = [Triple(head.text, relation, tail) for head in heads for relation, tail in head.tails]
    likelihoods = knowledge.likelihoods(triples)
    groups = np.array([head.text for head in heads for _ in head.tails])
    kept = np.array([likelihood is not None for likelihood in likelihoods])
    values = np.array([likelihood for likelihood in likelihoods if likelihood is not None])
    _, codes = np.unique(groups[kept], return_inverse=True)
    sums = np.stack([np.bincount(codes, values[:, i]) for i in (0, 1)])
    sizes = np.bincount(codes)
    drawn = np.random.default_rng(0).integers(0, len(sizes), (2000, len(sizes)))
    figures = []
    for i, title in enumerate(("", ", head hidden (floor)")):
        value = float(np.exp(-sums[i].sum() / sizes.sum()))
        draws = np.exp(-sums[i][drawn].sum(1) / sizes[drawn].sum(1))
        low, high = np.quantile(draws, [0.025, 0.975])
        figures.append(
            Measured(
                "heads held out",
                f"perplexity of a word piece, tails counting alike{title}",
                value,
                float(low),
                float(high),
                len(values),
                f"{len(sizes)} heads",
            )
        )
    return figures


def population(knowledge: GenerativeKnowledge, data: Path) -> list[Measured]:
    figures = []
    for part, on in (
        ("dev", "CSKB Population dev (calibrated on it)"),
        ("tst", "CSKB Population test"),
    ):
        triples, labels, names = read_population(data, part)
        scores = np.array(knowledge.plausibility(triples))
        for title, chosen in (
            ("all relations", np.ones(len(names), bool)),
            ("ACCENT's 12", np.isin(names, ACCENT)),
        ):
            columns = (scores[chosen], labels[chosen], names[chosen])
            for kind, measure in (
                ("relation-weighted", weighted),
                ("pooled", lambda s, y, _: auc(s, y)),
            ):
                value = interval(measure, *columns, rounds=300)
                n = int(chosen.sum())
                figures.append(Measured(on, f"{kind} AUC, {title}", *value, n))
    return figures


def bench(_: GenerativeKnowledge, data: Path) -> list[Measured]:
    models = Models(mode="exact", workers=1, cache=None)
    context = BenchContext(data, lambda _: (None, {}), (), models=lambda: models)
    figures = []
    for row in atomic2020.measure(context):
        if row.estimate is None or not row.row.startswith("generated"):
            continue
        estimate = row.estimate
        figures.append(
            Measured(
                "ATOMIC-2020 test queries with COMET-BART output",
                f"{row.measure}: {row.row}",
                estimate.value,
                estimate.low,
                estimate.high,
                estimate.n,
            )
        )
    models.close()
    return figures


def speed(knowledge: GenerativeKnowledge, data: Path) -> list[Measured]:
    """Print seconds of one core per query, for events nobody kept; no figure of the card."""
    triples, _, _ = read_population(data, "dev")
    chosen = triples[:: len(triples) // TIMED][:TIMED]
    heads, relations = [t.head for t in chosen], [t.relation for t in chosen]
    knowledge.tails(heads[:5], relations[:5], 3)
    for k in (3, 8):
        for size in (5, 50):
            start = time.process_time()
            for at in range(0, len(heads), size):
                knowledge.tails(heads[at : at + size], relations[at : at + size], k)
            spent = (time.process_time() - start) / len(heads)
            print(
                f"beam {k + 2}, batches of {size}: {1000 * spent:.2f} ms a query, "
                f"{k / spent:.0f} tails a second"
            )
    start = time.process_time()
    knowledge.plausibility(chosen)
    spent = (time.process_time() - start) / len(chosen)
    print(f"plausibility: {1000 * spent:.2f} ms a triple")
    return []


PARTS = {"speed": speed, "held-out": held_out, "population": population, "atomic2020": bench}


if __name__ == "__main__":
    main()
