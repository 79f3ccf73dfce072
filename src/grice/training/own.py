"""From labelled replies to a model folder: what ``grice train`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from grice.runtime.protocols import Encoder, PairClassifier
from grice.training.adapt import adapt
from grice.training.bundle import check_folder, save_head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice.runtime.bundle import CardValue
    from grice.runtime.models import Models
    from grice.training.adapt import Report
    from grice.training.labelled import Labelled

__all__ = ["Trained", "train"]

Trained: TypeAlias = Literal["engagement", "relevance"]

OUTPUTS = {
    "engagement": "probability, 0 to 1, that a reply is labelled as engaging; 0.5 is where both "
    "are equally likely with the classes weighed alike",
    "relevance": "probability, 0 to 1, that a reply is labelled as relevant; 0.5 is where both "
    "are equally likely with the classes weighed alike",
}


def train(name: Trained, data: Labelled, models: Models, folder: Path, *, seed: int = 0) -> Report:
    """Adapt a shipped model to labelled replies and write it as a model folder.

    Args:
        name: The shipped model.
        data: Labelled replies.
        models: Opens the shipped model.
        folder: Where the new one is written.
        seed: Seed of the splits.

    Returns:
        What it gives on conversations left out, beside the shipped model.

    Raises:
        InputError: If the labels do not fit the replies.
        OutputError: If the folder cannot be written.
    """
    check_folder(folder)  # not after minutes of training
    reference = f"bundle:{name}"
    base_bundle = models.bundle(reference)
    adapted = adapt(
        data,
        models.open(f"bundle:{base_bundle.card.encoder}", Encoder),
        models.open(reference, PairClassifier),
        seed=seed,
    )
    facts = {
        "name": folder.resolve().name,
        "kind": "reply-head",
        "version": "1",
        "summary": f"{name} adapted to {adapted.report.n} labelled replies",
        "licence": "yours, as far as your data allow",
        "encoder": base_bundle.card.encoder,
        "inputs": "left: history, oldest turn first; right: the reply",
        "outputs": OUTPUTS[name],
    }
    training: dict[str, CardValue] = {
        "data": [f"{adapted.report.n} labelled replies of your own"],
        "selection": ["penalties: cross entropy on conversations left out"],
        "command": f"grice train {name}",
        "seeds": [seed],
    }
    settings = {"base": reference, "base_digest": base_bundle.digest}
    save_head(folder, adapted.head, facts, training, settings, _quality(adapted.report))
    return adapted.report


def _quality(report: Report) -> Iterator[dict[str, str | float | int]]:
    for measured in report.measured:
        low, high = measured.after.interval or (measured.after.value, measured.after.value)
        yield {
            "on": "your own conversations, left out in turn",
            "measure": measured.measure,
            "value": round(measured.after.value, 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "n": measured.after.n,
            "note": f"the shipped model gives {measured.before.value:.4f}",
        }
