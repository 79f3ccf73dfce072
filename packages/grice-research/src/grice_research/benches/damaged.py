"""Conversations that were damaged on purpose, each beside its original.

A metric is right about a pair if the original scores higher; ties count half, so that 0.5 is
chance. Versions of one original are one item for the intervals. Nothing is trained or chosen on
these conversations, but coherence learned from damages of such kinds, made on other conversations.
Metrics are held against trivial baselines over all pairs alone: for nearly every kind of damage
there is some count that sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.evaluation.pairs import EVERY, read_pairs
from grice.stats import mean
from grice_research.benches._turns import quality_metrics
from grice_research.benches.trivial_baselines import BASELINES, JUDGED
from grice_research.comparisons import RIGHT
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.evaluation.datasets import Level
    from grice.evaluation.pairs import Pair, PairedSet
    from grice_research.context import BenchContext

TITLE = "Conversations damaged on purpose, beside their originals"
PAPER = "github.com/e0397123/comp-analysis (GPL-3.0), from conversations of FED and of DECODE"
SET = "robust_dialogues"
LEVEL: Level = "dialogue"


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield how often each metric and baseline is right, over all pairs and by kind of damage."""
    paired = read_pairs(SET, context.folder)
    metrics = quality_metrics(JUDGED[LEVEL])
    right = {name: _right(context, name, paired) for name in (*metrics, *BASELINES[LEVEL])}
    trained = {name: context.trained_share(name, SET) for name in metrics}
    kinds = dict.fromkeys(pair.kind for pair in paired.pairs)
    for kind in (EVERY, *kinds):
        rows = [i for i, pair in enumerate(paired.pairs) if kind in (EVERY, pair.kind)]
        chosen = {name: [values[i] for i in rows] for name, values in right.items()}
        yield from _of_kind(
            context, f"{SET}:{kind}", [paired.pairs[i] for i in rows], chosen, trained
        )


def _of_kind(
    context: BenchContext,
    on: str,
    pairs: Sequence[Pair],
    right: Mapping[str, Sequence[float]],
    trained: Mapping[str, float],
) -> Iterator[Row]:
    """Yield the share of pairs that each score is right on, and of metrics less baselines."""
    sources = [pair.source for pair in pairs]
    for name, values in right.items():
        yield Row(
            row=name,
            measure=RIGHT,
            estimate=mean(values, groups=sources, bounds=(0, 1)),
            kind="ours" if name in trained else "baseline",
            on=on,
            metric=name if name in trained else "",
            trained=trained.get(name, 0.0),
            signature=f"{context.grader(name)[1][name]}|on:{on}",
        )
    for name in trained if on == f"{SET}:{EVERY}" else ():
        for baseline in BASELINES[LEVEL]:
            gaps = [a - b for a, b in zip(right[name], right[baseline], strict=True)]
            yield Row(
                row=f"{name} less {baseline}",
                measure=f"{DIFFERENCE}{RIGHT}",
                estimate=mean(gaps, groups=sources, bounds=(-1, 1)),
                kind="ours",
                on=on,
                metric=name,
                baseline=baseline,
            )


def _right(context: BenchContext, metric: str, paired: PairedSet) -> list[float]:
    """Return of each pair whether the original scores higher: 1, 0, or 0.5 for a tie."""
    grader, _ = context.grader(metric)
    talks = [item.conversation for item in paired.rated.items]
    scores = {score.conversation: score.value for score in grader.score(talks)}
    values = [(scores[pair.original.id], scores[pair.damaged.id]) for pair in paired.pairs]
    return [
        0.5 if good is None or bad is None or good == bad else float(good > bad)
        for good, bad in values
    ]
