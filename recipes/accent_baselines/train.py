"""The trained baselines of ACCENT, as research: a cross-encoder and an MLP regressor.

    PYTHONPATH=src python -m recipes.accent_baselines.train [--data ../shared/data]

Both learn the ratings of DECO train, which may not train what ships: nothing is written, the
figures are printed. The cross-encoder is a head on the frozen encoder's vectors of history and
reply together and apart (the paper fine-tunes BART-large). The regressor reads, as in the paper,
how many pairs of words of history and reply are joined by one edge and by two edges of ConceptNet,
and the length of the reply; the two losses of DialoGPT-large are left out. Dev is the fifth of
DECO train that the release marks.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from recipes.plausibility.measure import interval, spearman
from torch import nn

from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedEncoder
from grice.text.lexicon import look_up
from grice.text.wordlists import AUXILIARIES, NOT_VERBS

SEEDS = (0, 1, 2)
EPOCHS = 200
PATIENCE = 20
Rows = list[dict]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    data = parser.parse_args().data
    torch.set_num_threads(1)
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    edges = concept_edges(data)
    sets = {name: rows(data, name) for name in ("deco_train", "deco_test", "conture_subset")}
    for title, read, hidden in (
        ("cross-encoder head", lambda part: vectors(part, encoder), 64),
        ("MLP regressor", lambda part: counts(part, edges), 100),
    ):
        features = {name: read(part) for name, part in sets.items()}
        for seed in SEEDS:
            predict = fitted(features["deco_train"], sets["deco_train"], hidden, seed)
            for name in ("deco_test", "conture_subset"):
                human = np.array([row["event_cs"] for row in sets[name]])
                value, low, high = interval(spearman, predict(features[name]), human)
                print(f"{title}, seed {seed}, {name}: Spearman {value:.3f} [{low:.3f}, {high:.3f}],"
                      f" n {len(human)}")  # fmt: skip


def rows(data: Path, name: str) -> Rows:
    text = (data / "accent_deco" / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def turns(row: dict) -> list[str]:
    return [turn.strip() for turn in row["history"].split("</UTT>") if turn.strip()]


def vectors(part: Rows, encoder: EmbeddedEncoder) -> np.ndarray:
    """Return the vectors of the history, the reply, both as one text, and products."""
    history = np.stack(encoder.encode([" ".join(turns(row)) for row in part]))
    reply = np.stack(encoder.encode([row["response"] for row in part]))
    both = np.stack(encoder.encode([" ".join((*turns(row), row["response"])) for row in part]))
    scale = np.float32(np.sqrt(history.shape[1]))
    return np.concatenate([history, reply, both, history * reply * scale], axis=1) * scale


def concept_edges(data: Path) -> dict[str, set[str]]:
    """Return the neighbours of each single word in ConceptNet."""
    found: dict[str, set[str]] = defaultdict(set)
    with gzip.open(data / "conceptnet/cn100k.tsv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            head, tail = row["head"].lower(), row["tail"].lower()
            if " " not in head and " " not in tail:
                found[head].add(tail)
                found[tail].add(head)
    return found


def concepts(text: str) -> list[str]:
    """Return the base forms of the words that carry content."""
    words = ["".join(filter(str.isalpha, word)) for word in text.lower().split()]
    kept = [word for word in words if word and word not in AUXILIARIES | NOT_VERBS]
    return [base(word) for word in kept]


def base(word: str) -> str:
    lemmas = look_up(word).lemmas
    return lemmas[0] if lemmas else word


def counts(part: Rows, edges: dict[str, set[str]]) -> np.ndarray:
    """Return pairs joined by one edge, pairs joined by two, and words of the reply."""
    found = []
    for row in part:
        before = concepts(" ".join(turns(row)))
        said = concepts(row["response"])
        pairs = [(a, b) for a in before for b in said if a != b]
        one = sum(b in edges[a] for a, b in pairs if a in edges)
        two = sum(not edges[a].isdisjoint(edges[b]) for a, b in pairs if a in edges and b in edges)
        # Either direction counts, and every edge here goes both ways.
        found.append((2 * one, 2 * two, len(row["response"].split())))
    return np.log1p(np.array(found, np.float32))


def fitted(
    features: np.ndarray, part: Rows, hidden: int, seed: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Fit one hidden layer by squared error, stopping where the dev replies are predicted best."""
    torch.manual_seed(seed)
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = torch.from_numpy(((features - mean) / spread).astype(np.float32))
    labels = torch.tensor([row["event_cs"] / 5 for row in part], dtype=torch.float32)
    dev = torch.tensor([bool(row["for_dev"]) for row in part])
    model = nn.Sequential(
        nn.Linear(inputs.shape[1], hidden), nn.ReLU(), nn.Dropout(0.3), nn.Linear(hidden, 1)
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    best, kept, waited = float("inf"), model.state_dict(), 0
    for _ in range(EPOCHS):
        model.train()
        loss = ((model(inputs[~dev])[:, 0] - labels[~dev]) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        model.eval()
        with torch.no_grad():
            error = float(((model(inputs[dev])[:, 0] - labels[dev]) ** 2).mean())
        waited = 0 if error < best else waited + 1
        if error < best:
            best, kept = error, {k: v.clone() for k, v in model.state_dict().items()}
        if waited == PATIENCE:
            break
    model.load_state_dict(kept)
    model.eval()

    def predict(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            scaled = torch.from_numpy(((rows - mean) / spread).astype(np.float32))
            return model(scaled)[:, 0].numpy()

    return predict


if __name__ == "__main__":
    main()
