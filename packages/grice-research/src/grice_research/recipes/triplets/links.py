"""Trains the default heads on pairs of spans: weakly linked talk and knowledge.

python -m grice_research.recipes.triplets.links

The epoch is chosen on one dialogue in eight; no text of CIDER is read.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from grice_research.places import work_folder
from grice_research.recipes.common import Steps, parser_of, state_of
from grice_research.triplets.cider import average_precision, score_labels

MOST, EPOCHS, RATE = 90_000, 4, 1.5e-3  # rows to learn from, epochs, and the largest rate
TASKS = 3  # Entailed, the right option, which relation: one output of each per relation


WORK = work_folder("triplets")


class Links(nn.Module):
    def __init__(
        self, vectors: int, numbers: int, relations: int, *, width: int, hidden: int, drop: float
    ) -> None:
        super().__init__()
        self.head = nn.Linear(vectors, width)
        self.tail = nn.Linear(vectors, width)
        self.hidden = nn.Linear(3 * width + numbers, hidden)
        self.out = nn.Linear(hidden, TASKS * relations)
        self.drop = nn.Dropout(drop)

    def forward(self, a: torch.Tensor, b: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        head, tail = self.head(self.drop(a)), self.tail(self.drop(b))
        joined = torch.cat([head, tail, head * tail, numbers], dim=1)
        logits = self.out(self.drop(torch.relu(self.hidden(self.drop(joined)))))
        return logits.view(len(a), TASKS, -1)

    def save(self, path: Path) -> None:
        arrays = {}
        for name in ("head", "tail", "hidden", "out"):
            layer = getattr(self, name)
            arrays[f"{name}_weight"] = layer.weight.detach().numpy().T.astype(np.float16)
            arrays[f"{name}_bias"] = layer.bias.detach().numpy().astype(np.float32)
        np.savez_compressed(path, **arrays)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    draw = np.random.default_rng(options.seed)
    kept = np.load(WORK / "weak.npz")
    vectors = torch.tensor(kept["context"].astype(np.float32)) * (384**0.5 / 4)
    pairs, numbers = kept["pairs"], torch.tensor(kept["structure"].astype(np.float32))
    nli, choice, dialogue = kept["nli"], kept["choice"], kept["dialogue"]
    of_nli = dialogue[pairs[nli[:, 0], 0]]
    of_choice = dialogue[pairs[choice[:, 0], 0]]
    # One dialogue in eight validates; the same for every seed.
    validates = np.random.default_rng(7).random(dialogue.max() + 1) < 1 / 8
    fit_nli = draw.permutation(np.flatnonzero(~validates[of_nli]))[:MOST]
    fit_choice = draw.permutation(np.flatnonzero(~validates[of_choice]))[: MOST // 6]
    net = Links(vectors.shape[1], numbers.shape[1], 31, width=96, hidden=192, drop=0.3)
    steps = EPOCHS * (len(fit_nli) // 256 + 1)
    step = Steps(net.parameters(), RATE, 0.02, steps, pct_start=0.1)

    def run(rows: np.ndarray) -> torch.Tensor:
        a, b = pairs[rows, 0], pairs[rows, 1]
        return net(vectors[a], vectors[b], numbers[rows])

    def judge(which_nli: np.ndarray, which_choice: np.ndarray) -> dict[str, float]:
        net.eval()
        with torch.no_grad():
            rows = nli[which_nli]
            out = torch.cat([run(part) for part in np.array_split(rows[:, 0], 8)]).numpy()
            entailed = out[np.arange(len(rows)), 0, rows[:, 1]]
            gold = rows[:, 2] == 1
            relation = out[gold, 2].argmax(1)
            named = rows[gold, 1]
            four = choice[which_choice]
            scores = np.stack(
                [run(four[:, i]).numpy()[np.arange(len(four)), 1, four[:, 4]] for i in range(4)], 1
            )

        def f1(level: float) -> float:
            return score_labels(gold.tolist(), (entailed > level).tolist()).macro_f1

        levels = np.quantile(entailed, np.linspace(0.6, 0.95, 36))
        return {
            "ap": average_precision(gold.tolist(), entailed.tolist()),
            "level": float(max(levels, key=f1)),
            "choice": float((scores.argmax(1) == four[:, 5]).mean()),
            "relation": float((relation == named).mean()),
        }

    best, state = -1.0, None
    for epoch in range(EPOCHS):
        net.train()
        draw.shuffle(fit_nli)
        draw.shuffle(fit_choice)
        blocks = np.array_split(fit_nli, len(fit_nli) // 256 + 1)
        others = np.array_split(fit_choice, len(blocks))
        for block, other in zip(blocks, others, strict=True):
            rows, four = nli[block], choice[other]
            out = run(rows[:, 0])
            gold = torch.tensor(rows[:, 2], dtype=torch.float32)
            logits = out[torch.arange(len(rows)), 0, rows[:, 1]]
            loss = functional.binary_cross_entropy_with_logits(logits, gold)
            right = gold == 1
            loss = loss + functional.cross_entropy(out[right, 2], torch.tensor(rows[:, 1])[right])
            choices = run(four[:, :4].reshape(-1)).view(len(four), 4, 3, -1)
            logits = choices[torch.arange(len(four)), :, 1, four[:, 4]]
            step(loss + functional.cross_entropy(logits, torch.tensor(four[:, 5])))
        held_out = judge(validates[of_nli], validates[of_choice])
        mark = sum(held_out[name] for name in ("ap", "choice", "relation"))
        print(epoch, held_out, flush=True)
        if mark > best:
            best, state, result = mark, state_of(net), held_out
    net.load_state_dict(state)
    name = f"links_weak_0_{options.seed}"
    net.save(WORK / f"{name}.npz")
    (WORK / f"{name}.json").write_text(json.dumps({**result, "seed": options.seed}))


if __name__ == "__main__":
    main()
