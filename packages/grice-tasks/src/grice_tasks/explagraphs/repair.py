"""Few edits that make a graph valid.

Only form is repaired. An added fact links concepts by ``has context``, the least that can be
said; whether it is true is for a person to judge.
"""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from grice.records import Triple
from grice_tasks.explagraphs.baselines import content_words
from grice_tasks.explagraphs.check import (
    MAX_FACTS,
    MAX_WORDS,
    MIN_SHARED,
    RuleSet,
    Verdict,
    check_graph,
    components,
    word_string,
)
from grice_tasks.explagraphs.graph import Graph, find_cycle, links_of
from grice_tasks.explagraphs.reader import read_graph, write_graph
from grice_tasks.explagraphs.wording import relation_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

EditKind: TypeAlias = Literal["rewrite", "remove", "add", "rename", "relation"]
LINK = "has context"
MOST_EDITS = 6
WIDTH = 50
"""How many graphs are followed up after each edit, those with the fewest failures."""
CHOICES = 4
"""How many of the nearest words, spans or relations are tried."""
LONGEST = 40
"""Facts beyond which no repair is looked for."""


class Edit(msgspec.Struct, frozen=True):
    """One change.

    Attributes:
        kind: ``rewrite`` the written form, without brackets that are never closed; ``remove`` or
            ``add`` a fact; ``rename`` a concept wherever it stands; or replace a ``relation``.
    """

    kind: EditKind
    before: str
    after: str


class Repair(msgspec.Struct, frozen=True):
    """A proposal.

    Attributes:
        graph: The repaired graph as written; None if none was found.
        verdict: What is wrong with the graph as it came.
    """

    graph: str | None
    edits: tuple[Edit, ...]
    verdict: Verdict
    reason: str | None = None

    @property
    def smallest(self) -> bool:
        """Whether fewer edits cannot do, which is certain of one edit alone."""
        return self.graph is not None and len(self.edits) < 2


class _Task(NamedTuple):
    belief: str
    argument: str
    rules: RuleSet


def repair_graph(text: str, belief: str, argument: str, *, rules: RuleSet = "released") -> Repair:
    """Return a valid graph a few edits away.

    Every edit answers the first broken rule with what is spelt most alike, and proposals are
    tried in the order of their number of edits, at most six. After each edit the 50 graphs with
    the fewest failures are followed up. Other edits might need fewer steps: one concept renamed
    to a phrase that has nothing to do with it can mend two rules at once.
    """
    verdict = check_graph(text, belief, argument, rules=rules)
    if verdict.ok:
        return Repair(text, (), verdict)
    graph = _writable(read_graph(text).graph.lower())
    if len(graph.edges) > LONGEST:
        return Repair(None, (), verdict, f"{len(graph.edges)} facts are too many to repair")
    task = _Task(belief.lower(), argument.lower(), rules)
    written = write_graph(graph)
    first = () if written == text.lower() else (Edit("rewrite", text, written),)
    outcome = _verdict(graph, task)
    if outcome.ok:
        return Repair(written, first, verdict)
    layer: list[tuple[Graph, tuple[Edit, ...], Verdict]] = [(graph, first, outcome)]
    seen = {graph}
    for _ in range(MOST_EDITS):
        following: list[tuple[Graph, tuple[Edit, ...], Verdict]] = []
        for state, edits, broken in layer:
            for edit, changed in _proposals(state, broken.broken, task):
                if changed in seen:
                    continue
                seen.add(changed)
                outcome = _verdict(changed, task)
                if outcome.ok:
                    return Repair(write_graph(changed), (*edits, edit), verdict)
                following.append((changed, (*edits, edit), outcome))
        following.sort(key=lambda candidate: len(candidate[2].failures))
        layer = following[:WIDTH]
    return Repair(None, (), verdict, f"none found within {MOST_EDITS} edits{_short_of(task)}")


def _short_of(task: _Task) -> str:
    """Return what a text lacks for two concepts, empty if it lacks nothing."""
    for name, text in (("belief", task.belief), ("argument", task.argument)):
        words = len(word_string(text).split())
        if words < MIN_SHARED:
            counted = f"{words} word{'s' * (words != 1)}"
            return f": the {name} has {counted}, and {MIN_SHARED} concepts must come from it"
    return ""


def _writable(graph: Graph) -> Graph:
    """Return the graph without the brackets of parts in which one is never closed."""

    def put(part: str) -> str:
        if part.count("(") == part.count(")"):
            return part
        return " ".join(part.replace("(", " ").replace(")", " ").split())

    return Graph(tuple(Triple(put(e.head), put(e.relation), put(e.tail)) for e in graph.edges))


def _verdict(graph: Graph, task: _Task) -> Verdict:
    return check_graph(write_graph(graph), task.belief, task.argument, rules=task.rules)


def _proposals(graph: Graph, broken: Sequence[str], task: _Task) -> Iterator[tuple[Edit, Graph]]:
    """Yield edits that answer the first broken rule, the likeliest first."""
    rule = broken[0]
    if not graph.edges:
        yield from _grow(graph, task)
    elif rule in ("form", "concept_words"):
        yield from _shorten(graph, task)
    elif rule == "relation":
        yield from _known(graph)
    elif rule in ("duplicates", "max_facts"):
        yield from _remove(graph, range(len(graph.edges)))
    elif rule == "acyclic":
        cycle = set(pairwise(find_cycle(links_of(graph))))
        yield from _remove(
            graph, [i for i, edge in enumerate(graph.edges) if (edge.head, edge.tail) in cycle]
        )
    elif rule == "connected":
        yield from _join(graph, task)
    elif rule in ("belief_concepts", "argument_concepts"):
        source = task.belief if rule == "belief_concepts" else task.argument
        yield from _anchor(graph, source)
    elif rule == "min_facts":
        yield from _grow(graph, task)


def _rename(graph: Graph, old: str, new: str) -> tuple[Edit, Graph]:
    def put(concept: str) -> str:
        return new if concept == old else concept

    edges = tuple(Triple(put(e.head), e.relation, put(e.tail)) for e in graph.edges)
    return Edit("rename", old, new), Graph(edges)


def _add(graph: Graph, head: str, tail: str) -> tuple[Edit, Graph]:
    added = Triple(head, LINK, tail)
    return Edit("add", "", write_graph(Graph((added,)))), Graph((*graph.edges, added))


def _remove(graph: Graph, places: Sequence[int] | range) -> Iterator[tuple[Edit, Graph]]:
    for place in places:
        gone = Graph((graph.edges[place],))
        yield (
            Edit("remove", write_graph(gone), ""),
            Graph(graph.edges[:place] + graph.edges[place + 1 :]),
        )


def _known(graph: Graph) -> Iterator[tuple[Edit, Graph]]:
    known = relation_names()
    place, edge = next((i, e) for i, e in enumerate(graph.edges) if e.relation not in known)
    near = get_close_matches(edge.relation, sorted(known), n=CHOICES) or [LINK]
    for relation in near:
        changed = Triple(edge.head, relation, edge.tail)
        edges = (*graph.edges[:place], changed, *graph.edges[place + 1 :])
        yield Edit("relation", edge.relation, relation), Graph(edges)
    yield from _remove(graph, [place])


def _shorten(graph: Graph, task: _Task) -> Iterator[tuple[Edit, Graph]]:
    """Cut the first concept that is too long, empty or oddly written, or drop its facts."""

    def bad(concept: str) -> bool:
        return not 0 < len(concept.split(" ")) <= MAX_WORDS or not concept or "(" in concept

    concept = next((name for name in graph.concepts if bad(name)), None)
    if concept is None:
        return
    words = concept.replace("(", " ").replace(")", " ").split()
    spans = [
        " ".join(words[i : i + size])
        for size in range(min(MAX_WORDS, len(words)), 0, -1)
        for i in range(len(words) - size + 1)
    ]
    inside = f"{word_string(task.belief)}|{word_string(task.argument)}"
    # A span that the texts hold keeps the graph tied to them; then the longer one.
    spans.sort(key=lambda span: word_string(span) not in inside)
    for span in spans[:CHOICES]:
        yield _rename(graph, concept, span)
    yield from _remove(
        graph, [i for i, edge in enumerate(graph.edges) if concept in (edge.head, edge.tail)]
    )


def _grow(graph: Graph, task: _Task) -> Iterator[tuple[Edit, Graph]]:
    """Add a fact: between two parts, with a fresh word, or between concepts that are there."""
    pairs = _apart(graph)
    yield from _link(graph, pairs)
    yield from _anchor(graph, f"{task.belief} {task.argument}", rename=False)
    if not pairs:
        yield from _link(graph, _nearest(combinations(graph.concepts, 2)))


def _join(graph: Graph, task: _Task) -> Iterator[tuple[Edit, Graph]]:
    """Make two parts one: two concepts that nearly agree become one, or a fact links them."""
    pairs = _apart(graph)
    for concept, other in pairs:
        if _tied(other, task) >= _tied(concept, task):
            yield _rename(graph, concept, other)
        yield _rename(graph, other, concept)
    if len(graph.edges) < MAX_FACTS:
        yield from _link(graph, pairs)
    yield from _remove(graph, range(len(graph.edges)))


def _apart(graph: Graph) -> list[tuple[str, str]]:
    """Return a few pairs of concepts of the first part and of another one; none if connected."""
    first, *rest = components(links_of(graph)) or [[]]
    return _nearest((concept, other) for concept in first for part in rest for other in part)


def _nearest(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs that are spelt most alike."""
    return sorted(pairs, key=lambda pair: -SequenceMatcher(None, *pair).ratio())[:CHOICES]


def _link(graph: Graph, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[Edit, Graph]]:
    for concept, other in pairs:
        yield _add(graph, concept, other)
        yield _add(graph, other, concept)


def _tied(concept: str, task: _Task) -> int:
    return (concept in task.belief) + (concept in task.argument)


def _anchor(graph: Graph, source: str, *, rename: bool = True) -> Iterator[tuple[Edit, Graph]]:
    """Bring in a word of the text: in place of a concept near to it, or by a new fact."""
    concepts = graph.concepts
    words = [word for word in content_words(source) if word not in concepts]
    if not words and len(content_words(source)) < MIN_SHARED:
        words = [word for word in word_string(source).split() if word not in concepts]
    near = sorted(
        ((concept, word) for concept in concepts for word in words),
        key=lambda pair: -SequenceMatcher(None, *pair).ratio(),
    )
    if rename:
        for concept, word in near[:CHOICES]:
            yield _rename(graph, concept, word)
    if len(graph.edges) < MAX_FACTS:
        ends = [concept for concept in concepts if concept] or words[:1]
        for word in words[:CHOICES]:
            for end in ends[-1:]:
                if word != end:
                    yield _add(graph, end, word)
