"""Makes ``extraction-medium``: from which gain on a triple is given.

    grice models get medium
    python -m grice_research.recipes.language_model_places.extraction

That is chosen on replies of DECO's training part, as the threshold of bundle:extraction is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from grice.evaluation.trained import record_selection
from grice.folders import cache_folder
from grice.knowledge.extraction.protocol import KINDS, Exchange, TripleExtractor
from grice.models.bundle import write_card
from grice.models.models import Models
from grice_research.recipes.language_model_places.options import (
    Made,
    Quality,
    measured,
    options_of,
)
from grice_research.recipes.plausibility.measure import auc, interval
from grice_research.recipes.selection import deco_train

if TYPE_CHECKING:
    from pathlib import Path

NAME, BASE, EVENTS = "extraction-medium", "bundle:knowledge-medium", "bundle:events"
COMMAND = "python -m grice_research.recipes.language_model_places.extraction"
SAMPLE = 40
TURN_END = "</UTT>"


def card(made: Made, least: float, quality: Quality) -> None:
    """Write the card of the bundle: a nat is worth one of log odds."""
    facts = {
        "name": made.name,
        "kind": "likelihood-extractor",
        "version": "1",
        "summary": f"Triples of events in a reply, by which event makes which likelier to "
        f"{made.base}",
        "licence": "Apache-2.0",
        "inputs": "a reply and the turn before it: the events that the bundle `events` finds",
        "outputs": "at most one triple for each of ACCENT's 12 relations, with a confidence 0 to 1",
    }
    training = {
        "data": ["nothing but one number"],
        "selection": [f"DECO train, {made.sample} replies (one number)"],
        "excluded": "nothing",
        "command": COMMAND,
    }
    settings = {"parts": [made.base, EVENTS], "weight": 1.0, "bias": 0.0, "least": least}
    write_card(made.folder, facts, training, settings, quality, files=())


def replies(data: Path, count: int) -> list[tuple[Exchange, set[str]]]:
    """Return so many replies with the relations people found in them."""
    lines = (data / "accent_deco" / "deco_train.jsonl").read_text("utf-8").splitlines()
    rows = sorted(map(json.loads, lines), key=lambda row: crc32(row["response"].encode()))
    chosen = []
    for row in rows[:count]:
        history = [turn.strip() for turn in row["history"].split(TURN_END) if turn.strip()]
        relations = {triple[1] for kind in KINDS for triple in row[f"tuples_{kind}"]}
        chosen.append((Exchange(tuple(history[-1:]), row["response"]), relations))
    return chosen


def main() -> None:
    made = options_of(__doc__, NAME, BASE, sample=SAMPLE)
    card(made, 0.5, [])
    chosen = replies(made.data, made.sample)
    with Models(mode="fast", workers=1, cache=cache_folder()) as models:
        extractor = models.open(f"file:{made.folder}", TripleExtractor)
        extractions = extractor.extract([exchange for exchange, _ in chosen], least=0.0)
    cells = [
        (triple.confidence, triple.relation in relations)
        for extraction, (_, relations) in zip(extractions, chosen, strict=True)
        for triple in extraction.triples
    ]
    confidences, labels = (np.array(column, float) for column in zip(*cells, strict=True))
    gold = sum(len(relations) for _, relations in chosen)
    areas = {"does a cell hold a triple": interval(auc, confidences, labels)}
    f1 = {
        float(bound): 2 * labels[confidences >= bound].sum() / ((confidences >= bound).sum() + gold)
        for bound in np.unique(confidences)
    }
    least = max(f1, key=lambda bound: f1[bound])
    quality = measured("DECO train, cells that may hold a triple", areas, len(cells), COMMAND)
    card(made, float(np.floor(least * 1e4) / 1e4), quality)
    record_selection(made.folder, deco_train(made.data))


if __name__ == "__main__":
    main()
