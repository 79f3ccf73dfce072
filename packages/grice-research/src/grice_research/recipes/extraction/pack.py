"""Sets the scale of each relation on everyday conversations and writes the bundle ``extraction``.

    python -m grice_research.recipes.extraction.pack [--data ../shared/data]

The cues and what they count are written by hand (``cues.toml``); nothing is fitted. Scores of
different relations become comparable by their mean and spread over replies of conversations that
may train. How often people find a relation where a pair of events can hold it is taken from DECO's
training part, one figure for reactions and one for all others, and moved by how many triples of
the relation people wrote there.
"""

from __future__ import annotations

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grice.knowledge.extraction.cues import cue_weights, read_cues
from grice.knowledge.extraction.protocol import RELATIONS, Exchange
from grice.models.bundle import file_sha256
from grice_research.places import MODELS
from grice_research.recipes.extraction.deco import (
    NOTHING,
    RATE,
    cells,
    replies,
    summary,
)
from grice_research.recipes.extraction.pairs import Pairs, best, likeness, read
from grice_research.recipes.options import parser_of
from grice_research.surface import Scale
from grice_research.training_texts import normalised, record_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.recipes.extraction.deco import Cells, Reply

HERE = Path(__file__).parent
COMMAND = "python -m grice_research.recipes.extraction.pack --data ../shared/data"
SOURCES = {
    "topical_chat/valid_freq": "CDLA-Sharing 1.0",
    "topical_chat/valid_rare": "CDLA-Sharing 1.0",
    "persuasion_for_good/dialogues": "Apache-2.0",
    "synthetic_persona_chat/valid": "CC BY 4.0",
    "convai2017/convai2017": "Apache-2.0",
    "pd_fiction/plays": "US public domain",
    "star/dialogues": "MIT",
}
SLOPE = 0.7
"""Log odds of one standard deviation: that of an area under the curve of about 0.69, which the
cues have on DECO train."""
FREQUENT = 0.6
"""How much the logarithm of a relation's number of triples in DECO train counts, relative to the
mean relation. People went on until a relation had twenty, so that the numbers lie nearer together
than they would; on DECO train 0.3 to 1.0 do as well or better than 0."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--each", type=int, default=150, help="replies of each corpus")
    parser.add_argument("--out", type=Path, default=MODELS / "extraction")
    arguments = parser.parse_args()

    everyday, dropped = sampled(arguments.data, arguments.each)
    print(f"{len(everyday)} everyday replies; {dropped} dropped for an evaluated text")
    train = replies(arguments.data, "deco_train")
    known = cells(train)
    weights = cue_weights(read_cues(HERE / "cues.toml").weights, HERE / "cues.toml")
    pairs = read([reply.exchange for reply in train], [reply.gold for reply in train])
    scores, chosen = best(pairs, weights)
    scale = scaled(read(everyday), weights, bases(scores, known, train))
    odds = log_odds(scores, scale)
    print(f"DECO train: {summary(odds, likeness(pairs, chosen, train), known)}")
    least = float(1 / (1 + np.exp(-np.quantile(odds, 1 - RATE))))
    counted = f"{len(everyday)} replies; dropped for an evaluated text: {dropped}"
    write(arguments.out, HERE / "cues.toml", scale, least, counted)
    record_texts(
        arguments.out, (t for exchange in everyday for t in (exchange.previous, exchange.reply))
    )


def sampled(data: Path, each: int) -> tuple[list[Exchange], int]:
    """Return replies with the turn before, drawn by a fixed seed, and how many were dropped."""
    evaluated = {normalised(text) for text in evaluated_texts(data)} - {""}
    chosen: list[Exchange] = []
    dropped = 0
    for name in SOURCES:
        kept = []
        for before, reply in exchanges(data / f"{name}.jsonl.gz"):
            if normalised(before) in evaluated or normalised(reply) in evaluated:
                dropped += 1
            elif 5 <= len(reply.split()) <= 60 and before.strip():
                kept.append(Exchange((before,), reply))
        kept = sorted(set(kept))
        random.Random(name).shuffle(kept)
        chosen += kept[:each]
    return chosen, dropped


def exchanges(path: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for conversation in map(json.loads, lines):
            if conversation.get("meta", {}).get("amt50"):
                continue
            turns = conversation["turns"]
            for before, after in pairwise(turns):
                if before.get("speaker") != after.get("speaker"):
                    yield before["text"].strip(), after["text"].strip()


def evaluated_texts(data: Path) -> Iterator[str]:
    files = sorted((data / "accent_deco").glob("*.jsonl")) + sorted((data / "rated").glob("*.gz"))
    for path in files:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            text = lines.read()
        records = (
            [json.loads(text)]
            if path.name.endswith((".json", ".json.gz"))
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
        yield from strings(records)


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.split("</UTT>")
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def bases(scores: np.ndarray, known: Cells, train: list[Reply]) -> dict[str, float]:
    """Return the log odds of each relation where a pair can hold it.

    A pair can hold a reaction only if a mood is told, and then people mostly find one.
    """
    written = np.array(
        [sum(len(reply.gold.get(name, ())) for reply in train) for name in RELATIONS]
    )
    odds = FREQUENT * np.log(written / written.mean())
    for reaction in (False, True):
        columns = [i for i, name in enumerate(RELATIONS) if name.endswith("React") == reaction]
        some = (known.asked & (scores > NOTHING))[:, columns]
        rate = known.positive[:, columns][some].mean()
        odds[columns] += np.log(rate / (1 - rate))
    return {name: round(float(value), 2) for name, value in zip(RELATIONS, odds, strict=True)}


def scaled(pairs: list[Pairs], weights: np.ndarray, base: dict[str, float]) -> dict[str, Scale]:
    """Return the scale of each relation over everyday replies."""
    scores, _ = best(pairs, weights)
    scale = {}
    for column, name in enumerate(RELATIONS):
        some = scores[scores[:, column] > NOTHING, column]
        centre, spread = round(float(some.mean()), 3), round(float(some.std()), 3)
        scale[name] = Scale(centre, spread, base[name], SLOPE)
    return scale


def log_odds(scores: np.ndarray, scale: dict[str, Scale]) -> np.ndarray:
    odds = scores.copy()
    for column, name in enumerate(RELATIONS):
        some = scores[:, column] > NOTHING
        bend = scale[name]
        odds[some, column] = (
            bend.base + bend.slope * (scores[some, column] - bend.centre) / bend.spread
        )
    return odds


def write(out: Path, cues: Path, scale: dict[str, Scale], least: float, counted: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    lines = [cues.read_text("utf-8").rstrip()]
    for name, bend in scale.items():
        lines += ["", f"[scale.{name}]"]
        lines += [f"{field} = {getattr(bend, field)}" for field in bend.__struct_fields__]
    (out / "cues.toml").write_text("\n".join(lines) + "\n", "utf-8")
    data = ", ".join(f'"{name} ({licence})"' for name, licence in SOURCES.items())
    card = [
        'name = "extraction"',
        'kind = "extractor"',
        'version = "1"',
        'summary = "Triples of events in a reply, by the words that relate them."',
        'licence = "Apache-2.0"',
        'encoder = "events"',
        'inputs = "a reply and the turn before it: the events that the bundle `events` finds"',
        "outputs = \"at most one triple for each of ACCENT's 12 relations, each with a confidence "
        '0 to 1: how probable it is that people who are asked for the relation find it"',
        "",
        "[training]",
        f"data = [{data}]",
        'selection = ["DECO train: the cues were written with its triples at hand, and kept or '
        'dropped as a whole by it; the rate of cells that hold a triple, and `least`"]',
        f'excluded = "{counted}"',
        f'command = "{COMMAND}"',
        "seeds = [0]",
        "",
        "[settings]",
        f"least = {least:.4f}",
        "",
        "[files]",
        f'"cues.toml" = "{file_sha256(out / "cues.toml")}"',
    ]
    (out / "card.toml").write_text("\n".join(card) + "\n", "utf-8")


if __name__ == "__main__":
    main()
