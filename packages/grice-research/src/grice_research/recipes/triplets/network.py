"""The network on pairs of spans in torch; :class:`grice_tasks.cider.heads.LinkHead` runs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

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
