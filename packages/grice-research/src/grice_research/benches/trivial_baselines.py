"""The metrics that ship beside trivial baselines, on every rated set at hand.

A metric that agrees with people no better than the cosine with the turn before, or than length,
shows nothing of its own there; one that ranks replies as such a baseline does is that baseline. Of
sets that hold the same conversations only the first is taken, for the others are no new evidence.
The aspect is the overall one, and that which a metric is about where it was rated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from grice.errors import InputError
from grice.evaluation.datasets import Level, Rated, RatedSet, known_sets
from grice.stats import correlation
from grice_research.benches._turns import quality_metrics
from grice_research.context import BenchContext, Skipped, measured, paired_difference
from grice_research.figures import Figure, Gap, figure, gap_to

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
SPEARMAN: Literal["spearman"] = "spearman"


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield each metric against people, with its gaps to trivial baselines, and the baselines."""
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
        baselines = BASELINES[rated.set.level] if ours else ()
        yield figure(
            row=name,
            measure=SPEARMAN,
            estimate=estimate,
            kind="ours" if ours else "baseline",
            on=f"{rated.set.name}:{aspect}",
            why=context.trained(name, rated.set.name),
            signature=f"{context.grader(name)[1][name]}|on:{rated.fingerprint}:{aspect}",
            metric=name * ours,
            gaps=tuple(_gaps(values, {base: columns[base] for base in baselines}, rated, aspect)),
            trained=context.trained_share(name, rated.set.name) * ours,
        )


def _gaps(
    values: Sequence[float | None],
    baselines: Mapping[str, Sequence[float | None]],
    rated: Rated,
    aspect: str,
) -> Iterator[Gap]:
    for name, other in baselines.items():
        try:
            gap = paired_difference(SPEARMAN, values, other, rated, aspect)
            alike = correlation(values, other, kind=SPEARMAN, groups=rated.groups)
        except InputError:
            continue
        yield gap_to(name, gap, alike.value)
