"""Fit the check that a text is a sentence and no list of words.

    python -m grice_research.recipes.situated.fluency

Lists are the words of other sentences: content words in any order, all words in any order, and
the halves of either joined by commas or blanks.
"""

from __future__ import annotations

import json
import random
import re
import zlib

import numpy as np
import torch

from grice.models.mlp import Mlp
from grice_research.places import work_folder
from grice_research.recipes.situated.encode import encode_all
from grice_research.surface import STOP_WORDS

WORK = work_folder("situated")
MOST = 2500


def salad(text: str, rng: random.Random) -> str:
    """Return the words of a sentence as a list."""
    words = re.findall(r"[\w'’-]+", text)
    content = [word for word in words if word.lower() not in STOP_WORDS]
    if rng.random() < 0.7 and len(content) > 1:
        words = content
    rng.shuffle(words)
    words = words[: rng.randint(2, max(2, len(words)))]
    sentence = rng.choice((" ", " ", ", ")).join(words)
    return sentence[:1].upper() + sentence[1:] + "." if rng.random() < 0.6 else sentence + "."


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = random.Random(0)
    texts = list(dict.fromkeys(json.loads(line)[4] for line in (WORK / "facts.jsonl").open()))
    rng.shuffle(texts)
    # WordNet's glosses are no full sentences in the sense of the task.
    good = [text for text in texts if len(text) < 160][:MOST]
    bad = [salad(text, rng) for text in good]
    x = torch.from_numpy(encode_all(good + bad, workers=4).astype(np.float32))
    y = torch.tensor([1.0] * len(good) + [0.0] * len(bad))
    held = torch.tensor([zlib.crc32(text.encode()) % 8 == 0 for text in good] * 2)
    network = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
    )
    optimiser = torch.optim.AdamW(network.parameters(), lr=5e-3, weight_decay=0.01)
    train = torch.nonzero(~held)[:, 0]
    for epoch in range(25):
        for part in train[torch.randperm(len(train))].split(256):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                network(x[part])[:, 0], y[part]
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            right = ((network(x[held])[:, 0] > 0) == (y[held] > 0)).float().mean()
        print(f"epoch {epoch}: {float(right):.4f} of {int(held.sum())}", flush=True)
    layers = [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
              for layer in (network[0], network[2])]  # fmt: skip
    Mlp(layers).save(WORK / "fluency.npz")


if __name__ == "__main__":
    main()
