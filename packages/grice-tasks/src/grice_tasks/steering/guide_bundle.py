"""Writing a guide as a model folder with its card."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.files import make_folder
from grice.models.bundle import check_folder, write_card
from grice_tasks.steering.guide import KIND

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.models.bundle import CardValue
    from grice_tasks.steering.guide import Guide
    from grice_tasks.steering.guide_training import GuideReport


def save_guide(
    folder: Path, guide: Guide, report: GuideReport, data: Sequence[str], *, seed: int
) -> None:
    """Write a guide, which :func:`grice_tasks.steering.guide.load_guide` reads.

    Args:
        folder: Made if it is not there; it may hold such a model, which is replaced.
        guide: The guide.
        report: What its training gave.
        data: What it was trained on, in words.
        seed: Of its training.
    """
    check_folder(folder)
    make_folder(folder)
    metrics = " and ".join(guide.settings.metrics)
    facts: dict[str, CardValue] = {
        "name": folder.resolve().name,
        "kind": KIND,
        "version": "1",
        "summary": f"guides {guide.settings.base} to {metrics}: {report.replies} drawn replies",
        "licence": "yours, as far as your data allow",
        "inputs": "next-token logits of the base model, and the tokens of the reply so far",
        "outputs": "for every next token the probability, 0 to 1, that the finished reply "
        f"satisfies {metrics} at {guide.settings.threshold:g}",
    }
    training: dict[str, CardValue] = {
        "data": list(data),
        "selection": ["epoch: cross entropy on contexts left out"],
        "command": "grice train guide",
        "seeds": [seed],
    }
    settings: dict[str, CardValue] = msgspec.to_builtins(guide.settings)
    write_card(folder, facts, training, settings, files=guide.save(folder))
