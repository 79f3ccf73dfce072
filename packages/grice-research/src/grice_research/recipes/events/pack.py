"""Put the trained head and its card into the package.

python -m grice_research.recipes.events.pack
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

from grice.models.bundle import shipped_bundles, write_card
from grice_research.recipes.events.states import WORK, split_of
from grice_research.training_texts import record_texts

DATA = (
    "topical_chat valid_freq, valid_rare (CDLA-Sharing 1.0)",
    "persuasion_for_good (Apache-2.0)",
    "synthetic_persona_chat valid (CC BY 4.0)",
    "casino train, valid (CC BY 4.0)",
    "convai2017 without amt50 (Apache-2.0)",
    "pd_fiction plays and conversations, train (US public domain)",
    "star (MIT)",
    "labels: rules over the parses of spaCy's small English model en_core_web_sm 3.8 (MIT)",
)
SELECTION = (
    "span F1 on valid conversations of the training corpora: epoch, seed, amount of data",
    "DECO train: read by eye to mend the rules for labels and for persons",
)


FACTS = {
    "name": "events",
    "kind": "span-head",
    "version": "1",
    "summary": "Spans of events (a predicate with its core arguments) in a turn of talk.",
    "licence": "Apache-2.0",
    "encoder": "encoder",
    "inputs": "a turn: the token states of the encoder, each with its neighbours",
    "outputs": "character spans, each with its probability under the chain of tags",
}


def training(settings: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
    dropped = counts["dropped: stands in an evaluation set"]
    return {
        "data": DATA,
        "selection": SELECTION,
        "excluded": f"{dropped} turns that stand (letters and digits, lower case) in DECO, the "
        f"ConTurE subset or the rated sets, among {counts['evaluated texts']} such texts; "
        f"{counts['turns']} turns were labelled",
        "command": settings["command"],
        "seeds": sorted(int(seed) for seed in settings["seeds"]),
    }


def measured() -> Iterator[dict[str, Any]]:
    """Yield the figures that ``evaluate.py`` has left, to four places."""
    quality = WORK / "quality.json"
    for row in json.loads(quality.read_text()) if quality.exists() else []:
        yield {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}


def learned() -> Iterator[str]:
    """Yield the turns that trained it or chose epoch and seed."""
    for line in (WORK / "labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if split_of(row["conversation"]) < 2:
            yield row["text"]


def main() -> None:
    folder = shipped_bundles()["encoder"].parent / "events"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(WORK / "head.npz", folder / "head.npz")
    settings = json.loads((WORK / "settings.json").read_text())
    counts = json.loads((WORK / "labels.counts.json").read_text())
    kept = {name: settings[name] for name in ("label", "reach", "start", "transitions")}
    write_card(folder, FACTS, training(settings, counts), kept, measured(), files=["head.npz"])
    record_texts(folder, learned())
    print(folder.name, (folder / "head.npz").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
