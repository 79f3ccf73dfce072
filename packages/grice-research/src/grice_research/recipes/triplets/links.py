"""Trains the research heads on pairs of spans, one per fold, and says how good they are.

python -m grice_research.recipes.triplets.links --fold 1 [--seed 0]

The epoch is chosen on one dialogue in eight of the training folds; the test fold is looked at once.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from grice_research.recipes.triplets.data import WORK
from grice_tasks.cider.structure import layout_of, structure

TASKS = 3
"""Entailed, the right option, which relation: one output of each per relation."""


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


OWN = [0, 1, 2, 3, 4, 7, 8]
"""Which numbers of a pair are of the spans alone: lengths, words in common, first letters."""


def macro_f1(gold: np.ndarray, predicted: np.ndarray) -> float:
    scores = []
    for label in np.union1d(gold, predicted):
        right = np.sum((gold == label) & (predicted == label))
        scores.append(2 * right / (np.sum(gold == label) + np.sum(predicted == label)))
    return float(np.mean(scores))


def apart(numbers: np.ndarray) -> np.ndarray:
    """Return what numbers of pairs are where no text is at hand: those of the spans themselves."""
    empty = structure(layout_of(""), "a", "b", None, None)
    features = np.tile(empty, (len(numbers), 1))
    features[:, OWN] = numbers[:, OWN]
    return features


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fold", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--drop", type=float, default=0.3)
    parser.add_argument("--decay", type=float, default=0.02)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--inputs", default="both", choices=("both", "context", "alone", "none"))
    parser.add_argument("--tasks", default="nli,choice,relation")
    parser.add_argument("--negatives", default="all", choices=("all", "two"))
    parser.add_argument("--boost", type=float, default=1.0)
    parser.add_argument("--rows", default="rows.npz", help="weak.npz for the default heads")
    parser.add_argument("--most", type=int, default=0, help="rows to learn from; 0: all")
    parser.add_argument("--name", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    draw = np.random.default_rng(options.seed)
    kept = np.load(WORK / options.rows)
    parts = {"both": ("context", "alone"), "context": ("context",), "alone": ("alone",),
             "none": ("context",)}  # fmt: skip
    vectors = np.concatenate([kept[input_name] for input_name in parts[options.inputs]], axis=1)
    vectors = torch.tensor(vectors.astype(np.float32)) * (384**0.5 / 4)
    if options.inputs == "none":
        vectors = torch.zeros(len(vectors), 1)
    pairs, numbers = kept["pairs"], kept["structure"].astype(np.float32)
    numbers = torch.tensor(apart(numbers) if options.inputs == "alone" else numbers)
    nli, choice, dialogue = kept["nli"], kept["choice"], kept["dialogue"]
    more = kept["more"]
    absent = torch.tensor(np.arange(3) >= more[:, 3:]) * -1e4
    of_nli = dialogue[pairs[nli[:, 0], 0]]
    of_choice = dialogue[pairs[choice[:, 0], 0]]
    # One dialogue in eight of the training folds validates; the same for every fold and seed.
    validates = np.random.default_rng(7).random(dialogue.max() + 1) < 1 / 8
    # Fold 0: weak rows, none of which is tested on.
    test_nli = (nli[:, 3] == options.fold) & (options.fold > 0)
    test_choice = (choice[:, 6] == options.fold) & (options.fold > 0)
    fit_nli = np.flatnonzero(
        ~test_nli & ~validates[of_nli] & ((nli[:, 4] == 1) | (options.negatives == "all"))
    )
    fit_choice = np.flatnonzero(~test_choice & ~validates[of_choice])
    if options.most:
        fit_nli = draw.permutation(fit_nli)[: options.most]
        fit_choice = draw.permutation(fit_choice)[: options.most // 6]
    net = Links(vectors.shape[1], numbers.shape[1], 31, width=options.width,
                hidden=options.hidden, drop=options.drop)  # fmt: skip
    optimiser = torch.optim.AdamW(net.parameters(), options.rate, weight_decay=options.decay)
    steps = options.epochs * (len(fit_nli) // 256 + 1)
    plan = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, options.rate, total_steps=steps, pct_start=0.1
    )
    tasks = options.tasks.split(",")

    def run(rows: np.ndarray) -> torch.Tensor:
        a, b = pairs[rows, 0], pairs[rows, 1]
        return net(vectors[a], vectors[b], numbers[rows])

    def judge(which_nli: np.ndarray, which_choice: np.ndarray) -> dict[str, object]:
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
        order = np.argsort(-entailed)
        hits = gold[order]
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        levels = np.quantile(entailed, np.linspace(0.6, 0.95, 36))
        return {
            "ap": float(precision[hits].mean()),
            "level": float(max(levels, key=lambda x: macro_f1(gold, entailed > x))),
            "entailed": entailed,
            "gold": gold,
            "choice": float((scores.argmax(1) == four[:, 5]).mean()),
            "relation": float((relation == named).mean()),
            "relation_f1": macro_f1(named, relation),
        }

    best, state = -1.0, None
    for epoch in range(options.epochs):
        net.train()
        draw.shuffle(fit_nli)
        draw.shuffle(fit_choice)
        blocks = np.array_split(fit_nli, len(fit_nli) // 256 + 1)
        others = np.array_split(fit_choice, len(blocks))
        for block, other in zip(blocks, others, strict=True):
            rows, four = nli[block], choice[other]
            loss = torch.zeros(())
            out = run(rows[:, 0])
            gold = torch.tensor(rows[:, 2], dtype=torch.float32)
            if "nli" in tasks:
                logits = out[torch.arange(len(rows)), 0, rows[:, 1]]
                loss = loss + functional.binary_cross_entropy_with_logits(logits, gold)
            if "relation" in tasks:
                right = gold == 1
                loss = loss + options.boost * functional.cross_entropy(
                    out[right, 2], torch.tensor(rows[:, 1])[right]
                )
            if "choice" in tasks:
                wide = 7 if more[:, 3].any() else 4
                listed = np.concatenate([four[:, :4], more[other, :3]], axis=1)[:, :wide]
                choices = run(listed.reshape(-1)).view(len(four), wide, 3, -1)
                logits = choices[torch.arange(len(four)), :, 1, four[:, 4]]
                logits = torch.cat(
                    [logits[:, :4], logits[:, 4:] + absent[other][:, : wide - 4]], dim=1
                )
                loss = loss + functional.cross_entropy(logits, torch.tensor(four[:, 5]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            plan.step()
        held_out = judge(~test_nli & validates[of_nli], ~test_choice & validates[of_choice])
        marks = {"nli": "ap", "choice": "choice", "relation": "relation"}
        mark = sum(held_out[marks[task]] for task in tasks)
        print(
            epoch,
            *(f"{held_out[k]:.4f}" for k in ("ap", "choice", "relation", "relation_f1")),
            f"{macro_f1(held_out['gold'], held_out['entailed'] > held_out['level']):.4f}",
            flush=True,
        )
        if mark > best:
            best, state, level = (
                mark,
                {k: v.clone() for k, v in net.state_dict().items()},
                held_out["level"],
            )
    net.load_state_dict(state)
    if options.fold:
        held_out = judge(test_nli, test_choice)
    result = {k: held_out[k] for k in ("ap", "choice", "relation", "relation_f1")}
    result["macro_f1"] = macro_f1(held_out["gold"], held_out["entailed"] > level)
    print(
        "test", options.fold, options.name, json.dumps({k: round(v, 4) for k, v in result.items()})
    )
    name = f"links{options.name}_{options.fold}_{options.seed}"
    net.save(WORK / f"{name}.npz")
    (WORK / f"{name}.json").write_text(json.dumps({**result, "level": level, "seed": options.seed}))


if __name__ == "__main__":
    main()
