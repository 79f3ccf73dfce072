"""Statistics of a set of graphs: table 3 of Saha et al. 2021, order, and leaks of the stance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError
from grice_tasks.explagraphs.check import is_internal
from grice_tasks.explagraphs.graph import (
    Graph,
    depth,
    depth_first,
    find_cycle,
    is_linear,
    links_of,
    read_graph,
)
from grice_tasks.explagraphs.wording import graph_polarity, is_negative, word_polarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.estimate import Estimate
    from grice_tasks.explagraphs.samples import Sample, SampleGraph, Stance

DEPTHS = ((1, 3, "depth 1 to 3"), (4, 5, "depth 4 to 5"), (6, 1_000_000, "depth over 5"))


class Shape(NamedTuple):
    """The size and form of one graph."""

    concepts: int
    facts: int
    external: int  # concepts whose characters stand in neither text
    depth: int | None  # facts on the longest directed path; None with a cycle
    linear: bool
    topological: bool  # whether no fact comes behind one that starts where it ends
    depth_first: bool


class Range(msgspec.Struct, frozen=True):
    """Least, most and mean of a count."""

    least: int
    most: int
    mean: float


class Shapes(msgspec.Struct, frozen=True):
    """A set of graphs in figures; shares are 0 to 1."""

    n: int
    concepts: Range
    facts: Range
    external: Range
    depth: Range  # of the graphs without cycle
    non_linear: float
    with_external: float
    topological: float
    depth_first: float
    cyclic: int


class Leak(msgspec.Struct, frozen=True):
    """How often a rule without understanding finds the stance."""

    rule: str  # ``majority``, ``words`` or ``graph``: parity of negations in texts or graph
    share: Estimate


class Description(NamedTuple):
    """Statistics of a set of graphs."""

    shapes: Shapes
    negated: dict[str, float]
    relations: dict[str, Counter[str]]
    leaks: list[Leak]  # empty without stances


def describe_graphs(graphs: Sequence[SampleGraph]) -> Description:
    """Return sizes, relations and order of graphs, and how far form gives the stance away."""
    samples = [msgspec.structs.replace(entry.sample, graphs=(entry.graph,)) for entry in graphs]
    known = any(sample.stance for sample in samples)
    return Description(
        shapes(samples),
        negation_by_stance(samples),
        relations_by_stance(samples),
        leaks(samples) if known else [],
    )


def shape_of(graph: Graph, belief: str, argument: str) -> Shape:
    """Return size and form of a graph; case does not count."""
    graph = graph.lower()
    links = links_of(graph)
    cyclic = bool(find_cycle(links))
    heads = [edge.head for edge in graph.edges]
    late = any(edge.tail in heads[:place] for place, edge in enumerate(graph.edges))
    return Shape(
        concepts=len(graph.concepts),
        facts=len(set(graph.edges)),
        external=sum(not is_internal(concept, belief, argument) for concept in graph.concepts),
        depth=None if cyclic else depth(graph),
        linear=is_linear(graph),
        topological=not cyclic and not late,
        depth_first=depth_first(graph) == graph,
    )


def shapes(samples: Sequence[Sample]) -> Shapes:
    """Return the statistics of the graphs of all samples."""
    forms = [
        shape_of(read_graph(text).graph, sample.belief, sample.argument)
        for sample in samples
        for text in sample.graphs
    ]
    if not forms:
        raise InputError("no sample has a graph to count")
    n = len(forms)
    deep = [form.depth for form in forms if form.depth is not None]
    return Shapes(
        n=n,
        concepts=_range([form.concepts for form in forms]),
        facts=_range([form.facts for form in forms]),
        external=_range([form.external for form in forms]),
        depth=_range(deep or [0]),
        non_linear=sum(not form.linear for form in forms) / n,
        with_external=sum(form.external > 0 for form in forms) / n,
        topological=sum(form.topological for form in forms) / n,
        depth_first=sum(form.depth_first for form in forms) / n,
        cyclic=n - len(deep),
    )


def _range(counts: Sequence[int]) -> Range:
    return Range(min(counts), max(counts), sum(counts) / len(counts))


def relations_by_stance(samples: Sequence[Sample]) -> dict[str, Counter[str]]:
    """Return how often each relation stands in the graphs of each stance."""
    counts: dict[str, Counter[str]] = {}
    for sample in samples:
        counted = counts.setdefault(sample.stance or "unknown", Counter())
        for text in sample.graphs:
            counted.update(edge.relation.lower() for edge in read_graph(text).graph.edges)
    return counts


def negation_by_stance(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the share of facts with a negated relation by stance; ``antonym of`` is none.

    So the published share counts: 0.110 in support graphs, 0.244 in counter graphs.
    """
    shares = {}
    for stance, counts in relations_by_stance(samples).items():
        negated = [name for name in counts if is_negative(name) and name != "antonym of"]
        shares[stance] = sum(counts[name] for name in negated) / max(1, counts.total())
    return shares


def leaks(samples: Sequence[Sample]) -> list[Leak]:
    """Return how far the stance follows from the form alone, on samples with stance and graph."""
    from grice.stats import mean

    known = [sample for sample in samples if sample.stance and sample.graphs]
    if not known:
        raise InputError("no sample has both a stance and a graph")
    stances = [sample.stance for sample in known]
    most = Counter(stances).most_common(1)[0][0]
    guesses: dict[str, list[Stance | None]] = {
        "majority": [most] * len(known),
        "words": [word_polarity(sample.belief, sample.argument) for sample in known],
        "graph": [graph_polarity(sample.graphs[0]) for sample in known],
    }
    beliefs = [sample.belief.lower() for sample in known]
    found = []
    for rule, guessed in guesses.items():
        right = [float(guess == stance) for guess, stance in zip(guessed, stances, strict=True)]
        found.append(Leak(rule, mean(right, groups=beliefs, bounds=(0, 1))))
    return found


def parts_by_shape(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """Return the numbers of the samples of each depth and linearity of their gold graph."""
    parts: dict[str, list[int]] = {name: [] for *_, name in DEPTHS}
    parts |= {"linear": [], "non-linear": []}
    for number, sample in enumerate(samples):
        if not sample.graphs:
            continue
        form = shape_of(read_graph(sample.graphs[0]).graph, sample.belief, sample.argument)
        parts["linear" if form.linear else "non-linear"].append(number)
        for least, most, name in DEPTHS:
            if form.depth is not None and least <= form.depth <= most:
                parts[name].append(number)
    return {name: numbers for name, numbers in parts.items() if numbers}
