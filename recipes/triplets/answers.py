"""Trains the research reader of answers, one per fold: where a tail stands in the conversation.

PYTHONPATH=src python -m recipes.triplets.answers --fold 1 [--seed 0]

The epoch is chosen on one dialogue in eight of the training folds; the test fold is looked at once.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
from recipes.triplets.data import WORK, Cider, load
from torch import nn
from torch.nn import functional

from grice.knowledge.schema import load_schema
from grice.triplets.answers import BINS, LONGEST, best_spans, distance_bins
from grice.triplets.scores import score_spans
from grice.triplets.structure import locate

AXES = 160
"""Principal axes of token states that are learned from."""


class Answers(nn.Module):
    def __init__(self, vectors: int, relations: int, *, width: int, drop: float) -> None:
        super().__init__()
        self.token = nn.Linear(AXES, width)
        self.factor = nn.Linear(AXES, width)
        self.query = nn.Linear(vectors, width)
        self.queryfactor = nn.Linear(vectors, width)
        self.relation = nn.Embedding(relations, width)
        self.relationfactor = nn.Embedding(relations, width)
        self.distance = nn.Embedding(BINS, width)
        self.out = nn.Linear(2 * width, 2)
        self.length = nn.Parameter(torch.zeros(LONGEST))
        self.drop = nn.Dropout(drop)
        for one in (self.relation, self.relationfactor, self.distance):
            nn.init.normal_(one.weight, std=0.1)

    def forward(
        self, states: torch.Tensor, head: torch.Tensor, relation: torch.Tensor, bins: torch.Tensor
    ) -> torch.Tensor:
        """Return logits of start and end, shape ``(questions, tokens, 2)``, of one dialogue."""
        states, head = self.drop(states), self.drop(head)
        query = self.query(head) + self.relation(relation)
        added = self.token(states)[None] + query[:, None] + self.distance(bins)
        factor = self.queryfactor(head) + self.relationfactor(relation)
        times = self.factor(states)[None] * factor[:, None]
        return self.out(self.drop(torch.cat([torch.relu(added), times], dim=2)))

    def save(self, path: Path, axes: np.ndarray) -> None:
        """Write the arrays with the axes folded in, so that whole token states go in."""
        arrays = {
            name.replace(".", "_"): value.detach().numpy()
            for name, value in self.state_dict().items()
        }
        for name in ("token_weight", "factor_weight"):
            arrays[name] = arrays[name] @ axes.T
        arrays = {name: value.astype(np.float16) for name, value in arrays.items()}
        np.savez_compressed(path, **arrays)


def principal_axes(cider: Cider) -> np.ndarray:
    """Return the axes along which token states vary most, shape ``(384, AXES)``."""
    some = [one.states[::8].astype(np.float32) for one in cider.readings.values()]
    stacked = np.concatenate(some)
    values, vectors = np.linalg.eigh(stacked.T @ stacked)
    return vectors[:, np.argsort(-values)[:AXES]].astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fold", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--drop", type=float, default=0.3)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--name", default="")
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    draw = np.random.default_rng(options.seed)
    cider = load(options.data)
    axes = principal_axes(cider)
    relations = {name: i for i, name in enumerate(load_schema("cider").relations)}
    names = sorted({one.dialogue for one in cider.items})
    chosen = np.random.default_rng(7).random(len(names)) < 1 / 8
    validates = {name for name, flag in zip(names, chosen, strict=True) if flag}
    asked: dict[str, list] = {}
    for one in cider.items:
        if one.question is not None:
            asked.setdefault(one.dialogue, []).append(one)
    scale = 384**0.5 / 4
    made = {}
    for name, questions in asked.items():
        reading = cider.readings[name]
        head, bins, gold = [], [], []
        for one in questions:
            span = one.head.strip()
            place = locate(reading.text, span)
            here = cider.alone[span] if place is None else reading.vector(place)
            head.append(np.concatenate([here, cider.alone[span]]))
            bins.append(distance_bins(reading, place))
            start = one.question[1]
            first, end = reading.tokens((start, start + len(one.tail.strip())))
            gold.append((first, max(first, end - 1)))
        cider.readings[name] = reading._replace(states=reading.states[:0])
        made[name] = (
            torch.tensor(reading.states.astype(np.float32) @ axes),
            torch.tensor(np.array(head, np.float32)) * scale,
            torch.tensor([relations[one.relation] for one in questions]),
            torch.tensor(np.array(bins)),
            torch.tensor(gold),
        )
    train = [n for n in made if cider.folds[n] != options.fold and n not in validates]
    held = [n for n in made if cider.folds[n] != options.fold and n in validates]
    test = [n for n in made if cider.folds[n] == options.fold]
    net = Answers(768, 31, width=options.width, drop=options.drop)
    optimiser = torch.optim.AdamW(net.parameters(), options.rate, weight_decay=0.02)
    group = 6
    steps = options.epochs * (len(train) // group + 1)
    plan = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, options.rate, total_steps=steps, pct_start=0.1
    )

    def judge(which: list[str]) -> tuple[float, ...]:
        net.eval()
        golds, said = [], []
        with torch.no_grad():
            for name in which:
                states, head, relation, bins, _ = made[name]
                logits = net(states, head, relation, bins).numpy()
                for one, row in zip(asked[name], logits, strict=True):
                    best = best_spans(cider.readings[name], row, net.length.numpy(), count=1)
                    place = best[0][1]
                    golds.append([one.tail.strip()])
                    said.append(cider.readings[name].text[place[0] : place[1]])
        return tuple(score_spans(golds, said))

    best, state = -1.0, None
    for epoch in range(options.epochs):
        net.train()
        draw.shuffle(train)
        for at in range(0, len(train), group):
            loss, count = torch.zeros(()), 0
            for name in train[at : at + group]:
                states, head, relation, bins, gold = made[name]
                logits = net(states, head, relation, bins)
                loss = loss + sum(
                    functional.cross_entropy(logits[..., side], gold[:, side], reduction="sum")
                    for side in (0, 1)
                )
                long = (gold[:, 1] - gold[:, 0]).clamp(max=LONGEST - 1)
                loss = loss + functional.cross_entropy(
                    net.length.expand(len(long), -1), long, reduction="sum"
                )
                count += len(gold)
            optimiser.zero_grad()
            (loss / count).backward()
            optimiser.step()
            plan.step()
        if (epoch % 3 == 0 and epoch > 2) or epoch == options.epochs - 1:
            found = judge(held)
            print(epoch, *(f"{one:.4f}" for one in found), flush=True)
            if found[0] + found[2] > best:
                best = found[0] + found[2]
                state = {k: v.clone() for k, v in net.state_dict().items()}
    net.load_state_dict(state)
    found = judge(test)
    print("test", options.fold, *(f"{one:.4f}" for one in found))
    name = f"answers{options.name}_{options.fold}_{options.seed}"
    net.save(WORK / f"{name}.npz", axes)
    (WORK / f"{name}.json").write_text(json.dumps({"em": found[0], "f1": found[2]}))


if __name__ == "__main__":
    main()
