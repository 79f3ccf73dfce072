"""From labelled replies to a model folder: what ``grice train`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from grice.models.bundle import check_folder
from grice.models.protocols import Encoder, PairClassifier
from grice_research.metrics.metric_head import KIND as METRIC_HEAD
from grice_research.metrics.metric_head import metric_classifier
from grice_research.training.adapt import adapt
from grice_research.training.bundle import save_head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice.models.bundle import CardValue
    from grice.models.models import Models
    from grice_research.training.adapt import Report
    from grice_research.training.labelled import Labelled

ENCODER = "encoder"
"""The encoder of heads on metrics, which may have none of their own."""

Trained: TypeAlias = Literal["engagement", "relevance"]

OUTPUTS = {
    "engagement": "probability, 0 to 1, that a reply is labelled as engaging; 0.5 is where both "
    "are equally likely with the classes weighed alike",
    "relevance": "probability, 0 to 1, that a reply is labelled as relevant; 0.5 is where both "
    "are equally likely with the classes weighed alike",
}


def train(name: Trained, data: Labelled, models: Models, folder: Path, *, seed: int = 0) -> Report:
    """Adapt a shipped model to labelled replies and write it as a model folder."""
    check_folder(folder)  # not after minutes of training
    reference = f"bundle:{name}"
    bundle = models.bundle(reference)
    base = models.open(reference, PairClassifier)
    settings: dict[str, CardValue] = {"base": reference, "base_digest": bundle.digest}
    kind = _Kind("reply-head", name, OUTPUTS[name], bundle.card.encoder, f"grice train {name}")
    return _adapted(kind, base, data, models, folder, settings, seed)


def train_metric(
    name: str, data: Labelled, models: Models, folder: Path, *, seed: int = 0
) -> Report:
    """Fit a head on top of any metric, which reads its value beside the reply, and write it."""
    check_folder(folder)
    base = metric_classifier(name, models)
    settings: dict[str, CardValue] = {"metric": name, "metric_models": base.identity}
    outputs = "probability, 0 to 1, that a reply has the label, with the classes weighed alike"
    kind = _Kind(METRIC_HEAD, name, outputs, ENCODER, f"grice train metric {name}")
    return _adapted(kind, base, data, models, folder, settings, seed)


class _Kind(NamedTuple):
    """What the card of an adapted model says of it."""

    kind: str
    base: str
    outputs: str
    encoder: str
    command: str


def _adapted(
    kind: _Kind,
    base: PairClassifier,
    data: Labelled,
    models: Models,
    folder: Path,
    settings: dict[str, CardValue],
    seed: int,
) -> Report:
    encoder = models.open(f"bundle:{kind.encoder}", Encoder)
    adapted = adapt(data, encoder, base, seed=seed)
    facts = {
        "name": folder.resolve().name,
        "kind": kind.kind,
        "version": "1",
        "summary": f"{kind.base} adapted to {adapted.report.n} labelled replies",
        "licence": "yours, as far as your data allow",
        "encoder": kind.encoder,
        "inputs": "left: history, oldest turn first; right: the reply",
        "outputs": kind.outputs,
    }
    training: dict[str, CardValue] = {
        "data": [f"{adapted.report.n} labelled replies of your own"],
        "selection": ["penalties: cross entropy on conversations left out"],
        "command": kind.command,
        "seeds": [seed],
    }
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
