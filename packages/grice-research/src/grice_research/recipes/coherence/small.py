"""Small networks that learn from one set of perturbations and from nobody's ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from grice_research.recipes.coherence.fit import Settings, ThreadNet, train
from grice_research.recipes.coherence.train import WORK

if TYPE_CHECKING:
    from collections.abc import Collection

    from grice_research.recipes.coherence.arrays import Prepared

__all__ = ["MOST", "SEEDS", "WORDED", "small_nets"]

SEEDS = (0, 1, 2)
MOST, EPOCHS = 1200, 3
WORDED = ("contradiction", "coreference", "irrelevancy", "decreased-engagement")


def small_nets(
    given: Prepared, name: str, kinds: tuple[str, ...], only: Collection[int] = ()
) -> list[ThreadNet]:
    """Return a network for each seed, fitted once and kept: fewer conversations and epochs.

    Args:
        given: All samples.
        name: What the networks are called.
        kinds: What conversations are broken with.
        only: Numbers of the conversations that are learned from; all if empty. Of few every one is
            seen so much more often that the networks take as many steps.
    """
    nets = []
    epochs = EPOCHS * max(1, MOST // len(only)) if only else EPOCHS
    settings = Settings(epochs, kinds, MOST, people=False, only=only)
    for seed in SEEDS:
        kept = WORK / "small" / f"{name.replace(' ', '-')}-{seed}.pt"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            torch.save(train(given, seed, settings).state_dict(), kept)
        net = ThreadNet()
        net.load_state_dict(torch.load(kept))
        nets.append(net.eval())
    return nets
