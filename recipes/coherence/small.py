"""Small networks that learn from one set of perturbations and from nobody's ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from fit import Settings, ThreadNet, train
from train import WORK

if TYPE_CHECKING:
    from arrays import Prepared

__all__ = ["SEEDS", "WORDED", "small_nets"]

SEEDS = (0, 1, 2)
MOST, EPOCHS = 1200, 3
WORDED = ("contradiction", "coreference", "irrelevancy", "decreased-engagement")


def small_nets(given: Prepared, name: str, kinds: tuple[str, ...]) -> list[ThreadNet]:
    """Return a network for each seed, fitted once and kept: fewer conversations and epochs."""
    nets = []
    settings = Settings(EPOCHS, kinds, MOST, people=False)
    for seed in SEEDS:
        kept = WORK / "small" / f"{name.replace(' ', '-')}-{seed}.pt"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            torch.save(train(given, seed, settings).state_dict(), kept)
        net = ThreadNet()
        net.load_state_dict(torch.load(kept))
        nets.append(net.eval())
    return nets
