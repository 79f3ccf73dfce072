"""``grice graph stats``: what a set of explanation graphs is like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import counted

if TYPE_CHECKING:
    import argparse

    from grice.graphs.analysis import Shapes
    from grice.graphs.files import Description

__all__ = ["run"]

LEAKS = {
    "majority": "the more frequent one",
    "words": "negations in both texts, even or odd",
    "graph": "negations in the graph, even or odd",
}


def run(arguments: argparse.Namespace) -> int:
    """Print sizes, relations, order, and how far form gives the stance away."""
    from grice.cli.output import print_json
    from grice.graphs.files import describe_graphs, read_graphs

    description = describe_graphs(read_graphs(arguments.samples, arguments.predictions))
    if arguments.json:
        print_json(description._asdict())
    else:
        _print_description(description)
    return 0


def _print_description(description: Description) -> None:
    from grice.cli.tables import bounds, number, print_table

    _print_shapes(description.shapes)
    negated = [(stance, number(part)) for stance, part in description.negated.items()]
    print_table(("share of negated facts", ""), negated)
    relations = description.relations
    names = {name for counts in relations.values() for name in counts}
    totals = {name: sum(counts[name] for counts in relations.values()) for name in names}
    rows = [
        (name, *(f"{counts[name]:,}" for counts in relations.values()))
        for name in sorted(names, key=lambda name: (-totals[name], name))
    ]
    print_table(("relation", *relations), rows)
    if description.leaks:
        leaks = [
            (LEAKS[leak.rule], number(leak.found.value), bounds(leak.found))
            for leak in description.leaks
        ]
        print_table(("stance by", "right", "95 %"), leaks)


def _print_shapes(shapes: Shapes) -> None:
    from grice.cli.tables import number, print_lines, print_table

    print_lines([f"{counted(shapes.n, 'graph')}, {shapes.cyclic:,} with a cycle"], style="bold")
    sizes = {
        "concepts": shapes.concepts,
        "facts": shapes.facts,
        "external concepts": shapes.external,
        "depth": shapes.depth,
    }
    print_table(
        ("per graph", "least", "most", "mean"),
        [
            (name, str(size.least), str(size.most), number(size.mean))
            for name, size in sizes.items()
        ],
    )
    parts = {
        "more than a chain": shapes.non_linear,
        "with an external concept": shapes.with_external,
        "in topological order": shapes.topological,
        "in depth-first order": shapes.depth_first,
    }
    print_table(("share of graphs", ""), [(name, number(part)) for name, part in parts.items()])
