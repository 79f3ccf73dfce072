"""How likely a language model finds conversations and their broken twins, beside what ships.

    python -m grice_research.recipes.coherence.likely --model FOLDER

FOLDER holds a model in the format of transformers. It reads held-out conversations whole, as lines
of `A:` and `B:`, and their twins with moved turns; nothing that ships rests on it.
"""

from __future__ import annotations

import argparse
import pickle
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from grice.models.bundle import open_bundle
from grice_research.recipes.coherence.card import Joined
from grice_research.recipes.coherence.train import SEEDS, WORK, prepared
from grice_research.recipes.coherence.weigh import wholes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_research.recipes.coherence.data import Sample

KINDS = ("half-swap", "section-replacement", "turn-insertion")
LONGEST, BATCH = 1024, 2000
"""Tokens of a conversation that are read, and of a batch."""
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6)
"""How much the language model counts beside what ships."""


def likelihoods(folder: Path, samples: Sequence[Sample]) -> NDArray[np.float64]:
    """Return the mean log likelihood of the tokens of each conversation."""
    net = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows = [tokenizer.encode(_lines(sample), add_special_tokens=False).ids[:LONGEST]
            for sample in samples]  # fmt: skip
    values = np.zeros(len(rows))
    order = np.argsort([len(row) for row in rows], kind="stable")
    sizes = np.array([len(rows[i]) for i in order])
    groups = np.cumsum(sizes) // BATCH
    for _, part in groupby(zip(groups, order, strict=True), key=lambda pair: pair[0]):
        chosen = [int(i) for _, i in part]
        values[chosen] = _means(net, [rows[i] for i in chosen])
    return values


def _lines(sample: Sample) -> str:
    turns = zip(sample.speakers, sample.turns, strict=True)
    return "\n" + "".join(f"{'AB'[who % 2]}: {' '.join(text.split())}\n" for who, text in turns)


@torch.no_grad()
def _means(net: AutoModelForCausalLM, rows: Sequence[list[int]]) -> list[float]:
    width = max(map(len, rows))
    read = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    hidden = net.model(read, use_cache=False).last_hidden_state
    means = []
    for i, row in enumerate(rows):
        sure = net.lm_head(hidden[i, : len(row) - 1]).float().log_softmax(-1)
        means.append(float(sure[range(len(row) - 1), row[1:]].mean()))
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="in the format of transformers")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    read = prepared()
    kept = [(sample, item) for sample, item in zip(made["held_broken"], read.items["held_broken"],
                                                   strict=True) if item.kind in KINDS]  # fmt: skip
    held = likelihoods(given.model, made["held"])
    twins = likelihoods(given.model, [sample for sample, _ in kept])
    net = Joined([torch.load(WORK / f"seed{seed}.pt")["net"] for seed in SEEDS])
    with np.load(open_bundle("coherence").path("head.npz"), allow_pickle=False) as file:
        weights = file["whole"][:-1]
    scores, broken = (wholes(net, read, items).rows @ weights
                      for items in (read.items["held"], [item for _, item in kept]))  # fmt: skip
    intact = np.array([item.twin for _, item in kept])
    ours, theirs = scores[intact] - broken, held[intact] - twins
    for kind in KINDS:
        rows = [i for i, (_, item) in enumerate(kept) if item.kind == kind]
        a, b = (values[rows] / values[rows].std() for values in (ours, theirs))
        joined = [f"{np.mean((1 - share) * a + share * b > 0):.3f}" for share in SHARES]
        print(f"{kind}: n {len(rows)}, shipped {np.mean(a > 0):.3f}, model {np.mean(b > 0):.3f}, "
              f"both {' '.join(joined)}, neither {np.mean((a <= 0) & (b <= 0)):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
