"""Packs the default heads into the bundle ``triplets``.

PYTHONPATH=src:. python -m recipes.triplets.pack [--seed 0]
"""

# ruff: noqa: E501 - the card is written as it will stand
from __future__ import annotations

import argparse
import json
import pickle
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
from recipes.triplets.data import WORK
from recipes.triplets.weak import RULES

from grice.evaluation.trained import record_texts
from grice.runtime.bundle import file_sha256
from grice.triplets.find import near_pairs
from grice.triplets.heads import LinkHead, LinkHeads, Sides
from grice.triplets.structure import layout_of

CARD = """name = "triplets"
kind = "triplet-heads"
version = "1"
summary = "Which stretches of a conversation are linked, and by which of CIDER's relations."
licence = "CC-BY-SA-4.0"
encoder = "encoder"
inputs = "two stretches of a conversation that was read once: mean token states, and how they stand to each other"
outputs = "three numbers per relation: log odds that it is entailed, how good the tail is among several, which relation it is"

[training]
data = ["ConceptNet-100K train (CC BY-SA 4.0)", "COPA-SSE dev, rated 3.5 or more (MIT)", "persuasion_for_good (Apache-2.0), casino (CC BY 4.0), topical_chat valid_freq, valid_rare (CDLA-Sharing 1.0): 230 conversations, labels: connectives between neighbouring spans, and pairs that ConceptNet holds"]
selection = ["weakly labelled conversations and knowledge held out: epoch"]
excluded = "conversations with a turn of over 20 letters that stands in CIDER: {dropped}; nothing of CIDER was looked at to fit or choose"
command = "PYTHONPATH=src:. python -m recipes.triplets.links --fold 0 --rows weak.npz --inputs context --name _weak --epochs 4 --most 30000 --seed {seed}"
seeds = [0, 1]

[settings]
level = {level:.4f}
levels = {levels}

[files]
"links.npz" = "{digest}"
"""


SHARE = 0.02
"""Of the pairs that a relation can hold between, those that are above its level."""
CONVERSATIONS = 60
FEWEST = 20
"""Connectives in talk that a relation was learned from at least; another is never reported."""
NEVER = 50.0


def relation_levels(path: Path) -> list[float]:
    """Return for each relation the log odds that only few pairs of clean talk are above."""
    links = LinkHeads([LinkHead(path)])
    rows = pickle.loads((WORK / "weak_0.pkl").read_bytes())[:CONVERSATIONS]
    odds = []
    for _, joined, places, vectors in rows:
        pairs = near_pairs(joined, places)
        spans = [joined.text[a:b] for a, b in places]
        sides = Sides(layout_of(joined.text), spans, places, vectors.astype(np.float32))
        odds.append(links(sides, pairs)[:, 0])
    found = np.quantile(np.concatenate(odds), 1 - SHARE, axis=0)
    shown = {relation for _, relation, _ in RULES} | {"CausesDesire"}
    counts = json.loads((WORK / "weak.json").read_text())["talk"]
    return [
        round(float(level), 3) if name in shown and counts.get(name, 0) >= FEWEST else NEVER
        for name, level in zip(links.relations, found, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    out = Path(str(files("grice"))) / "data" / "bundles" / "triplets"
    out.mkdir(parents=True, exist_ok=True)
    trained = WORK / f"links_weak_0_{seed}"
    shutil.copy(trained.with_suffix(".npz"), out / "links.npz")
    level = json.loads(trained.with_suffix(".json").read_text())["level"]
    dropped = json.loads((WORK / "weak.json").read_text())["dropped"]
    digest = file_sha256(out / "links.npz")
    (out / "card.toml").write_text(
        CARD.format(
            dropped=dropped,
            seed=seed,
            level=level,
            digest=digest,
            levels=relation_levels(out / "links.npz"),
        ),
        "utf-8",
    )
    record_texts(out, json.loads((WORK / "weak_texts.json").read_text()))


if __name__ == "__main__":
    main()
