"""Commands on a few human ratings: calibrate and estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import Output, write_rows
from grice.errors import InputError
from grice.tables import Lines, Table, number, value_and_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.cli.derive import Names, OutputPath, Scale
    from grice.evaluation.ratings import Calibration, EstimateResult
    from grice.tables import View


def calibrate(
    files: Sequence[str],
    *,
    output: OutputPath | None = None,
    apply: str | None = None,
    metrics: Names = (),
    scale: Scale | None = None,
    level: float = 0.9,
    across_signatures: bool = False,
    seed: int = 0,
) -> Output | None:
    """Map scores to the scale of your raters, from a few ratings.

    Args:
        files (FILE): LABELS.jsonl OUT.jsonl to fit a map; with --apply OUT.jsonl alone; scores of
            another tool are FILE#COLUMN
        output: the map; with --apply the calibrated scores, a line each
        apply (MAP.json): apply this map
        metrics: all by default
        seed: every split
    """
    from grice.evaluation import ratings

    if apply is not None:
        if len(files) != 1:
            raise InputError("--apply takes one file of scores, as grice score wrote it")
        read = ratings.read_calibration(apply)
        rows = ratings.apply(read, files[0], across_signatures=across_signatures)
        write_rows(rows, output)
        return None
    if len(files) != 2:
        raise InputError(
            "to fit a map give two files, grice calibrate LABELS.jsonl OUT.jsonl -o MAP.json; to "
            "apply one, grice calibrate --apply MAP.json OUT.jsonl"
        )
    result = ratings.calibrate(*files, metrics=metrics, scale=scale, level=level, seed=seed)
    if output is not None:
        write_rows([result], output)
    return Output([result], _map_view(result))


def _map_view(calibration: Calibration) -> View:
    rows = []
    for fitted in calibration.maps:
        ratings, radius = fitted.map.ratings, fitted.map.radius
        rows.append(
            (
                fitted.metric,
                *value_and_bounds(fitted.correlation, "+.2f"),
                f"{ratings[0]:.2f} – {ratings[-1]:.2f}",
                "whole scale" if radius is None else f"± {radius:.2f}",
                f"{fitted.n:,}",
            )
        )
    band = f"{calibration.maps[0].map.level:.0%} band"
    yield Table(("metric", "Spearman", "95 % interval", "ratings", band, "n"), rows)
    yield Lines(calibration.says)


def estimate(
    labels: str,
    scores: str,
    *,
    metrics: Names = (),
    scale: Scale | None = None,
    level: float = 0.95,
) -> Output:
    """Estimate the mean rating of all conversations from a few ratings.

    Args:
        labels (LABELS): ratings of a random sample
        scores (OUT.jsonl): scores of all conversations; of another tool: FILE#COLUMN
        metrics: all by default
    """
    from grice.evaluation.ratings import estimate

    result = estimate(labels, scores, metrics=metrics, scale=scale, level=level)
    return Output([result], _estimate_view(result))


def _estimate_view(result: EstimateResult) -> View:
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
