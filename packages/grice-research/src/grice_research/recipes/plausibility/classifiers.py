"""Fits the classifiers that come beside: BERT, KG-BERT and their SAGE variants, on frozen vectors.

    python -m grice_research.recipes.plausibility.classifiers [--data ../shared/data] [--seed 0]

Known triples against mismatched ones: the tail of another head under the same relation (60 %), the
head of another (25 %), another relation (15 %). Neighbours of an event are the tails that its
other triples have; a triple never sees its own tail among them. Writes ``bert.npz``,
``kg_bert.npz``, ``bert_sage.npz`` and ``kg_bert_sage.npz`` beside the other networks, and the sums
into the card.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from grice.knowledge.wording import gloss_text
from grice.models.bundle import file_sha256, open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.mlp import Mlp
from grice_research.places import MODELS, work_folder
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.data import (
    RELATIONS,
    SCHEMA,
    Example,
    held_out,
    population,
    training_examples,
)
from grice_research.recipes.plausibility.measure import auc, weighted
from grice_research.recipes.plausibility.vectors import Vectors

WORK = work_folder("plausibility")
KNOWN = 8_000
"""Known triples that are drawn; as many mismatched ones come with them."""
NETWORKS = ("bert", "kg_bert", "bert_sage", "kg_bert_sage")
SCALE = np.float32(20)
"""As in :mod:`grice.metrics.commonsense.triple_networks`."""


class Drawn(NamedTuple):
    head: str
    relation: str
    tail: str
    label: int
    own: str
    """Tail of the known triple it was made from, which is never a neighbour."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=MODELS / "plausibility")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    examples, _ = training_examples(arguments.data)
    known = [e for e in examples if e.label == 1]
    train = drawn([e for e in known if not held_out(e.group)], KNOWN)
    valid = drawn([e for e in known if held_out(e.group)], 1_000)
    dev = [
        Drawn(r.head, r.relation, r.tail, r.label, "") for r in population(arguments.data, "dev")
    ]
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    vectors, joint = Vectors(WORK / "vectors"), Vectors(WORK / "joint")
    vectors.add((gloss_text(SCHEMA[relation]) for relation in RELATIONS), encoder)
    vectors.add((text for row in dev for text in (row.head, row.tail)), encoder)
    joint.add((one_text(row) for rows in (train, valid, dev) for row in rows), encoder)
    read = Reader(vectors, joint, [e for e in known if not held_out(e.group)])
    names = [r.name for r in population(arguments.data, "dev")]
    for name in NETWORKS:
        layers = fitted(read.features(train, name), labels(train), arguments.seed)
        network = Mlp(layers)
        network.save(arguments.out / f"{name}.npz")
        held = auc(network(read.features(valid, name))[:, 0], labels(valid).astype(int))
        people = weighted(network(read.features(dev, name))[:, 0], labels(dev).astype(int), names)
        print(f"{name}: held-out AUC {held:.4f}, population dev, weighted {people:.4f}")
    name_files(arguments.out)


def drawn(known: list[Example], count: int) -> list[Drawn]:
    """Return known triples, each followed by a mismatched one."""
    random = np.random.default_rng(0)
    of_relation: dict[str, list[Example]] = defaultdict(list)
    for example in known:
        of_relation[example.relation].append(example)
    rows = []
    for place in random.permutation(len(known))[:count]:
        e = known[place]
        rows.append(Drawn(e.head, e.relation, e.tail, 1, e.tail))
        kind = random.random()
        others = of_relation[e.relation]
        other = others[random.integers(len(others))]
        if kind < 0.6:
            rows.append(Drawn(e.head, e.relation, other.tail, 0, e.tail))
        elif kind < 0.85:
            rows.append(Drawn(other.head, e.relation, e.tail, 0, other.tail))
        else:
            relations = [name for name in RELATIONS if name != e.relation]
            relation = relations[random.integers(len(relations))]
            rows.append(Drawn(e.head, relation, e.tail, 0, e.tail))
    return rows


def one_text(row: Drawn) -> str:
    return f"{row.head}, {gloss_text(SCHEMA[row.relation])} {row.tail}"


def labels(rows: list[Drawn]) -> np.ndarray:
    return np.array([row.label for row in rows], np.float32)


class Reader:
    """Features of triples, as the runtime computes them but for where neighbours come from."""

    def __init__(self, vectors: Vectors, joint: Vectors, known: list[Example]) -> None:
        self._vectors, self._joint = vectors, joint
        self._table = vectors.table()
        self._tails: dict[tuple[str, str], list[str]] = defaultdict(list)
        for example in known:
            self._tails[example.head, example.relation].append(example.tail)

    def features(self, rows: list[Drawn], network: str) -> np.ndarray:
        if network.startswith("bert"):
            parts = [
                self._of([row.head for row in rows]),
                self._of([gloss_text(SCHEMA[row.relation]) for row in rows]),
                self._of([row.tail for row in rows]),
            ]
        else:
            places = self._joint.ids(one_text(row) for row in rows)
            parts = [self._joint.array[places].astype(np.float32)]
        if network.endswith("sage"):
            parts += [
                np.stack([self._mean(row.head, row) for row in rows]),
                np.stack([self._mean(row.tail, row) for row in rows]),
            ]
        return np.concatenate(parts, axis=1, dtype=np.float32) * SCALE

    def _of(self, texts: list[str]) -> np.ndarray:
        return self._table[self._vectors.ids(texts)]

    def _mean(self, event: str, row: Drawn) -> np.ndarray:
        tails = [
            tail for tail in self._tails[event, row.relation] if tail not in (row.own, row.tail)
        ]
        if not tails:
            return np.zeros(self._table.shape[1], np.float32)
        return self._of(tails[:10]).mean(axis=0)


def fitted(features: np.ndarray, label: np.ndarray, seed: int) -> list[tuple[np.ndarray, ...]]:
    """Fit one hidden layer."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = nn.Sequential(
        nn.Dropout(0.1), nn.Linear(features.shape[1], 128), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(128, 1),
    )  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    steps = 1500
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=steps)
    for _ in range(steps):
        rows = random.integers(0, len(features), 256)
        loss = functional.binary_cross_entropy_with_logits(
            model(torch.from_numpy(features[rows]))[:, 0], torch.from_numpy(label[rows])
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return [
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
        for layer in (model[1], model[4])
    ]


def name_files(folder: Path) -> None:
    """Write the sums of the classifiers into the card."""
    card = folder / "card.toml"
    text = re.sub(r'"(?:kg_)?bert(?:_sage)?\.npz" = "\w+"\n', "", card.read_text("utf-8"))
    sums = "".join(f'"{n}.npz" = "{file_sha256(folder / f"{n}.npz")}"\n' for n in NETWORKS)
    card.write_text(text.replace("[files]\n", f"[files]\n{sums}"), "utf-8")


if __name__ == "__main__":
    main()
