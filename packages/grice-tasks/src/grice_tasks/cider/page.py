"""Links of conversations on one self-contained page: the texts, and a table of links below each.

Spans of links are underlined in the text; the row of a link highlights its head and tail.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from grice.report.html import head

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.data import Conversation
    from grice_tasks.cider.find import Link

STYLE = """body{font:16px/1.5 system-ui,sans-serif;margin:1.5rem auto;max-width:56rem;
padding:0 1rem;color:#1b1b1b;background:#fff}section{border-top:1px solid #ddd;padding:1rem 0}
h2{font-size:1rem;margin:0 0 .5rem}p.turn{margin:.25rem 0;overflow-wrap:anywhere}
.linked{border-bottom:2px solid #9db4d0}.head{background:#cfe3ff}.tail{background:#ffe1a8}
.table{overflow-x:auto}table{border-collapse:collapse;margin-top:.75rem;width:100%}
td,th{text-align:left;padding:.25rem .8rem .25rem 0;vertical-align:top}
tr[data-link]{cursor:pointer;border-top:1px solid #eee}
tr[data-link]:focus,tr[data-link]:hover{background:#f3f6fb}.key{color:#555}"""

SCRIPT = """for(const section of document.querySelectorAll('section')){
const spans=[...section.querySelectorAll('.linked')];
for(const row of section.querySelectorAll('tr[data-link]')){row.tabIndex=0;
const show=on=>{for(const span of spans)for(const side of ['head','tail'])
span.classList.toggle(side,on&&span.dataset[side].split(' ').includes(row.dataset.link))};
for(const name of ['mouseenter','focus'])row.addEventListener(name,()=>show(true));
for(const name of ['mouseleave','blur'])row.addEventListener(name,()=>show(false))}}"""


def links_page(conversations: Iterable[tuple[Conversation, Sequence[Link]]]) -> str:
    """Return an HTML page with every conversation and a table of its links."""
    sections = "".join(_section(conversation, links) for conversation, links in conversations)
    return (
        head("Commonsense links", style=STYLE, script=SCRIPT) + "<body><h1>Commonsense links</h1>"
        '<p class="key">Underlined words belong to a link. Point at a row of a table, or tab to '
        f"it, to highlight its head (blue) and its tail (yellow).</p>{sections}"
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def _section(conversation: Conversation, links: Sequence[Link]) -> str:
    turns = "".join(
        f'<p class="turn"><b>{_visible(turn.speaker)}:</b> {_marked(turn.text, number, links)}</p>'
        for number, turn in enumerate(conversation.turns)
    )
    rows = "".join(
        f'<tr data-link="{number}"><td>{_visible(link.head)}</td><td>{_visible(link.relation)}</td>'
        f"<td>{_visible(link.tail)}</td><td>{link.confidence:.2f}</td>"
        f"<td>{'explicit' if link.explicit else 'implicit'}</td></tr>"
        for number, link in enumerate(links)
    )
    table = (
        '<div class="table"><table><tr><th>head</th><th>relation</th><th>tail</th>'
        f"<th>confidence</th><th></th></tr>{rows}</table></div>"
    )
    found = table if links else "<p>no link is sure enough</p>"
    return f"<section><h2>{_visible(conversation.id)}</h2>{turns}{found}</section>"


def _marked(text: str, turn: int, links: Sequence[Link]) -> str:
    """Return the text of a turn in pieces that name the links whose spans hold them."""
    sides = {
        side: [(number, span) for number, span in spans if span.turn == turn]
        for side, spans in (
            ("head", [(number, link.head_span) for number, link in enumerate(links)]),
            ("tail", [(number, link.tail_span) for number, link in enumerate(links)]),
        )
    }
    cuts = {0, len(text)}
    cuts.update(at for spans in sides.values() for _, s in spans for at in (s.start, s.end))
    pieces = []
    for start, end in pairwise(sorted(cuts)):
        holding = {
            side: " ".join(str(n) for n, s in spans if s.start <= start and end <= s.end)
            for side, spans in sides.items()
        }
        piece = _visible(text[start:end])
        if any(holding.values()):
            data = f'data-head="{holding["head"]}" data-tail="{holding["tail"]}"'
            piece = f'<span class="linked" {data}>{piece}</span>'
        pieces.append(piece)
    return "".join(pieces)


def _visible(text: str) -> str:
    """Escape a text; control characters are replaced."""
    shown = (c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return escape("".join(shown))
