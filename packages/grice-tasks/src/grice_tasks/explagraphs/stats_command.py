"""``grice graph stats``: what a set of explanation graphs is like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import emit
from grice.errors import plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse

    from grice.tables import View
    from grice_tasks.explagraphs.analysis import Shapes
    from grice_tasks.explagraphs.files import Description

LEAKS = {
    "majority": "the more frequent one",
    "words": "negations in both texts, even or odd",
    "graph": "negations in the graph, even or odd",
}


def run(arguments: argparse.Namespace) -> int:
    """Print sizes, relations, order, and how far form gives the stance away."""
    from grice_tasks.explagraphs.files import describe_graphs, read_graphs

    description = describe_graphs(read_graphs(arguments.samples, arguments.predictions))
    emit(description._asdict(), _view(description), as_json=arguments.json)
    return 0


def _view(description: Description) -> View:
    yield from _shapes(description.shapes)
    negated = [(stance, number(part)) for stance, part in description.negated.items()]
    yield Table(("share of negated facts", ""), negated)
    relations = description.relations
    names = {name for counts in relations.values() for name in counts}
    totals = {name: sum(counts[name] for counts in relations.values()) for name in names}
    rows = [
        (name, *(f"{counts[name]:,}" for counts in relations.values()))
        for name in sorted(names, key=lambda name: (-totals[name], name))
    ]
    yield Table(("relation", *relations), rows)
    if description.leaks:
        leaks = [
            (LEAKS[leak.rule], number(leak.share.value), bounds(leak.share))
            for leak in description.leaks
        ]
        yield Table(("stance by", "right", "95 %"), leaks)


def _shapes(shapes: Shapes) -> View:
    yield Lines([f"{plural(shapes.n, 'graph')}, {shapes.cyclic:,} with a cycle"], style="bold")
    sizes = {
        "concepts": shapes.concepts,
        "facts": shapes.facts,
        "external concepts": shapes.external,
        "depth": shapes.depth,
    }
    rows = [
        (name, str(size.least), str(size.most), number(size.mean)) for name, size in sizes.items()
    ]
    yield Table(("per graph", "least", "most", "mean"), rows)
    parts = {
        "more than a chain": shapes.non_linear,
        "with an external concept": shapes.with_external,
        "in topological order": shapes.topological,
        "in depth-first order": shapes.depth_first,
    }
    yield Table(("share of graphs", ""), [(name, number(part)) for name, part in parts.items()])
