"""Train the tagger of entities and nouns on the teacher's labels (``label.py`` comes first).

    python recipes/situated/tag.py --data ../shared/data

Each sentence is read twice, as written and in lower case; the states of the encoder are the same,
for it reads no capitals. One sentence in ten chooses the epoch.
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from pathlib import Path

import numpy as np
import torch

from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedEncoder
from grice.runtime.heads import Mlp
from grice.situated.tagger import LABELS, Names, token_features

WORK = Path(__file__).parent / "work"
OURS = {"GPE": "GPE", "DATE": "DATE", "TIME": "TIME", "EVENT": "EVENT"} | dict.fromkeys(
    ("CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT"), "NUMBER"
)
COUNT = len(LABELS)
EPOCHS = 8


def labels_of(
    row: dict[str, object], words: list[tuple[int, int]]
) -> tuple[list[int], list[float]]:
    """Return tag and noun of each word by the span its first character lies in."""
    tags = [0] * len(words)
    nouns = [0.0] * len(words)
    for start, end, label in row["entities"]:  # type: ignore[attr-defined]
        kind = LABELS.index(OURS.get(label, "NAME"))
        first = True
        for i, (begin, _) in enumerate(words):
            if start <= begin < end:
                tags[i] = 1 + kind if first else 1 + COUNT + kind
                first = False
    for start, end in row["nouns"]:  # type: ignore[attr-defined]
        for i, (begin, _) in enumerate(words):
            if start <= begin < end:
                nouns[i] = 1.0
    return tags, nouns


def features(
    rows: list[dict[str, object]], names: Names, encoder: EmbeddedEncoder
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (float16), tags and nouns of the words of sentences."""
    xs, tags, nouns = [], [], []
    rng = random.Random(0)
    for begin in range(0, len(rows), 512):
        block = rows[begin : begin + 512]
        texts = [str(row["text"]) for row in block]
        for row, (hidden, _) in zip(block, encoder.hidden(texts), strict=True):
            text = str(row["text"])
            versions = [text, text.lower()] if rng.random() < 0.5 else [text]
            for version in versions:
                if len(version) != len(text):
                    continue
                x, places, starts = token_features(version, *hidden, names)
                heads = [i for i, start in enumerate(starts) if start]
                found = labels_of(row, [places[i] for i in heads])
                xs.append(x[heads].astype(np.float16))
                tags += found[0]
                nouns += found[1]
    return np.concatenate(xs), np.array(tags), np.array(nouns, np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--most", type=int, default=24_000)
    parser.add_argument("--hidden", type=int, default=160)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    rows = [json.loads(line) for line in (WORK / "labels.jsonl").open(encoding="utf-8")]
    rich = [row for row in rows if any(OURS.get(e[2]) in LABELS[:4] for e in row["entities"])]
    poor = [row for row in rows if not any(OURS.get(e[2]) in LABELS[:4] for e in row["entities"])]
    random.Random(0).shuffle(poor)
    rows = rich + poor[: max(0, arguments.most - len(rich))]
    names = Names.load(WORK / "names.txt.gz")
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    held = [zlib.crc32(str(row["text"]).encode()) % 10 == 0 for row in rows]
    train = features([row for row, out in zip(rows, held, strict=True) if not out], names, encoder)
    valid = features([row for row, out in zip(rows, held, strict=True) if out], names, encoder)
    print(f"{len(rich):,} sentences with context, {len(rows):,} in all; words: {len(train[1]):,}")
    network = torch.nn.Sequential(
        torch.nn.Linear(train[0].shape[1], arguments.hidden), torch.nn.ReLU(),
        torch.nn.Dropout(0.2), torch.nn.Linear(arguments.hidden, 2 * COUNT + 2),
    )  # fmt: skip
    fit(network, train, valid)


def fit(network: torch.nn.Sequential, train: tuple, valid: tuple) -> None:
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
    best = -1.0
    for epoch in range(EPOCHS):
        network.train()
        order = np.random.default_rng(epoch).permutation(len(train[1]))
        for begin in range(0, len(order), 512):
            part = np.sort(order[begin : begin + 512])
            x = torch.from_numpy(train[0][part].astype(np.float32))
            scores = network(x)
            loss = torch.nn.functional.cross_entropy(
                scores[:, :-1], torch.from_numpy(train[1][part])
            ) + torch.nn.functional.binary_cross_entropy_with_logits(
                scores[:, -1], torch.from_numpy(train[2][part])
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] *= 0.75
        network.eval()
        with torch.no_grad():
            scores = network(torch.from_numpy(valid[0].astype(np.float32))).numpy()
        tags = scores[:, :-1].argmax(1)
        context = np.isin(valid[1], [1, 2, 3, 4, 7, 8, 9, 10])
        guess = np.isin(tags, [1, 2, 3, 4, 7, 8, 9, 10])
        right = (tags == valid[1]) & context
        f1 = 2 * right.sum() / (context.sum() + guess.sum())
        nouns = ((scores[:, -1] > 0) == valid[2]).mean()
        print(f"epoch {epoch}: F1 of context words {f1:.4f}, nouns {nouns:.4f}", flush=True)
        if f1 > best:
            best = f1
            layers = [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
                      for layer in (network[0], network[3])]  # fmt: skip
            Mlp(layers).save(WORK / "tagger.npz")


if __name__ == "__main__":
    main()
