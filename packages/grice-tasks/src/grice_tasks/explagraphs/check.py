"""Is a graph a correct explanation graph, and if not, which rule does it break where?

Two sets of rules are in use and differ: ``paper``, what the task says (Saha et al. 2021,
section 2), and ``released``, what the official script really counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import networkx

from grice.data import Triple
from grice.errors import InputError, did_you_mean, excerpt
from grice_tasks.explagraphs.graph import Graph, find_cycle, links_of, read_graph
from grice_tasks.explagraphs.wording import relation_names
from grice_tasks.tokens import COMPOUNDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from networkx import DiGraph

RuleSet: TypeAlias = Literal["paper", "released"]
Rule: TypeAlias = Literal[
    "form",
    "min_facts",
    "max_facts",
    "triples",
    "concept_words",
    "relation",
    "belief_concepts",
    "argument_concepts",
    "duplicates",
    "connected",
    "acyclic",
]

MIN_FACTS, MAX_FACTS, MAX_WORDS, MIN_SHARED = 3, 8, 3, 2
SHOWN = 10  # Most reasons given for one rule; the rest is counted
SHOWN_NAME = 80


class Failure(msgspec.Struct, frozen=True):
    """One reason why a rule is broken."""

    rule: Rule
    reason: str
    fact: int | None = None  # index of the fact that breaks it; None if it is the graph as a whole
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

    ``paper``: in the written form; 3 to 8 facts; concepts of one to three words; one of the 28
    relations; at least two concepts that stand, as whole words, in the belief and two in the
    argument; no fact twice; connected; acyclic.

    ``released``: the first and last character are cut whatever they are and the rest is split
    at ``)(`` and ``; ``; at least 3 facts, without upper limit and with repeated ones; words
    are what single spaces separate; a concept counts where its characters stand in the belief
    or argument, inside of words too; of parallel relations the last stays. Nothing more is
    looked at if a fact does not split into three.

    >>> check_graph("(zoos; is a; place)", "Zoos are bad.", "It is a sad place.").broken
    ('min_facts', 'belief_concepts', 'argument_concepts')
    """
    if rules == "released":
        return Verdict(rules, tuple(_released(text.lower(), belief.lower(), argument.lower())))
    if rules == "paper":
        return Verdict(rules, tuple(_paper(text.lower(), belief.lower(), argument.lower())))
    raise InputError(f"rules={rules!r}{did_you_mean(rules, ('paper', 'released'))}")


def released_edges(text: str) -> list[list[str]]:
    """Return the facts as the official script splits them, three parts or not."""
    return [fact.split("; ") for fact in text[1:-1].split(")(")]


def is_internal(concept: str, belief: str, argument: str) -> bool:
    """Return whether a concept stands in the belief or argument, as the paper's counts take it."""
    concept = concept.lower()
    return concept in belief.lower() or concept in argument.lower()


def _released(text: str, belief: str, argument: str) -> Iterator[Failure]:
    facts = released_edges(text)
    starts = _starts(facts)
    if len(facts) < MIN_FACTS:
        yield _too_few(len(facts))
    if any(len(fact) != 3 for fact in facts):
        yield from _limited(
            Failure(
                "triples", f"{_count(len(fact), 'part')} instead of 3 between '; '", number, start
            )
            for number, (fact, start) in enumerate(zip(facts, starts, strict=True))
            if len(fact) != 3
        )
        return
    graph = Graph(tuple(Triple(fact[0], fact[1], fact[2]) for fact in facts))
    links = links_of(graph)
    long = {concept for concept in links if not concept or concept.count(" ") >= MAX_WORDS}
    yield from _concept_words(graph, long, starts)
    yield from _relations(graph, starts)
    for rule, name, source in _sources(belief, argument):
        yield from _shared(rule, name, [concept for concept in links if concept in source])
    yield from _shape(links)


def _paper(text: str, belief: str, argument: str) -> Iterator[Failure]:
    reading = read_graph(text)
    graph, starts = reading.graph, reading.starts
    if reading.problems:
        yield from _limited(
            Failure("form", problem.message, None, problem.start) for problem in reading.problems
        )
    if len(graph.edges) < MIN_FACTS:
        yield _too_few(len(graph.edges))
    if len(graph.edges) > MAX_FACTS:
        yield Failure("max_facts", f"{len(graph.edges)} facts, at most {MAX_FACTS} are allowed")
    links = links_of(graph)
    words = {concept: word_string(concept) for concept in links}
    long = {
        concept
        for concept, words_of_it in words.items()
        if not 0 < words_of_it.count(" ") - 1 <= MAX_WORDS
    }
    yield from _concept_words(graph, long, starts)
    yield from _relations(graph, starts)
    for rule, name, source in _sources(word_string(belief), word_string(argument)):
        internal = [
            concept for concept, spaced in words.items() if spaced in source and spaced != " "
        ]
        yield from _shared(rule, name, internal)
    if len(set(graph.edges)) < len(graph.edges):
        yield from _duplicates(graph, starts)
    yield from _shape(links)


def word_string(text: str) -> str:
    """Return the words with a space before, between and after; one space if there is no word."""
    return f" {' '.join(COMPOUNDS.findall(text))} ".replace("  ", " ")


def _sources(belief: str, argument: str) -> tuple[tuple[Rule, str, str], ...]:
    return (("belief_concepts", "belief", belief), ("argument_concepts", "argument", argument))


def _starts(facts: Sequence[Sequence[str]]) -> list[int]:
    starts, at = [], 0
    for fact in facts:
        starts.append(at)
        at += sum(map(len, fact)) + 2 * len(fact)
    return starts


def _too_few(count: int) -> Failure:
    return Failure("min_facts", f"{_count(count, 'fact')}, at least {MIN_FACTS} are needed")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _concept_words(graph: Graph, long: set[str], starts: Sequence[int]) -> Iterator[Failure]:
    if long:
        yield from _limited(
            Failure(
                "concept_words",
                f"{side} {concept!r}: one to {MAX_WORDS} words are allowed",
                number,
                starts[number],
            )
            for number, edge in enumerate(graph.edges)
            for side, concept in (("head", edge.head), ("tail", edge.tail))
            if concept in long
        )


def _relations(graph: Graph, starts: Sequence[int]) -> Iterator[Failure]:
    known = relation_names()
    if all(edge.relation in known for edge in graph.edges):
        return
    unknown = (
        Failure("relation", edge.relation, number, starts[number])
        for number, edge in enumerate(graph.edges)
        if edge.relation not in known
    )
    for failure in _limited(unknown):
        if failure.fact is None:
            yield failure
        else:  # looking for near names is slow: only for what is shown
            hint = did_you_mean(failure.reason[:SHOWN_NAME], known)
            reason = f"unknown relation {excerpt(failure.reason, SHOWN_NAME)!r}{hint}"
            yield Failure("relation", reason, failure.fact, failure.position)


def _shared(rule: Rule, name: str, internal: Sequence[str]) -> Iterator[Failure]:
    if len(internal) < MIN_SHARED:
        only = f"only {internal[0]!r} comes" if internal else "no concept comes"
        yield Failure(rule, f"{only} from the {name}, at least {MIN_SHARED} are needed")


def _duplicates(graph: Graph, starts: Sequence[int]) -> Iterator[Failure]:
    first: dict[Triple, int] = {}
    yield from _limited(
        Failure("duplicates", f"says the same as fact {first[edge]}", number, starts[number])
        for number, edge in enumerate(graph.edges)
        if first.setdefault(edge, number) != number
    )


def _shape(links: DiGraph) -> Iterator[Failure]:
    parts = list(networkx.weakly_connected_components(links))
    if len(parts) > 1:
        first, apart = (next(concept for concept in links if concept in part) for part in parts[:2])
        yield Failure("connected", f"{len(parts)} parts; {apart!r} is not linked to {first!r}")
    cycle = find_cycle(links)
    if cycle:
        names = cycle if len(cycle) <= SHOWN else (*cycle[: SHOWN - 2], "…", cycle[-1])
        yield Failure("acyclic", f"a cycle: {' → '.join(names)}")


def _limited(failures: Iterable[Failure]) -> Iterator[Failure]:
    """Yield the first failures, then how many more there are."""
    more, last = 0, None
    for number, failure in enumerate(failures):
        if number < SHOWN:
            yield failure
        else:
            more, last = more + 1, failure
    if last is not None:
        yield Failure(last.rule, f"and {more:,} more")
