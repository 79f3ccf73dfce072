"""The metrics that ship beside trivial baselines, on every rated set at hand.

A metric that agrees with people no better than the cosine with the turn before, or than length,
shows nothing of its own there; one that ranks replies as such a baseline does is that baseline. Of
sets that hold the same conversations only the first is taken, for the others are no new evidence.
The aspect is the overall one, and that which a metric is about where it was rated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from grice.errors import InputError
from grice.evaluation.datasets import Level, Rated, RatedSet, known_sets
from grice.stats import correlation
from grice_research.benches._turns import quality_metrics
from grice_research.context import BenchContext, Skipped, measured, paired_difference
from grice_research.figures import DIFFERENCE, LIKENESS, Figure, figure

TITLE = "The metrics that ship beside trivial baselines on rated sets"
PAPER = "The rated sets of each row; grice meta-eval names their sources"

BASELINES: dict[Level, tuple[str, ...]] = {
    "turn": ("cosine_last_turn", "log_length"),
    "dialogue": (
        "mean_adjacent_cosine",
        "mean_cosine_to_user",
        "mean_user_words",
        "mean_system_words",
        "turn_count",
    ),
}
ASPECTS = {
    "coherence": ("coherent",),
    "commonsense": ("semantically_appropriate",),
    "engagement": ("engaging", "interesting"),
    "relevance": ("relevant", "relevance", "maintains_context"),
}
"""Aspect of a metric, as sets call it."""
JUDGED = {"turn": "response", "dialogue": "conversation"}
"""Target of a metric whose own scores are rated in a set, by its level."""
SPEARMAN = "spearman"


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield each metric and baseline against people, their differences, and how alike they are."""
    for entry in independent(known_sets().values()):
        try:
            rated = context.rated(entry.name)
        except Skipped:
            continue
        yield from _of_set(context, rated)


def independent(sets: Iterable[RatedSet]) -> list[RatedSet]:
    """Return the sets that share no conversation with one of the same level before them."""
    taken: list[RatedSet] = []
    for entry in sets:
        same = {other.name for other in taken if other.level == entry.level}
        if same.isdisjoint(entry.overlaps):
            taken.append(entry)
    return taken


def _of_set(context: BenchContext, rated: Rated) -> Iterator[Figure]:
    entry = rated.set
    metrics = quality_metrics(JUDGED[entry.level])
    baselines = BASELINES[entry.level]
    columns = {name: context.metric_values(name, entry.name) for name in (*metrics, *baselines)}
    about = {
        aspect: [name for name in metrics if aspect in ASPECTS.get(name, ())]
        for aspect in entry.all_aspects
    }
    for aspect, judges in {**about, entry.default: metrics}.items():
        if judges:
            chosen = {name: columns[name] for name in (*judges, *baselines)}
            yield from _of_aspect(context, rated, aspect, judges, chosen)


def _of_aspect(
    context: BenchContext,
    rated: Rated,
    aspect: str,
    metrics: Sequence[str],
    columns: Mapping[str, Sequence[float | None]],
) -> Iterator[Figure]:
    for name, values in columns.items():
        ours = name in metrics
        try:
            estimate = measured(SPEARMAN, values, rated, aspect)
        except InputError:
            continue  # a column that never changes, such as a cosine without any context
        yield figure(
            row=name,
            measure=SPEARMAN,
            estimate=estimate,
            kind="ours" if ours else "baseline",
            on=f"{rated.set.name}:{aspect}",
            why=context.trained(name, rated.set.name),
            signature=_signature(context, name, rated, aspect),
            metric=name * ours,
            trained=context.trained_share(name, rated.set.name) * ours,
        )
    for metric in metrics:
        for baseline in BASELINES[rated.set.level]:
            yield from _compared(context, metric, baseline, columns, rated, aspect)


def _compared(
    context: BenchContext,
    metric: str,
    baseline: str,
    columns: Mapping[str, Sequence[float | None]],
    rated: Rated,
    aspect: str,
) -> Iterator[Figure]:
    pair = columns[metric], columns[baseline]
    groups = rated.groups
    try:
        gap = paired_difference("spearman", *pair, rated, aspect)
        alike = correlation(*pair, kind="spearman", groups=groups)
    except InputError:
        return
    signature = _signature(context, metric, rated, aspect)
    compared = partial(
        figure,
        kind="ours",
        on=f"{rated.set.name}:{aspect}",
        metric=metric,
        baseline=baseline,
        signature=signature,
    )
    yield compared(f"{metric} less {baseline}", f"{DIFFERENCE}{SPEARMAN}", gap)
    yield compared(metric, f"{LIKENESS}{baseline}", alike)


def _signature(context: BenchContext, metric: str, rated: Rated, aspect: str) -> str:
    return f"{context.grader(metric)[1][metric]}|on:{rated.fingerprint}:{aspect}"
