"""Fit what says whether two keywords share a sentence.

    python -m grice_research.recipes.situated.group

Reads the sentences of ``facts.py``. Pairs are mined from them as the pipeline mines them; a
seventh of the statements is held out with every pair they are in.
"""

from __future__ import annotations

import itertools
import json
import random
import zlib
from concurrent.futures import ProcessPoolExecutor

import msgspec
import numpy as np
import torch

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.mlp import Mlp
from grice_research.places import work_folder
from grice_research.recipes.situated.encode import encode_all
from grice_tasks.situatedgen.build import alike, mine_pairs
from grice_tasks.situatedgen.examples import samples_of
from grice_tasks.situatedgen.recompose import pair_features
from grice_tasks.situatedgen.records import Marked, Statement
from grice_tasks.situatedgen.tagger import ContextTagger, mark_statements

WORK = work_folder("situated")
LONGEST = 16
WORKERS = 4
SOURCES = ("creak", "strategyqa-fact")


def held_out(name: str) -> bool:
    return zlib.crc32(name.encode()) % 7 == 0


def mark(statements: list[Statement]) -> list[Marked]:
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    tagger = ContextTagger(WORK, lambda ts: [tuple(h) for h, _ in encoder.hidden(ts)], "")
    return mark_statements(statements, tagger)[0]


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    texts = {}
    for line in (WORK / "facts.jsonl").open():
        name, _, _, _, text = json.loads(line)
        if name.split("::")[0] in SOURCES and len(text.split()) <= LONGEST:
            texts[text] = name
    given = [Statement(name, text) for text, name in texts.items()]
    with ProcessPoolExecutor(WORKERS) as pool:
        blocks = pool.map(mark, [given[i : i + 200] for i in range(0, len(given), 200)])
        marked = [statement for block in blocks for statement in block]
    vectors = encode_all([statement.masked for statement in marked], workers=WORKERS).astype(
        np.float32
    )
    pairs, refused = mine_pairs(marked, alike(vectors, threshold=0.75), "paper")
    print(f"{len(marked):,} statements, {len(pairs):,} pairs, refused {refused}", flush=True)
    rng = random.Random(0)
    rng.shuffle(pairs)
    samples = samples_of(pairs[:20_000], marked)
    words = sorted({word for record in samples for word in record.keywords})
    known = dict(zip(words, encode_all(words, workers=WORKERS).astype(np.float32), strict=True))
    sets: dict[bool, list[tuple[np.ndarray, float]]] = {True: [], False: []}
    seen: dict[str, int] = {}
    for sample in samples:
        out = [held_out(name) for name in sample.ids]
        if any(out) != all(out) or max(seen.get(name, 0) for name in sample.ids) > 12:
            continue  # a statement in a hundred pairs teaches its keywords and nothing else
        for name in sample.ids:
            seen[name] = seen.get(name, 0) + 1
        for i, j in itertools.combinations(range(len(sample.keywords)), 2):
            a, b = sample.keywords[i], sample.keywords[j]
            if a.lower() != b.lower():
                same = float(sample.keywords_pos[i] == sample.keywords_pos[j])
                sets[all(out)].append((pair_features(known[a], known[b]), same))
    x, y = (np.stack([row[0] for row in sets[False]]), np.array([r[1] for r in sets[False]]))
    vx, vy = (np.stack([row[0] for row in sets[True]]), np.array([r[1] for r in sets[True]]))
    print(f"{len(y):,} pairs of keywords train, {len(vy):,} are held out", flush=True)
    network = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Dropout(0.3),
        torch.nn.Linear(64, 1),
    )  # fmt: skip
    optimiser = torch.optim.AdamW(network.parameters(), lr=5e-4, weight_decay=0.1)
    best = -1.0
    for epoch in range(8):
        network.train()
        for part in np.array_split(np.random.default_rng(epoch).permutation(len(y)), len(y) // 256):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                network(torch.from_numpy(x[part]))[:, 0], torch.from_numpy(y[part]).float()
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        network.eval()
        with torch.no_grad():
            right = float(((network(torch.from_numpy(vx))[:, 0].numpy() > 0) == vy).mean())
        print(f"epoch {epoch}: {right:.4f}", flush=True)
        if right > best:
            best = right
            layers = [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
                      for layer in (network[0], network[3])]  # fmt: skip
            Mlp(layers).save(WORK / "together.npz")
    with (WORK / "held_pairs.jsonl").open("wb") as out_file:
        held = [s for s in samples if all(held_out(name) for name in s.ids)]
        out_file.writelines(msgspec.json.encode(held_sample) + b"\n" for held_sample in held)


if __name__ == "__main__":
    main()
