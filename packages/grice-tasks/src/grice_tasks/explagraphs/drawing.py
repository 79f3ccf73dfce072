"""A picture of a graph as SVG, from left to right, in layers; and a page of pictures.

External concepts, which stand in neither text, have a dashed red frame, internal ones a plain
one. Facts that close a cycle are drawn backwards, in red.
"""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import networkx
from markupsafe import Markup

from grice.errors import InputError, did_you_mean
from grice_tasks.explagraphs.check import check_graph, is_internal
from grice_tasks.explagraphs.graph import Graph, find_cycle, links_of, read_graph
from grice_tasks.pages import render_page, template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from networkx import DiGraph

    from grice_tasks.explagraphs.samples import SampleGraph

LARGEST_DRAWN = 200
CHARACTER, BOX_HEIGHT, ROW, MARGIN = 7.4, 30.0, 64.0, 24.0
SWEEPS = 4
Cell = tuple[str, int]
"""A concept and 0, or a link and a layer that it runs through."""
Place = tuple[float, float, float]
"""Middle of a cell, and half of its width."""

STYLE = """text{font:13px sans-serif;fill:#1b1b1b}.relation{font-size:12px;text-anchor:middle;
paint-order:stroke;stroke:#fff;stroke-width:5px}.concept{text-anchor:middle}.internal{fill:#f3f6fb;
stroke:#33567f;stroke-width:1.4}.external{fill:#fff5f4;stroke:#c0332b;stroke-width:1.6;
stroke-dasharray:5 3}.fact{fill:none;stroke:#666;stroke-width:1.3}.back{stroke:#c0332b}
.said{font-size:14px}"""


class _Link(NamedTuple):
    """A fact in the direction it is laid out, left to right."""

    left: str
    right: str
    label: str
    back: bool

    def cells(self, layer: Mapping[str, int]) -> list[Cell]:
        """Return the cells the link runs through: its ends and one in each layer between."""
        name = f"{self.left}\0{self.right}\0{self.back}"
        between = range(layer[self.left] + 1, layer[self.right])
        return [(self.left, 0), *((name, at) for at in between), (self.right, 0)]


def draw_graph(graph: Graph, belief: str = "", argument: str = "", stance: str = "") -> str:
    """Return an SVG document; the texts stand above the graph and say what is internal."""
    if len(graph.edges) > LARGEST_DRAWN:
        raise InputError(f"{len(graph.edges):,} facts; at most {LARGEST_DRAWN} can be drawn")
    labels: dict[tuple[str, str], list[str]] = {}
    for edge in graph.edges:
        labels.setdefault((edge.head, edge.tail), []).append(edge.relation)
    layer, back = _layers(links_of(graph))
    links = []
    for (head, tail), relations in labels.items():
        turned = (head, tail) in back
        ends = (tail, head) if turned else (head, tail)
        links.append(_Link(*ends, " / ".join(relations), turned))
    titled = (("Belief", belief), ("Argument", argument), ("Stance", stance))
    captions = [f"{name}: {text}" for name, text in titled if text]
    lines = [line for text in captions for line in wrap(text, 100)]
    top = MARGIN + 20 * len(lines) + (12 if lines else 0)
    columns = _columns(layer, links)
    places, width = _places(columns, links, top)
    number = {concept: place for place, concept in enumerate(layer)}
    return template("graph.svg.j2").render(
        style=Markup(STYLE),
        width=max(width, *(MARGIN * 2 + CHARACTER * len(line) for line in lines), 80),
        height=top + ROW * max((len(column) for column in columns), default=0) + MARGIN,
        margin=MARGIN,
        box=BOX_HEIGHT,
        lines=lines,
        facts=[
            (number[link.left], number[link.right], link, *_path(link, layer, places))
            for link in links
        ],
        concepts=[
            (name, number[name], is_internal(name, belief, argument), *places[name, 0])
            for name in layer
        ],
    )


def _layers(links: DiGraph) -> tuple[dict[str, int], set[tuple[str, str]]]:
    """Return the layer of each concept, and the facts that close a cycle, self-loops too."""
    forward = links.copy()
    back = set()
    while cycle := find_cycle(forward):
        closing = (cycle[-2], cycle[-1])
        back.add(closing)
        forward.remove_edge(*closing)
    layer = dict.fromkeys(links, 0)
    for number, generation in enumerate(networkx.topological_generations(forward)):
        layer |= dict.fromkeys(generation, number)
    return layer, back


def _columns(layer: Mapping[str, int], links: Sequence[_Link]) -> list[list[Cell]]:
    """Return the cells of each layer, so ordered that links cross little."""
    columns: list[list[Cell]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for concept, at in layer.items():
        columns[at].append((concept, 0))
    near: dict[Cell, list[Cell]] = {}
    for link in links:
        cells = link.cells(layer)
        for cell in cells[1:-1]:
            columns[cell[1]].append(cell)
        for first, second in pairwise(cells):
            near.setdefault(first, []).append(second)
            near.setdefault(second, []).append(first)
    for sweep in range(SWEEPS):
        rank = {cell: row for column in columns for row, cell in enumerate(column)}
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            middle = {
                cell: sum(rank[other] for other in near[cell]) / len(near[cell])
                if cell in near
                else rank[cell]
                for cell in column
            }
            column.sort(key=middle.__getitem__)
            rank |= {cell: row for row, cell in enumerate(column)}
    return columns


def _places(
    columns: Sequence[Sequence[Cell]], links: Sequence[_Link], top: float
) -> tuple[dict[Cell, Place], float]:
    """Return the place of each cell, and the width of the picture."""
    gap = 46 + CHARACTER * max((len(link.label) for link in links), default=0)
    most = max((len(column) for column in columns), default=0)
    places: dict[Cell, Place] = {}
    left = MARGIN
    for column in columns:
        halves = [0.0 if at else CHARACTER * max(len(name), 2) / 2 + 10 for name, at in column]
        widest, shift = max(halves), (most - len(column)) / 2
        for row, (cell, half) in enumerate(zip(column, halves, strict=True)):
            places[cell] = (left + widest, top + ROW * (row + shift + 0.5), half)
        left += 2 * widest + gap
    return places, left - gap + MARGIN if columns else 2 * MARGIN


def _path(
    link: _Link, layer: Mapping[str, int], places: Mapping[Cell, Place]
) -> tuple[str, float, float]:
    """Return the path of a fact, and the place of its label."""
    cells = [places[cell] for cell in link.cells(layer)]
    (x0, y0, half0), (x1, y1, half1) = cells[0], cells[-1]
    if link.left == link.right:
        top = y0 - BOX_HEIGHT / 2
        return f"M{x0 - 12:.1f} {top:.1f}c-8 -26 32 -26 24 0", x0, top - 22
    # A fact and its opposite would lie on each other.
    aside = BOX_HEIGHT / 3 if link.back else 0.0
    inner = [(x, y) for x, y, _ in cells[1:-1]]
    points = [(x0 + half0, y0 + aside), *inner, (x1 - half1, y1 + aside)]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(
        f"C{(a + c) / 2:.1f} {b:.1f} {(a + c) / 2:.1f} {d:.1f} {c:.1f} {d:.1f}"
        for (a, b), (c, d) in pairwise(points)
    )
    (a, b), (c, d) = points[:2]
    return path, (a + c) / 2, (b + d) / 2 + (14 if link.back else -6)


def draw_sample(graphs: Sequence[SampleGraph], sample_id: str | None = None) -> str:
    """Return the first graph of a sample, by default of the first one, as SVG."""
    return _draw(_of_sample(graphs, sample_id)[0])


def draw_page(graphs: Sequence[SampleGraph], sample_id: str | None = None) -> str:
    """Return a page with a picture of all graphs, or those of a sample, and their problems."""
    entries = []
    for entry in _of_sample(graphs, sample_id):
        sample = entry.sample
        verdict = check_graph(entry.graph, sample.belief, sample.argument, rules="paper")
        try:
            picture, problem = Markup(_draw(entry)), ""
        except InputError as error:
            picture, problem = Markup(), str(error)
        entries.append((sample.id, picture, problem, verdict.failures))
    return render_page("graphs", "Explanation graphs", pictures=[STYLE], entries=entries)


def _draw(entry: SampleGraph) -> str:
    sample, graph = entry
    return draw_graph(read_graph(graph).graph, sample.belief, sample.argument, sample.stance or "")


def _of_sample(graphs: Sequence[SampleGraph], sample_id: str | None) -> list[SampleGraph]:
    chosen = [entry for entry in graphs if sample_id in (None, entry.sample.id)]
    if not chosen:
        near = did_you_mean(str(sample_id), {entry.sample.id for entry in graphs})
        raise InputError(f"no graph of a sample {sample_id!r}{near}")
    return chosen
