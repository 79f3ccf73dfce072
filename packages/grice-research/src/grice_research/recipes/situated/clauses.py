"""Train what finds the predicate of yes/no questions (``label_questions.py`` comes first).

python -m grice_research.recipes.situated.clauses
"""

from __future__ import annotations

import json
import zlib

import numpy as np
import torch

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.mlp import Mlp
from grice_research.places import work_folder
from grice_tasks.situatedgen.tagger import Names, token_features

WORK = work_folder("situated")
HIDDEN = 64
EPOCHS = 12


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = [json.loads(line) for line in (WORK / "questions.jsonl").open(encoding="utf-8")]
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    names = Names.load(WORK / "names.txt.gz")
    sets: dict[bool, list[tuple[np.ndarray, int]]] = {True: [], False: []}
    for begin in range(0, len(rows), 512):
        block = rows[begin : begin + 512]
        answers = encoder.hidden([row["text"] for row in block])
        for row, (hidden, _) in zip(block, answers, strict=True):
            x, places, starts = token_features(row["text"], *hidden, names)
            heads = [i for i, start in enumerate(starts) if start]
            at = [k for k, i in enumerate(heads) if places[i][0] == row["start"]]
            if at:
                held = zlib.crc32(row["text"].encode()) % 8 == 0
                sets[held].append((x[heads], at[0]))
    train, valid = sets[False], sets[True]
    network = torch.nn.Sequential(
        torch.nn.Linear(train[0][0].shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(0.2),
        torch.nn.Linear(HIDDEN, 1),
    )  # fmt: skip
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
    best = -1.0
    for epoch in range(EPOCHS):
        network.train()
        order = np.random.default_rng(epoch).permutation(len(train))
        for begin in range(0, len(order), 32):
            part = [train[i] for i in order[begin : begin + 32]]
            scores = network(torch.from_numpy(np.concatenate([x for x, _ in part])))[:, 0]
            lengths = [len(x) for x, _ in part]
            loss = sum(
                torch.nn.functional.cross_entropy(row[None], torch.tensor([at]))
                for row, (_, at) in zip(scores.split(lengths), part, strict=True)
            ) / len(part)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        network.eval()
        with torch.no_grad():
            right = np.mean([int(network(torch.from_numpy(x)).argmax()) == at for x, at in valid])
        print(f"epoch {epoch}: {right:.4f} of {len(valid)}", flush=True)
        if right > best:
            best = right
            layers = [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
                      for layer in (network[0], network[3])]  # fmt: skip
            Mlp(layers).save(WORK / "clauses.npz")


if __name__ == "__main__":
    main()
