"""Makes ``knowledge-medium``: examples of every relation, and what likelihoods are worth.

    grice models get medium
    python -m grice_research.recipes.language_model_places.knowledge

Examples are training triples (ATOMIC, ATOMIC-2020). The two weights are fitted on a sample of the
development part of CSKB Population, within relations, in the mode ``fast``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from grice.evaluation.trained import record_selection, record_texts
from grice.folders import cache_folder
from grice.knowledge.protocols import TailProbabilities
from grice.knowledge.schema import load_schema
from grice.models.bundle import write_card
from grice.models.models import Models
from grice.records import Triple
from grice_research.recipes.generator.data import material
from grice_research.recipes.language_model_places.options import (
    Made,
    Quality,
    measured,
    options_of,
)
from grice_research.recipes.plausibility.evaluate import read_population
from grice_research.recipes.plausibility.measure import interval, weighted
from grice_research.training.logistic import fit_logistic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "knowledge-medium"
COMMAND = "python -m grice_research.recipes.language_model_places.knowledge"
EACH = 5
"""Examples of a relation."""
WORDS = 7
"""Longest head and tail of an example."""
SAMPLE = 300
"""Triples of the development part that the weights are fitted on."""
PENALTY = 0.003
MIXTURES = {
    "likelihood": np.array([[1.0], [0.0]]),
    "gain": np.array([[1.0], [-1.0]]),
    "both": np.eye(2),
}
"""Of the likelihood of a tail after its head and that without a head."""


def examples(data: Path) -> list[Triple]:
    """Return known triples of every relation, drawn by the hash of their heads."""
    schema = load_schema("atomic2020")
    heads = sorted(material(data).training, key=lambda head: crc32(head.text.encode()))
    chosen: dict[str, list[Triple]] = {name: [] for name in schema.relations}
    for head in heads:
        for relation, tail in head.tails:
            some = chosen[relation]
            about_people = "Person" in schema[relation].gloss
            if (
                len(some) < EACH
                and max(len(head.text.split()), len(tail.split())) <= WORDS
                and "_" not in head.text + tail
                and head.text.startswith("PersonX ") >= about_people
                and all(head.text != other.head for other in some)
            ):
                some.append(Triple(head.text, relation, tail))
    return [triple for some in chosen.values() for triple in some]


def sample(data: Path, count: int) -> tuple[list[Triple], np.ndarray, np.ndarray]:
    """Return so many triples of the development part with labels and relations."""
    triples, labels, names = read_population(data, "dev")
    order = sorted(range(len(triples)), key=lambda i: crc32(repr(triples[i]).encode()))[:count]
    return [triples[i] for i in order], labels[order], names[order]


def fitted(values: np.ndarray, labels: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return the weights of likelihoods in a logistic model with a level for each relation."""
    levels = names[:, None] == np.unique(names)[None, :]
    model = fit_logistic(np.hstack([values, levels]), labels, penalties=PENALTY)
    return model.weights[: values.shape[1]]


def calibrated(
    folder: Path, triples: list[Triple], labels: np.ndarray, names: np.ndarray
) -> tuple[dict[str, float], Quality]:
    """Return the weights of the likelihoods that rank the sample best, and how well each does."""
    with Models(mode="fast", workers=1, cache=cache_folder()) as models:
        likelihoods = models.open(f"file:{folder}", TailProbabilities).likelihoods(triples)
    kept = np.array([likelihood is not None for likelihood in likelihoods])
    values = np.array([likelihood for likelihood in likelihoods if likelihood is not None])
    labels, names = labels[kept], names[kept]
    best = (0.0, np.zeros(2))
    areas = {}
    for title, mixed in MIXTURES.items():
        weights = mixed @ fitted(values @ mixed, labels, names)
        areas[title] = interval(weighted, values @ weights, labels, names, rounds=300)
        best = max(best, (areas[title][0], weights), key=lambda pair: pair[0])
    given, usual = best[1].tolist()
    bias = -float(np.median(values @ best[1]))
    settings = {"given": round(given, 4), "usual": round(usual, 4), "bias": round(bias, 4)}
    on = "CSKB Population dev, within relations (weighed on it)"
    return settings, measured(on, areas, len(labels), COMMAND)


def card(made: Made, settings: dict[str, float], quality: Quality) -> None:
    """Write the card of the bundle."""
    facts = {
        "name": made.name,
        "kind": "language-model-knowledge",
        "version": "1",
        "summary": f"Tails of ATOMIC-2020's relations, written and judged by {made.base} after "
        "examples",
        "licence": "CC-BY-4.0",
        "inputs": "an event and a relation; or a triple",
        "outputs": "tails by beam search; plausibility 0 to 1, 0.5: that of the median triple of "
        "the sample of CSKB Population dev",
    }
    training = {
        "data": ["the examples: ATOMIC (Sap et al. 2019) and ATOMIC-2020 (Hwang et al. 2021), "
                 "samples of their training parts (CC BY 4.0)"],
        "selection": [f"CSKB Population dev, {made.sample} triples (three numbers)"],
        "excluded": "heads and texts of evaluated sets, as for bundle:comet",
        "command": COMMAND,
    }  # fmt: skip
    stated = {"base": made.base, "schema": "atomic2020", **settings}
    write_card(made.folder, facts, training, stated, quality, files=("examples.tsv",))


def texts(triples: list[Triple]) -> Iterator[str]:
    """Yield heads and tails."""
    for triple in triples:
        yield from (triple.head, triple.tail)


def main() -> None:
    made = options_of(__doc__, NAME, sample=SAMPLE)
    shown = examples(made.data)
    lines = (f"{triple.head}\t{triple.relation}\t{triple.tail}\n" for triple in shown)
    (made.folder / "examples.tsv").write_text("".join(lines), "utf-8")
    card(made, {"given": 1.0, "usual": 0.0, "bias": 0.0}, [])
    triples, labels, names = sample(made.data, made.sample)
    card(made, *calibrated(made.folder, triples, labels, names))
    record_texts(made.folder, texts(shown))
    record_selection(made.folder, texts(triples))


if __name__ == "__main__":
    main()
