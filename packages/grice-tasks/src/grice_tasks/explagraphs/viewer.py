"""Graphs on one self-contained page: pointing at a concept shows the facts it stands in.

The page loads nothing from elsewhere. A click keeps what is shown; without scripts the pictures
are still all there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError
from grice.pages import head
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.drawing import STYLE as PICTURE
from grice_tasks.explagraphs.drawing import draw_graph, escaped
from grice_tasks.explagraphs.reader import read_graph

if TYPE_CHECKING:
    from collections.abc import Iterable

STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:72rem;
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
        head("Explanation graphs", style=STYLE, script=SCRIPT, pictures=[PICTURE])
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
