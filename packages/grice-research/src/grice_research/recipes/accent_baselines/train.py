"""The trained baselines of ACCENT: a cross-encoder and an MLP regressor, as models.

    python -m grice_research.recipes.accent_baselines.train [--data ../shared/data]

What ships learns from the messages of ConvAI 2017 that people called good or bad.
Training stops where held-out conversations (of DECO train the fifth that the release marks) are
foretold best. Inputs are brought to mean 0 and spread 1, which is then part of the first layer.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from grice.models.folder import write_card
from grice.models.mlp import Mlp
from grice.models.protocols import Pair
from grice.text.verbs import base_form
from grice_research.metrics.rating_models import (
    CountedEdges,
    JoinedTexts,
    read_edges,
    write_edges,
)
from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import (
    Steps,
    exact_encoder,
    layers_of,
    parser_of,
    state_of,
    table_of,
)
from grice_research.recipes.relevance.corpora import evaluated_texts, normalise, read_dialogues
from grice_research.training_texts import record_texts

WORK = work_folder("accent_baselines")
FOLDERS = MODELS
COMMAND = "python -m grice_research.recipes.accent_baselines.train --data ../shared/data"
SEEDS = (0, 1, 2)
EPOCHS = 200
PATIENCE = 20
BATCH = 256


class Baseline(NamedTuple):
    """One of the two."""

    name: str
    reads: str
    hidden: int
    summary: str
    data: str
    licence: str


BASELINES = (
    Baseline("cross-encoder", "texts", 16,
             "The rating a reply is expected to get, from the vectors of history and reply.",
             "", "Apache-2.0"),
    Baseline("mlp-regressor", "edges", 100,
             "The rating a reply is expected to get, from edges of ConceptNet between its words "
             "and those before.",
             "edges: ConceptNet-100K (CC BY-SA 4.0)", "CC-BY-SA-4.0"),
)  # fmt: skip


class Rated(NamedTuple):
    """Replies with their ratings, 0 to 1, and whether each is held out."""

    pairs: list[Pair]
    ratings: np.ndarray
    held_out: np.ndarray


def main() -> None:
    parser = parser_of(__doc__)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    encoder = exact_encoder()
    rated, dropped = convai(arguments.data)
    print(f"{len(rated.pairs)} replies, {rated.held_out.sum()} held out, {dropped} dropped")
    for baseline in BASELINES:
        out = FOLDERS / baseline.name
        out.mkdir(parents=True, exist_ok=True)
        read = JoinedTexts(encoder)
        if baseline.reads == "edges":
            write_edges(out / "edges.txt.gz", concept_edges(arguments.data))
            read = CountedEdges(read_edges(out / "edges.txt.gz"))
        features = np.concatenate(
            [read(rated.pairs[i : i + BATCH]) for i in range(0, len(rated.pairs), BATCH)]
        )
        for seed in SEEDS:
            network, held = fitted(features, rated, baseline.hidden, seed)
            print(f"{baseline.name}, seed {seed}: held-out correlation {held:.3f}", flush=True)
            if seed == SEEDS[0]:
                network.save(out / "head.npz")
        describe(out, baseline, rated, dropped)
        record_texts(out, (text for pair in rated.pairs for text in (*pair.left, pair.right)))


def convai(data: Path) -> tuple[Rated, int]:
    """Return the rated messages of ConvAI 2017, without those that stand in an evaluated set."""
    evaluated = evaluated_texts(data)
    messages = [
        (Pair(message.history, message.text), float(message.good), talk.held_out)
        for talk in read_dialogues(data)
        for message in talk.rated
    ]
    kept = [row for row in messages if normalise(row[0].right) not in evaluated]
    pairs, ratings, held_out = zip(*kept, strict=True)
    rated = Rated(list(pairs), np.array(ratings, np.float32), np.array(held_out))
    return rated, len(messages) - len(kept)


def concept_edges(data: Path) -> set[tuple[str, str]]:
    """Return the pairs of single words that ConceptNet joins, in their base forms."""
    pairs = set()
    for row in table_of(data / "conceptnet/cn100k.tsv.gz"):
        head, tail = row["head"].lower(), row["tail"].lower()
        if head.isalpha() and tail.isalpha() and row["split"] == "train":
            pairs.add((base_form(head), base_form(tail)))
    return {(a, b) for a, b in pairs if a != b}


def fitted(features: np.ndarray, rated: Rated, hidden: int, seed: int) -> tuple[Mlp, float]:
    """Fit one hidden layer by squared error; return it with its held-out correlation."""
    torch.manual_seed(seed)
    held = torch.from_numpy(rated.held_out)
    kept = features[~rated.held_out]
    mean, spread = kept.mean(axis=0), kept.std(axis=0) + 1e-6
    inputs = torch.from_numpy(((features - mean) / spread).astype(np.float32))
    labels = torch.from_numpy(rated.ratings)
    model = nn.Sequential(
        nn.Linear(inputs.shape[1], hidden), nn.ReLU(), nn.Dropout(0.3), nn.Linear(hidden, 1)
    )
    step = Steps(model.parameters(), 1e-3, 0.1)
    best, state, waited = float("inf"), model.state_dict(), 0
    learned = torch.nonzero(~held)[:, 0]
    for _ in range(EPOCHS):
        model.train()
        for rows in learned[torch.randperm(len(learned))].split(BATCH):
            step(((model(inputs[rows])[:, 0] - labels[rows]) ** 2).mean())
        model.eval()
        with torch.no_grad():
            error = float(((model(inputs[held])[:, 0] - labels[held]) ** 2).mean())
        waited = 0 if error < best else waited + 1
        if error < best:
            best, state = error, state_of(model)
        if waited == PATIENCE:
            break
    model.load_state_dict(state)
    with torch.no_grad():
        foretold = model(inputs[held])[:, 0].numpy()
    (weight, bias), last = layers_of(model)
    weight = weight / spread[:, None]
    layers = [(weight, bias - mean @ weight), last]
    return Mlp(layers), float(np.corrcoef(foretold, rated.ratings[rated.held_out])[0, 1])


def describe(out: Path, baseline: Baseline, rated: Rated, dropped: int) -> None:
    learned = "ConvAI 2017, rated messages (Apache-2.0)"
    facts = {
        "name": baseline.name,
        "kind": "rating-regressor",
        "version": "1",
        "summary": baseline.summary,
        "licence": baseline.licence,
        "encoder": "encoder",
        "inputs": "a history and a reply",
        "outputs": "an expected rating, 0 to 1",
    }
    training = {
        "data": [text for text in (learned, baseline.data) if text],
        "selection": [f"{rated.held_out.sum()} held-out replies: when to stop"],
        "excluded": f"messages that stand in an evaluated set: {dropped}",
        "command": COMMAND,
        "seeds": list(SEEDS),
    }
    files = ["head.npz", *(["edges.txt.gz"] if baseline.reads == "edges" else [])]
    write_card(out, facts, training, {"reads": baseline.reads}, files=files)


if __name__ == "__main__":
    main()
