"""Links drawn as arcs over their conversation, on one self-contained page.

A turn is a row of words; a link is an arc at the left of the rows from the row of its head to
that of its tail, and both spans are underlined in its colour. Nothing is loaded from elsewhere;
without scripts everything is there.
"""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import excerpt
from grice.pages import head
from grice_tasks.cider.files import cider_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.records import Conversation, Span
    from grice_tasks.cider.find import Link

CHARACTER, ROW, LINE, MARGIN = 7.83, 12.0, 20.0, 24.0
COLUMNS = 78
"""Characters of a line of a turn."""
NAME = 14
"""Characters of a speaker's name; the whole shows where one points at it."""
LANE = 16.0
"""Space between two arcs that pass the same row."""

COLOURS = {
    "Causal": "#b3261e",
    "Intentional": "#33567f",
    "Attribution": "#5b6b1f",
    "Conditional": "#8a5a00",
    "Temporal": "#5d3f9e",
    "Spatial": "#00695c",
    "Social": "#ad1457",
    "Comparison": "#555555",
    "Other": "#555555",
}
OTHER = "Other"

STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:74rem;
padding:0 1rem;color:#1b1b1b;background:#fff}section{border-top:1px solid #ddd;padding:1rem 0}
h2{font-size:1rem;margin:0 0 .5rem}.picture{overflow-x:auto}svg{max-width:none;display:block}
table{border-collapse:collapse;margin-top:.5rem}td,th{text-align:left;padding:.15rem .8rem .15rem 0}
.link{transition:opacity .12s}.dim{opacity:.12}tr[data-link]{cursor:pointer}
tr[data-link]:focus,tr[data-link]:hover{background:#f3f6fb}.key{color:#555}"""

SVG_STYLE = """text{font:13px monospace;fill:#1b1b1b}.name{font-weight:bold;fill:#555}
.label{font:11px sans-serif;paint-order:stroke;stroke:#fff;stroke-width:4px}
.arc{fill:none;stroke-width:1.6}.implicit{stroke-dasharray:5 3}
""" + "".join(f".{name.lower()}{{fill:{colour}}}" for name, colour in COLOURS.items())

SCRIPT = """for(const section of document.querySelectorAll('section')){
const links=[...section.querySelectorAll('g.link')];
for(const row of section.querySelectorAll('tr[data-link]')){row.tabIndex=0;
const show=n=>{for(const link of links)
link.classList.toggle('dim',n!==null&&link.dataset.link!==n)};
row.addEventListener('mouseenter',()=>show(row.dataset.link));
row.addEventListener('focus',()=>show(row.dataset.link));
row.addEventListener('mouseleave',()=>show(null));row.addEventListener('blur',()=>show(null))}}"""


class _Row(NamedTuple):
    """A line of a turn: where it begins in the turn's text, and where it stands."""

    turn: int
    start: int
    text: str
    y: float


class _Marked(NamedTuple):
    """A span on the page: pieces of lines ``(x, width, y)``."""

    pieces: list[tuple[float, float, float]]

    @property
    def y(self) -> float:
        return self.pieces[0][2]


def draw_links(conversation: Conversation, links: Sequence[Link]) -> str:
    """Return an SVG of a conversation with an arc per link; dashed ones are implicit."""
    names = [_visible(turn.speaker) for turn in conversation.turns]
    lanes = _lanes(links)
    left = MARGIN + LANE * (max(lanes, default=0) + 1) + 40
    longest = max((len(excerpt(name, NAME)) for name in names), default=0)
    words = left + CHARACTER * (longest + 2)
    rows = _rows(conversation)
    height = (rows[-1].y if rows else 0) + MARGIN
    width = words + CHARACTER * COLUMNS + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><style>{SVG_STYLE}</style>'
    ]
    for number, row in enumerate(rows):
        if number == 0 or rows[number - 1].turn != row.turn:
            name, whole = escape(excerpt(names[row.turn], NAME)), escape(names[row.turn])
            parts.append(
                f'<text class="name" x="{left:.0f}" y="{row.y:.0f}">{name}'
                f"{'' if name == whole else f'<title>{whole}</title>'}</text>"
            )
        parts.append(
            f'<text x="{words:.0f}" y="{row.y:.0f}" xml:space="preserve">{escape(row.text)}</text>'
        )
    for number, (link, lane) in enumerate(zip(links, lanes, strict=True)):
        ends = [_marked(span, rows, words) for span in (link.head_span, link.tail_span)]
        if all(end.pieces for end in ends):
            parts.append(_arc(number, link, ends, left - 8, left - 8 - LANE * (lane + 1)))
    return "".join([*parts, "</svg>"])


def _rows(conversation: Conversation) -> list[_Row]:
    rows: list[_Row] = []
    y = MARGIN
    for number, turn in enumerate(conversation.turns):
        start = 0
        # Every character keeps its place: blanks become one blank each, nothing is dropped.
        text = "".join(" " if c.isspace() else c for c in _visible(turn.text))
        lines = wrap(text, COLUMNS, drop_whitespace=False, break_on_hyphens=False) or [""]
        for line in lines:
            rows.append(_Row(number, start, line, y))
            start += len(line)
            y += LINE
        y += ROW
    return rows


def _marked(span: Span, rows: Sequence[_Row], words: float) -> _Marked:
    pieces = []
    for row in rows:
        first, end = max(span.start, row.start), min(span.end, row.start + len(row.text))
        if row.turn == span.turn and first < end:
            at = words + CHARACTER * (first - row.start)
            pieces.append((at, CHARACTER * (end - first), row.y))
    return _Marked(pieces)


def _lanes(links: Sequence[Link]) -> list[int]:
    """Return for each link how far out its arc runs, so that no two lie on each other."""
    order = sorted(
        range(len(links)), key=lambda i: abs(links[i].head_span.turn - links[i].tail_span.turn)
    )
    taken: list[list[tuple[int, int]]] = []
    lanes = [0] * len(links)
    for i in order:
        ends = sorted((links[i].head_span.turn, links[i].tail_span.turn))
        for lane, spans in enumerate([*taken, []]):
            if all(ends[1] < first or ends[0] > last for first, last in spans):
                lanes[i] = lane
                if lane == len(taken):
                    taken.append([])
                taken[lane].append((ends[0], ends[1]))
                break
    return lanes


def _arc(number: int, link: Link, ends: Sequence[_Marked], x: float, out: float) -> str:
    relation = cider_schema().relations.get(link.relation)
    category = relation.category if relation and relation.category in COLOURS else OTHER
    colour = COLOURS[category]
    first, last = ends[0].y - 4, ends[1].y - 4
    if abs(first - last) < 1:
        last += 8
    bend = max(6.0, min(14.0, abs(last - first) / 2))
    side = bend if last > first else -bend
    path = (
        f"M{x:.1f} {first:.1f}H{out + 8:.1f}Q{out:.1f} {first:.1f} {out:.1f} {first + side:.1f}"
        f"V{last - side:.1f}Q{out:.1f} {last:.1f} {out + 8:.1f} {last:.1f}H{x:.1f}"
    )
    arrow = f"M{x - 6:.1f} {last - 4:.1f}L{x:.1f} {last:.1f}L{x - 6:.1f} {last + 4:.1f}"
    lines = "".join(
        f'<path d="M{at:.1f} {y + 4:.1f}h{long:.1f}" stroke="{colour}" stroke-width="2"/>'
        for end in ends
        for at, long, y in end.pieces
    )
    hidden = "" if link.explicit else " implicit"
    title = escape(f"{link.head} {link.relation} {link.tail}, {link.confidence:.2f}")
    return (
        f'<g class="link" data-link="{number}"><title>{title}</title>{lines}'
        f'<path class="arc{hidden}" stroke="{colour}" d="{path}"/>'
        f'<path class="arc" stroke="{colour}" d="{arrow}"/>'
        f'<text class="label {category.lower()}" x="{out + 3:.1f}" '
        f'y="{(first + last) / 2 + 4:.1f}">{number + 1}</text></g>'
    )


def links_page(conversations: Iterable[tuple[Conversation, Sequence[Link]]]) -> str:
    """Return an HTML page with every conversation, its arcs and a table of its links."""
    parts = []
    for conversation, links in conversations:
        rows = "".join(
            f'<tr data-link="{i}"><td>{i + 1}</td><td>{escape(_visible(link.head))}</td>'
            f"<td>{escape(link.relation)}</td><td>{escape(_visible(link.tail))}</td>"
            f"<td>{link.confidence:.2f}</td>"
            f"<td>{'explicit' if link.explicit else 'implicit'}</td></tr>"
            for i, link in enumerate(links)
        )
        table = (
            f"<table><tr><th></th><th>head</th><th>relation</th><th>tail</th><th>confidence</th>"
            f"<th></th></tr>{rows}</table>"
        )
        parts.append(
            f"<section><h2>{escape(_visible(conversation.id))}</h2>"
            f'<div class="picture">{draw_links(conversation, links)}</div>'
            f"{table if links else '<p>no link is sure enough</p>'}</section>"
        )
    return (
        head("Commonsense links", style=STYLE, script=SCRIPT, pictures=[SVG_STYLE])
        + "<body><h1>Commonsense links</h1>"
        '<p class="key">An arc runs from head to tail; dashed ones stand between the lines. Point '
        "at a row of the table to see its link alone.</p>"
        + "".join(parts)
        + f"<script>{SCRIPT}</script></body></html>\n"
    )


def _visible(text: str) -> str:
    return "".join(
        c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )
