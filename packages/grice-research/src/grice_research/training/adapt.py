"""A shipped model made to know your replies: a head on top of it, and whether it helps.

The head reads the shipped model's answer beside the replies themselves, so that a few hundred
labels are enough: where they say nothing new, it gives the old answer. What it is worth is
measured on replies of conversations that had no part in fitting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.errors import InputError
from grice.models.folder import CardValue, check_folder
from grice.models.loader import ModelLoader
from grice.models.protocols import Encoder, PairClassifier
from grice.numeric import sigmoid
from grice.progress import track
from grice.stats.comparison import compare_correlations
from grice.stats.correlations import correlation
from grice.stats.estimate import Estimate
from grice_research.metrics.metric_head import KIND as METRIC_HEAD
from grice_research.metrics.metric_head import metric_classifier
from grice_research.roc import roc_areas
from grice_research.training.labelled import Labelled
from grice_research.training.replies import (
    GRID,
    Head,
    Penalty,
    Readings,
    fit_head,
    folds_of,
    read_replies,
    save_head,
)

Floats = NDArray[np.float64]

HALF = 0.5


class Measured(msgspec.Struct, frozen=True):
    """One measure of the shipped model and of the new one, on the same held-out replies."""

    measure: str
    before: Estimate
    after: Estimate
    gain: Estimate | None


class Report(msgspec.Struct, frozen=True):
    """Result of a training run."""

    n: int
    conversations: int
    positive: float
    measured: tuple[Measured, ...]
    penalty: tuple[float, float]
    helps: bool
    says: tuple[str, ...]


def adapt(
    data: Labelled, encoder: Encoder, base: PairClassifier, *, seed: int = 0
) -> tuple[Head, Report]:
    """Fit a head on top of a classifier, with a report on conversations left out in turn."""
    if not len(data.pairs) == len(data.labels) == len(data.groups):
        raise InputError(
            f"{len(data.pairs)} replies, {len(data.labels)} labels, {len(data.groups)} "
            f"conversations: one label and one conversation a reply is needed"
        )
    readings = read_replies(data.pairs, encoder, base)
    labels = np.array(data.labels, np.float64)
    folds = folds_of(data.groups, seed=seed)
    out_of_fold = np.empty(len(labels))
    parts = np.unique(folds)
    for fold in track(parts, "folds", len(parts)):
        training, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if np.ptp(labels[training]) == 0:
            raise InputError(
                "all labels but those of a few conversations are the same: with those left out "
                "there is nothing to learn; label more conversations of the other kind"
            )
        inner = folds_of([data.groups[i] for i in training], seed=seed + 1)
        penalty = _choose(readings.at(training), labels[training], inner)
        head = fit_head(readings.at(training), labels[training], penalty)
        out_of_fold[held_out] = head(readings.at(held_out))
    penalty = _choose(readings, labels, folds)
    before = np.array(base.classify(data.pairs))
    after = np.asarray(sigmoid(out_of_fold.astype(np.float32)), np.float64)
    measured = tuple(_measured(labels, before, after, data.groups))
    gain = measured[0].gain
    report = Report(
        len(labels),
        len(set(data.groups)),
        float((labels >= HALF).mean()),
        measured,
        (penalty.scalars, penalty.vectors),
        gain is not None and gain.side(0) == "above",
        data.says,
    )
    return fit_head(readings, labels, penalty), report


def _choose(readings: Readings, labels: Floats, folds: NDArray[np.int64]) -> Penalty:
    """Return the penalty of the least cross entropy on folds left out."""

    def loss(penalty: Penalty) -> float:
        total = 0.0
        for fold in np.unique(folds):
            training, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            odds = fit_head(readings.at(training), labels[training], penalty)(readings.at(held_out))
            total += float((np.logaddexp(0, odds) - labels[held_out] * odds).sum())
        return total

    return min(GRID, key=loss)


def _measured(
    labels: Floats, before: Floats, after: Floats, groups: Sequence[str]
) -> list[Measured]:
    measured = []
    if np.ptp(before) > 0 and np.ptp(after) > 0:
        compared = compare_correlations(
            {"after": after, "before": before}, labels, groups=groups, baseline="before"
        )
        correlations = compared.estimates
        gain = compared.comparisons[0].difference
        measured.append(Measured("spearman", correlations["before"], correlations["after"], gain))
    else:
        old = correlation(after, labels, groups=groups)
        measured.append(Measured("spearman", old, old, None))
    if set(np.unique(labels)) <= {0.0, 1.0}:
        # It is the area under the curve of hard decisions.
        decided = {"before": list(before >= 0.5), "after": list(after >= 0.5)}
        two = list(roc_areas(decided, list(labels), groups=groups).areas.values())
        measured.append(Measured("balanced accuracy", two[0], two[1], None))
    return measured


Trained: TypeAlias = Literal["engagement", "relevance"]
LABELS = {"engagement": "is labelled as engaging", "relevance": "is labelled as relevant"}


def train(
    name: Trained, data: Labelled, models: ModelLoader, directory: Path, *, seed: int = 0
) -> Report:
    """Adapt a shipped model to labelled replies and write it as a model folder."""
    check_folder(directory)  # not after minutes of training
    reference = f"builtin:{name}"
    folder = models.folder(reference)
    base = models.load(reference, PairClassifier)
    facts = {
        "kind": "reply-head",
        "encoder": folder.card.encoder,
        "outputs": f"probability, 0 to 1, that a reply {LABELS[name]}; 0.5 is where both are "
        "equally likely with the classes weighed alike",
    }
    settings: dict[str, CardValue] = {"base": reference, "base_digest": folder.digest}
    return _adapted(name, base, data, models, directory, facts, settings, name, seed)


def train_metric(
    name: str, data: Labelled, models: ModelLoader, folder: Path, *, seed: int = 0
) -> Report:
    """Fit a head on top of any metric, which reads its value beside the reply, and write it."""
    check_folder(folder)
    base = metric_classifier(name, models)
    facts = {
        "kind": METRIC_HEAD,
        "encoder": "encoder",
        "outputs": "probability, 0 to 1, that a reply has the label, with the classes weighed "
        "alike",
    }
    settings: dict[str, CardValue] = {"metric": name, "metric_models": base.identity}
    return _adapted(name, base, data, models, folder, facts, settings, f"metric {name}", seed)


def _adapted(
    name: str,
    base: PairClassifier,
    data: Labelled,
    models: ModelLoader,
    folder: Path,
    facts: dict[str, str],
    settings: dict[str, CardValue],
    command: str,
    seed: int,
) -> Report:
    encoder = models.load(f"builtin:{facts['encoder']}", Encoder)
    head, report = adapt(data, encoder, base, seed=seed)
    facts |= {
        "name": folder.resolve().name,
        "version": "1",
        "summary": f"{name} adapted to {report.n} labelled replies",
        "licence": "yours, as far as your data allow",
        "inputs": "left: history, oldest turn first; right: the reply",
    }
    training: dict[str, CardValue] = {
        "data": [f"{report.n} labelled replies of your own"],
        "selection": ["penalties: cross entropy on conversations left out"],
        "command": f"grice train {command}",
        "seeds": [seed],
    }
    save_head(folder, head, facts, training, settings, _quality(report))
    return report


def _quality(report: Report) -> Iterator[dict[str, str | float | int]]:
    for measured in report.measured:
        low, high = measured.after.interval or (measured.after.value, measured.after.value)
        yield {
            "on": "your own conversations, left out in turn", "measure": measured.measure,
            "value": round(measured.after.value, 4), "low": round(low, 4), "high": round(high, 4),
            "n": measured.after.n, "note": f"the shipped model gives {measured.before.value:.4f}",
        }  # fmt: skip
