"""A picture of a graph as SVG, from left to right, in layers.

External concepts, which stand in neither text, have a dashed red frame, internal ones a plain
one. Facts that close a cycle are drawn backwards, in red.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import networkx

from grice.errors import InputError
from grice.report.html import head
from grice_tasks.explagraphs.check import check_graph, is_internal
from grice_tasks.explagraphs.graph import Graph, find_cycle, links_of, read_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from networkx import DiGraph

LARGEST_DRAWN = 200
CHARACTER, BOX_HEIGHT, ROW, MARGIN = 7.4, 30.0, 64.0, 24.0
SWEEPS = 4
CELL = tuple[str, int]

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


def draw_graph(graph: Graph, belief: str = "", argument: str = "", stance: str = "") -> str:
    """Return an SVG document; the texts stand above the graph and say what is internal."""
    if len(graph.edges) > LARGEST_DRAWN:
        raise InputError(f"{len(graph.edges):,} facts; at most {LARGEST_DRAWN} can be drawn")
    labels: dict[tuple[str, str], list[str]] = {}
    for edge in graph.edges:
        labels.setdefault((edge.head, edge.tail), []).append(edge.relation)
    layer, back = _layers(links_of(graph))
    links = [
        _Link(
            *((tail, head) if (head, tail) in back else (head, tail)),
            " / ".join(relations),
            (head, tail) in back,
        )
        for (head, tail), relations in labels.items()
    ]
    titled = (("Belief", belief), ("Argument", argument), ("Stance", stance))
    captions = [f"{name}: {text}" for name, text in titled if text]
    lines = [line for text in captions for line in wrap(text, 100)]
    top = MARGIN + 20 * len(lines) + (12 if lines else 0)
    columns = _columns(layer, links)
    places, width = _places(columns, links, top)
    height = top + ROW * max((len(column) for column in columns), default=0) + MARGIN
    width = max(width, *(MARGIN * 2 + CHARACTER * len(line) for line in lines), 80)
    parts = [_text(MARGIN, MARGIN + 20 * i, line, "said") for i, line in enumerate(lines)]
    number = {concept: place for place, concept in enumerate(layer)}
    for link in links:
        parts.append(f'<g class="link" data-ends="{number[link.left]} {number[link.right]}">')
        parts += (*_fact(link, layer, places), "</g>")
    for concept in layer:
        inside = is_internal(concept, belief, argument)
        parts.append(f'<g class="node" data-node="{number[concept]}">')
        parts += (*_box(concept, places[concept, 0], inside), "</g>")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="Explanation graph">\n<style>{STYLE}</style>\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#666"/>'
        '</marker></defs>\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
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


def _chain(link: _Link, layer: Mapping[str, int]) -> list[CELL]:
    """Return the cells a link runs through: its ends and one in each layer between."""
    name = f"{link.left}\0{link.right}\0{link.back}"
    between = range(layer[link.left] + 1, layer[link.right])
    return [(link.left, 0), *((name, at) for at in between), (link.right, 0)]


def _columns(layer: Mapping[str, int], links: Sequence[_Link]) -> list[list[CELL]]:
    """Return the cells of each layer, so ordered that links cross little."""
    columns: list[list[CELL]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for concept, at in layer.items():
        columns[at].append((concept, 0))
    near: dict[CELL, list[CELL]] = {}
    for link in links:
        chain = _chain(link, layer)
        for cell in chain[1:-1]:
            columns[cell[1]].append(cell)
        for first, second in pairwise(chain):
            near.setdefault(first, []).append(second)
            near.setdefault(second, []).append(first)
    for sweep in range(SWEEPS):
        rank = {cell: row for column in columns for row, cell in enumerate(column)}
        for column in columns if sweep % 2 == 0 else columns[::-1]:

            def middle(cell: CELL, rank: Mapping[CELL, int] = rank) -> float:
                rows = [rank[neighbour] for neighbour in near.get(cell, ())]
                return sum(rows) / len(rows) if rows else rank[cell]

            column.sort(key=middle)
            rank |= {cell: row for row, cell in enumerate(column)}
    return columns


def _places(
    columns: Sequence[Sequence[CELL]], links: Sequence[_Link], top: float
) -> tuple[dict[CELL, tuple[float, float, float]], float]:
    """Return the middle and half width of each cell, and the width of the picture."""
    gap = 46 + CHARACTER * max((len(link.label) for link in links), default=0)
    most = max((len(column) for column in columns), default=0)
    places: dict[CELL, tuple[float, float, float]] = {}
    left = MARGIN
    for column in columns:
        half = max(_half(cell) for cell in column)
        shift = (most - len(column)) / 2
        for row, cell in enumerate(column):
            places[cell] = (left + half, top + ROW * (row + shift + 0.5), _half(cell))
        left += 2 * half + gap
    return places, left - gap + MARGIN if columns else 2 * MARGIN


def _half(cell: CELL) -> float:
    return 0.0 if cell[1] else CHARACTER * max(len(cell[0]), 2) / 2 + 10


def _fact(
    link: _Link,
    layer: Mapping[str, int],
    places: Mapping[CELL, tuple[float, float, float]],
) -> Iterator[str]:
    kind = "fact back" if link.back else "fact"
    if link.left == link.right:
        x, y, _ = places[link.left, 0]
        y -= BOX_HEIGHT / 2
        yield (
            f'<path class="{kind}" marker-end="url(#tip)" '
            f'd="M{x - 12:.1f} {y:.1f}c-8 -26 32 -26 24 0"/>'
        )
        yield _text(x, y - 22, link.label, "relation")
        return
    cells = [places[cell] for cell in _chain(link, layer)]
    (x0, y0, half0), (x1, y1, half1) = cells[0], cells[-1]
    # A fact and its opposite would lie on each other.
    aside = BOX_HEIGHT / 3 if link.back else 0.0
    points = [
        (x0 + half0, y0 + aside),
        *((x, y) for x, y, _ in cells[1:-1]),
        (x1 - half1, y1 + aside),
    ]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(
        f"C{(a + c) / 2:.1f} {b:.1f} {(a + c) / 2:.1f} {d:.1f} {c:.1f} {d:.1f}"
        for (a, b), (c, d) in pairwise(points)
    )
    end = "start" if link.back else "end"
    yield f'<path class="{kind}" marker-{end}="url(#tip)" d="{path}"/>'
    (a, b), (c, d) = points[0], points[1]
    yield _text((a + c) / 2, (b + d) / 2 + (14 if link.back else -6), link.label, "relation")


def _box(
    concept: str,
    place: tuple[float, float, float],
    internal: bool,  # noqa: FBT001
) -> Iterator[str]:
    x, y, half = place
    kind = "internal" if internal else "external"
    yield (
        f'<rect class="{kind}" x="{x - half:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" '
        f'width="{2 * half:.1f}" height="{BOX_HEIGHT}" rx="7"/>'
    )
    yield _text(x, y + 4.5, concept, "concept")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escaped(text)}</text>'


def escaped(text: str) -> str:
    """Return a text for XML, which knows no control characters, not even escaped."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


PAGE_STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:72rem;
padding:0 1rem;color:#1b1b1b;background:#fff}section{border-top:1px solid #ddd;padding:1rem 0}
h2{font-size:1rem;margin:0 0 .5rem}.picture{overflow-x:auto}svg{max-width:none}
.node,.link{transition:opacity .12s}.node{cursor:pointer}.dim{opacity:.15}
ul{margin:.5rem 0 0;padding-left:1.2rem}.wrong{color:#a1221a}.right{color:#23652f}
input{font:inherit;padding:.3rem .5rem;width:20rem;max-width:100%}
.key{color:#555}"""

SCRIPT = """for(const section of document.querySelectorAll('section')){
const nodes=[...section.querySelectorAll('.node')],links=[...section.querySelectorAll('.link')];
let kept=null;
const show=n=>{for(const link of links){
const on=n===null||link.dataset.ends.split(' ').includes(n);link.classList.toggle('dim',!on)}
for(const node of nodes){const on=n===null||node.dataset.node===n||links.some(link=>{
const ends=link.dataset.ends.split(' ');return ends.includes(n)&&ends.includes(node.dataset.node)});
node.classList.toggle('dim',!on)}};
for(const node of nodes){const n=node.dataset.node;node.tabIndex=0;
node.addEventListener('mouseenter',()=>show(n));node.addEventListener('focus',()=>show(n));
node.addEventListener('mouseleave',()=>show(kept));node.addEventListener('blur',()=>show(kept));
const keep=()=>{kept=kept===n?null:n;show(kept)};node.addEventListener('click',keep);
node.addEventListener('keydown',e=>{if(e.key==='Enter'){keep()}})}}
document.getElementById('find').addEventListener('input',e=>{
const said=e.target.value.toLowerCase();for(const section of document.querySelectorAll('section')){
section.hidden=!section.textContent.toLowerCase().includes(said)}});"""


class Shown(NamedTuple):
    """A graph to show, with the texts it belongs to."""

    id: str
    belief: str
    argument: str
    stance: str
    graph: str


def graph_page(graphs: Iterable[Shown]) -> str:
    """Return an HTML page with a picture of every graph and what is wrong with its structure.

    A graph too large to draw has a line that says so in place of its picture.
    """
    parts = []
    for shown in graphs:
        picture = _picture(shown)
        broken = check_graph(shown.graph, shown.belief, shown.argument, rules="paper").failures
        says = "".join(
            f"<li>{escaped(f'{failure.rule}: {failure.reason}')}</li>" for failure in broken
        )
        verdict = (
            f'<p class="wrong">breaks the rules of the paper</p><ul class="wrong">{says}</ul>'
            if broken
            else '<p class="right">correct by the rules of the paper</p>'
        )
        parts.append(
            f'<section><h2>{escaped(shown.id)}</h2><div class="picture">{picture}</div>{verdict}'
            "</section>"
        )
    return (
        head("Explanation graphs", style=PAGE_STYLE, script=SCRIPT, pictures=[STYLE])
        + '<body><h1>Explanation graphs</h1><p class="key">Dashed red frames: external concepts, '
        "which stand in neither text. Point at a concept, or tab to it, to see its facts; click "
        'or Enter keeps them.</p><label>Find <input id="find" type="search"></label>'
        + "".join(parts)
        + f"<script>{SCRIPT}</script></body></html>\n"
    )


def _picture(shown: Shown) -> str:
    try:
        return draw_graph(read_graph(shown.graph).graph, shown.belief, shown.argument, shown.stance)
    except InputError as error:
        return f'<p class="wrong">not drawn: {escaped(str(error))}</p>'
