"""Published architectures, trained here: RUBER's grid and predictive engagement on a small encoder.

The figures are those that recipes wrote into the folder of weights; nothing is computed here. Each
network was fitted with three seeds, of which the one in the middle stands in the row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.stats.estimate import Estimate
from grice_research.context import Skipped
from grice_research.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice_research.context import BenchContext

TITLE = "Published architectures, trained here on a small encoder"
PAPER = (
    "Ghazarian et al., Better Automatic Evaluation of Open-Domain Dialogue Systems with "
    "Contextualized Embeddings, NeuralGen 2019; Predictive Engagement, AAAI 2020"
)

ENCODER = "all-MiniLM-L6-v2 (22 million) frozen, in place of BERT-base (110 million)"
RUBER = {
    "static, max, ranking": (0.19, 0.18),
    "static, max, cross-entropy": (0.25, 0.25),
    "static, mean, ranking": (0.16, 0.18),
    "static, mean, cross-entropy": (0.04, 0.06),
    "static, bi-rnn, ranking": (0.28, 0.30),
    "static, bi-rnn, cross-entropy": (0.22, 0.25),
    "contextual, max, ranking": (0.41, 0.36),
    "contextual, max, cross-entropy": (0.55, 0.45),
    "contextual, mean, ranking": (0.34, 0.27),
    "contextual, mean, cross-entropy": (0.32, 0.29),
    "contextual, bi-rnn, ranking": (0.38, 0.31),
    "contextual, bi-rnn, cross-entropy": (0.29, 0.24),
}
"""Table 2.3 of the thesis: Pearson and Spearman on 300 generated replies."""
ENGAGEMENT = {
    "ConvAI test": ("balanced_accuracy", 0.76),
    "297 pairs of the study": ("balanced_accuracy", 0.64),
    "90 held-out DailyDialog pairs, not transferred": ("balanced_accuracy", None),
    "90 held-out DailyDialog pairs": ("balanced_accuracy", 0.7426),
    "generated replies": ("spearman", 0.16),
    "human replies": ("spearman", 0.52),
    "all replies": ("spearman", 0.45),
}
"""Figures 3.4 and the released checkpoint's validation; table 3.5, mean pooling."""
BASELINES = (
    ("RUBER", "cosine of query and reply", "spearman", 0.251),
    ("RUBER", "shorter is better (log characters)", "spearman", 0.367),
    ("engagement human replies", "log characters", "spearman", 0.730),
    ("engagement all replies", "cosine of query and reply", "spearman", 0.544),
)
"""Recorded with the protocols (``ruber_predeng_baselines.json``)."""


class _Fitted(NamedTuple):
    """The seed in the middle, and the values of all."""

    estimate: Estimate
    values: tuple[float, ...]

    @property
    def seeds(self) -> str:
        return ", ".join(f"{value:.3f}" for value in self.values)


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield a row for each cell and set that was fitted, beside the printed figure.

    Raises:
        Skipped: If recipes left no figures.
    """
    grid = _records(context.weights("ruber") / "grid_research.jsonl")
    engagement = _records(context.weights("engagement") / "published.jsonl")
    if not grid and not engagement:
        raise Skipped("no figures of the recipes ruber and engagement in the folder of weights")
    for cell, printed in RUBER.items():
        of_cell = [record for record in grid if record["cell"] == cell]
        for measured, value in zip(("pearson", "spearman"), printed, strict=True):
            if of_cell:
                fitted = _middle([record[measured] for record in of_cell])
                pairs, epochs = of_cell[0]["pairs"], of_cell[0]["epochs"]
                what = f"{pairs:,} pairs of DailyDialog of 22,000, {epochs} epochs"
                static = "PPMI and SVD of these pairs in place of word2vec"
                below = static if cell.startswith("static") else ENCODER
                why = f"{below}; {what}; three seeds: {fitted.seeds}"
                yield _row(f"RUBER {cell}", measured, fitted.estimate, value, "RUBER", why)
    for on, (measured, printed_value) in ENGAGEMENT.items():
        of_set = [record for record in engagement if record["on"] == on]
        if of_set:
            fitted = _middle(of_set)
            why = f"{ENCODER}; another order of conversations; three seeds: {fitted.seeds}"
            name = f"engagement {on}"
            yield _row(name, measured, fitted.estimate, printed_value, "MLP BERT(mean)", why)
    for about, name, measured, value in BASELINES:
        yield Row(
            row=f"{about}: {name}",
            measure=measured,
            estimate=None,
            kind="baseline",
            published=value,
            why="recorded with the protocol; not computed here",
        )


def _row(
    name: str, measured: str, estimate: Estimate, printed: float | None, beside: str, why: str
) -> Row:
    return Row(
        row=f"{name}, trained here",
        measure=measured,
        estimate=estimate,
        kind="ours",
        published=printed,
        beside=beside if printed is not None else "",
        why=why,
        signature=f"{name}|published architecture|MiniLM",
    )


def _middle(records: list[dict[str, float]]) -> _Fitted:
    ordered = sorted(records, key=lambda record: record["value"])
    middle = ordered[(len(ordered) - 1) // 2]
    estimate = Estimate(
        middle["value"], middle["low"], middle["high"], 0.95, int(middle["n"]), "the recipe's"
    )
    return _Fitted(estimate, tuple(record["value"] for record in ordered))


def _records(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
