"""``grice estimate``: the mean rating of everything, from a few labels and a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.derive import names
from grice.cli.output import Output
from grice.tables import Lines, Table, number, value_and_bounds

if TYPE_CHECKING:
    from grice.cli.derive import Scale
    from grice.evaluation.estimate import EstimateResult
    from grice.tables import View


def run(
    labels: str,
    scores: str,
    *,
    metrics: str | None = None,
    scale: Scale | None = None,
    level: float = 0.95,
) -> Output:
    """Estimate the mean rating of all conversations from a few ratings.

    Args:
        labels (LABELS): ratings of a random sample
        scores (OUT.jsonl): scores of all conversations; of another tool: FILE#COLUMN
        metrics: all by default
    """
    from grice.evaluation.estimate import estimate

    result = estimate(labels, scores, metrics=names(metrics), scale=scale, level=level)
    return Output([result], _view(result))


def _view(result: EstimateResult) -> View:
    rated, others = f"{result.labelled:,} rated", f"{result.unlabelled:,} other {result.unit}s"
    yield Lines([f"{rated} and {others}"], style="bold")
    alone = result.labels_only
    rows: list[tuple[str, ...]] = [("labels alone", *value_and_bounds(alone), "", "")]
    for metric in result.metrics:
        saved = (number(metric.labels_saved, "+.0f"), f"{metric.weight:.2f}")
        rows.append((f"with {metric.metric}", *value_and_bounds(metric.mean), *saved))
    yield Table(("mean rating", "", f"{alone.level:.0%} interval", "labels saved", "weight"), rows)
    yield Lines(line for metric in result.metrics for line in metric.says)
    yield Lines([*([alone.note] if alone.note else []), *result.remarks], style="yellow")
