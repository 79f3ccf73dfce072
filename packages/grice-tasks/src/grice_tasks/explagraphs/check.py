"""Is a graph a correct explanation graph, and if not, which rule does it break where?

Two sets of rules are in use and differ: ``paper``, what the task says (Saha et al. 2021,
section 2), and ``released``, what the official script really counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import networkx

from grice.data import Triple
from grice.errors import InputError, did_you_mean, excerpt, plural
from grice_tasks.explagraphs.graph import Graph, find_cycle, links_of, read_graph
from grice_tasks.explagraphs.wording import relation_names
from grice_tasks.tokens import COMPOUNDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from networkx import DiGraph

RuleSet: TypeAlias = Literal["paper", "released"]
Rule: TypeAlias = Literal[
    "form", "min_facts", "max_facts", "triples", "concept_words", "relation", "belief_concepts",
    "argument_concepts", "duplicates", "connected", "acyclic",
]  # fmt: skip

MIN_FACTS, MAX_FACTS, MAX_WORDS, MIN_SHARED = 3, 8, 3, 2
SHOWN = 10  # most reasons given for one rule; the rest is counted
SHOWN_NAME = 80


class Failure(msgspec.Struct, frozen=True):
    """One reason why a rule is broken."""

    rule: Rule
    reason: str
    fact: int | None = None  # index of the fact that breaks it; None if it is the whole graph
    position: int | None = None  # where in the text, in characters


class Verdict(msgspec.Struct, frozen=True):
    """Result of a check."""

    rules: RuleSet
    failures: tuple[Failure, ...]

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return not self.failures

    @property
    def broken(self) -> tuple[Rule, ...]:
        """The broken rules, each once."""
        return tuple(dict.fromkeys(failure.rule for failure in self.failures))


def check_graph(text: str, belief: str, argument: str, *, rules: RuleSet = "released") -> Verdict:
    """Return which rules a written graph breaks; any text gets a verdict.

    ``docs/research/explagraphs.md`` has both sets of rules side by side.

    >>> check_graph("(zoos; is a; place)", "Zoos are bad.", "It is a sad place.").broken
    ('min_facts', 'belief_concepts', 'argument_concepts')
    """
    if rules not in ("paper", "released"):
        raise InputError(f"rules={rules!r}{did_you_mean(rules, ('paper', 'released'))}")
    check = _paper if rules == "paper" else _released
    return Verdict(rules, tuple(check(text.lower(), (belief.lower(), argument.lower()))))


def released_edges(text: str) -> list[list[str]]:
    """Return the facts as the official script splits them, three parts or not."""
    return [fact.split("; ") for fact in text[1:-1].split(")(")]


def is_internal(concept: str, belief: str, argument: str) -> bool:
    """Return whether a concept stands in the belief or argument, as the paper's counts take it."""
    concept = concept.lower()
    return concept in belief.lower() or concept in argument.lower()


_Found: TypeAlias = "Sequence[tuple[int | None, int, str]]"
"""Facts, positions and details of what breaks a rule."""


def _released(text: str, texts: tuple[str, str]) -> Iterator[Failure]:
    """Yield failures of the official script: other splitting, no upper limit, repeated facts."""
    facts = released_edges(text)
    starts = [0]
    for fact in facts:
        starts.append(starts[-1] + sum(map(len, fact)) + 2 * len(fact))
    yield from _facts(len(facts), None)
    wrong = [
        (number, starts[number], f"{plural(len(fact), 'part')} instead of 3 between '; '")
        for number, fact in enumerate(facts)
        if len(fact) != 3
    ]
    if wrong:
        yield from _limited("triples", wrong)
        return
    graph = Graph(tuple(Triple(head, relation, tail) for head, relation, tail in facts))
    links = links_of(graph)
    long = {concept for concept in links if not concept or concept.count(" ") >= MAX_WORDS}
    yield from _contents(graph, starts, long)
    yield from _shared([[concept for concept in links if concept in text] for text in texts])
    yield from _structure(links)


def _paper(text: str, texts: tuple[str, str]) -> Iterator[Failure]:
    """Yield failures of what the task says: whole words, 3 to 8 distinct facts."""
    reading = read_graph(text)
    graph, starts = reading.graph, reading.starts
    yield from _limited("form", [(None, each.start, each.message) for each in reading.problems])
    yield from _facts(len(graph.edges), MAX_FACTS)
    links = links_of(graph)
    words = {concept: word_string(concept) for concept in links}
    long = {name for name, spaced in words.items() if not 2 <= spaced.count(" ") <= MAX_WORDS + 1}
    yield from _contents(graph, starts, long)
    sources = map(word_string, texts)
    yield from _shared(
        [[name for name, each in words.items() if each in source and each != " "]
         for source in sources]
    )  # fmt: skip
    first: dict[Triple, int] = {}
    repeated: list[tuple[int | None, int, str]] = [
        (number, starts[number], f"says the same as fact {first[edge]}")
        for number, edge in enumerate(graph.edges)
        if first.setdefault(edge, number) != number
    ]
    yield from _limited("duplicates", repeated)
    yield from _structure(links)


def word_string(text: str) -> str:
    """Return the words with a space before, between and after; one space if there is no word."""
    return f" {' '.join(COMPOUNDS.findall(text))} ".replace("  ", " ")


def _facts(count: int, most: int | None) -> Iterator[Failure]:
    if count < MIN_FACTS:
        reason = f"{plural(count, 'fact')}, at least {MIN_FACTS} are needed"
        yield Failure("min_facts", reason)
    if most is not None and count > most:
        yield Failure("max_facts", f"{count} facts, at most {most} are allowed")


def _contents(graph: Graph, starts: Sequence[int], long: set[str]) -> Iterator[Failure]:
    """Yield failures of concepts and relations."""
    sides = [
        (number, starts[number], f"{side} {concept!r}: one to {MAX_WORDS} words are allowed")
        for number, edge in enumerate(graph.edges)
        for side, concept in (("head", edge.head), ("tail", edge.tail))
        if concept in long
    ]
    yield from _limited("concept_words", sides)
    known = relation_names()
    unknown = [
        (number, starts[number], edge.relation)
        for number, edge in enumerate(graph.edges)
        if edge.relation not in known
    ]

    def reason(name: str) -> str:  # looking for near names is slow: only for what is shown
        hint = did_you_mean(name[:SHOWN_NAME], known)
        return f"unknown relation {excerpt(name, SHOWN_NAME)!r}{hint}"

    yield from _limited("relation", unknown, reason)


def _shared(internal: Sequence[Sequence[str]]) -> Iterator[Failure]:
    """Yield failures of the concepts that stand in the belief, and in the argument."""
    rules: tuple[tuple[Rule, str], ...] = (
        ("belief_concepts", "belief"),
        ("argument_concepts", "argument"),
    )
    for (rule, name), concepts in zip(rules, internal, strict=True):
        if len(concepts) < MIN_SHARED:
            only = f"only {concepts[0]!r} comes" if concepts else "no concept comes"
            yield Failure(rule, f"{only} from the {name}, at least {MIN_SHARED} are needed")


def _structure(links: DiGraph) -> Iterator[Failure]:
    parts = list(networkx.weakly_connected_components(links))
    if len(parts) > 1:
        first, apart = (next(concept for concept in links if concept in part) for part in parts[:2])
        yield Failure("connected", f"{len(parts)} parts; {apart!r} is not linked to {first!r}")
    cycle = find_cycle(links)
    if cycle:
        names = cycle if len(cycle) <= SHOWN else (*cycle[: SHOWN - 2], "…", cycle[-1])
        yield Failure("acyclic", f"a cycle: {' → '.join(names)}")


def _limited(rule: Rule, found: _Found, reason: Callable[[str], str] = str) -> Iterator[Failure]:
    """Yield the first failures, then how many more there are."""
    for fact, position, detail in found[:SHOWN]:
        yield Failure(rule, reason(detail), fact, position)
    if len(found) > SHOWN:
        yield Failure(rule, f"and {len(found) - SHOWN:,} more")
