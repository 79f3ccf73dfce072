"""Explanation graphs by a language model: chains of facts, the best of some candidates."""

from __future__ import annotations

import re
from operator import neg
from typing import TYPE_CHECKING

from grice.data import Triple
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.graph import Graph, read_graph, write_graph
from grice_tasks.explagraphs.samples import STANCES, Prediction
from grice_tasks.explagraphs.wording import (
    NEGATION,
    STOP_WORDS,
    fact_text,
    phrases,
    relation_names,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.explagraphs.samples import Sample, Stance
    from grice_tasks.writer import Writer

EXAMPLES = """\
Facts lead from the belief or the argument to a harm or a benefit.

Belief: Zoos should be banned.
Argument: Zoo animals live in small cages.
The argument supports the belief.
Facts: (zoos; has property; small cages)(small cages; causes; suffering)(suffering; is a; harm)

Belief: Cars should be forbidden in cities.
Argument: Many people live far from their work.
The argument counters the belief.
Facts: (cars; used for; getting to work)(getting to work; is a; benefit)

Belief: Art lessons are not necessary.
Argument: Drawing helps children to say how they feel.
The argument counters the belief.
Facts: (art lessons; used for; drawing)(drawing; causes; saying feelings)\
(saying feelings; is a; benefit)

Belief: Phones should not be allowed in class.
Argument: Pupils with phones do not listen.
The argument supports the belief.
Facts: (phones; causes; distracted pupils)(distracted pupils; capable of; learning less)\
(learning less; is a; harm)

"""
SIDES = {"support": "supports", "counter": "counters"}
ASKED_STANCE = (
    'Someone says: "{argument}" Does this person believe that "{belief}"?',
    "Belief: {belief}\nArgument: {argument}\nDoes the argument support the belief?",
)
CANDIDATES, MAX_TOKENS = 6, 56
VERDICTS = {"harm", "benefit"}
SPELLINGS = {
    "is a": "are a, are, is, is an, are an",
    "causes": "cause, leads to, lead to, results in, brings, helps, help, improves, increases",
    "created by": "caused by, is caused by, are caused by, produced by",
    "used for": "are used for, is used for, can be used for, use for",
    "desires": "desire, need, needs, want, wants, requires, require, rely on, relies on",
    "capable of": "are capable of, is capable of, can, do, does",
    "has property": "have property, has, have",
    "at location": "are at location, live in, lives in",
}  # of the schema, as language models write them
RELATIONS = {word: name for name, words in SPELLINGS.items() for word in words.split(", ")}
CONCEPT = re.compile(r"\w[\w' -]*")
ARTICLES = re.compile(r"\b(?:an?|the)\s+")
VERB = re.compile(
    r"\b(?:(should|must|ought to|needs? to)|is|are|was|were|has|have|can|will|does|do)\b"
    r"(?: not| no longer| never)?(?: be\b)?",
    re.IGNORECASE,
)


class WrittenGraphs:
    """A :class:`~grice_tasks.explagraphs.samples.GraphPredictor` by a language model."""

    def __init__(self, writer: Writer) -> None:
        self.identity = writer.identity
        self._writer = writer

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin in nats."""
        lines = [map(_line, pair) for pair in pairs]
        asked = [form.format(belief=b, argument=a) for b, a in lines for form in ASKED_STANCE]
        scores = self._writer.agrees(asked)
        margins = [first + second for first, second in zip(scores[::2], scores[1::2], strict=True)]
        return [(STANCES[int(margin < 0)], abs(margin)) for margin in margins]

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a graph for each sample; gold is not used."""
        pairs = [(sample.belief, sample.argument) for sample in samples]
        told = stances or [stance for stance, _ in self.stances(pairs)]
        both = zip(samples, told, strict=True)
        return [Prediction(each.id, stance, self._graph(each, stance)) for each, stance in both]

    def _graph(self, sample: Sample, stance: Stance) -> str:
        """Return the chain from a phrase of the texts with most rules kept, and likeliest true."""
        belief, argument = _line(sample.belief), _line(sample.argument)
        texts = (
            f"Belief: {belief}\nArgument: {argument}\nThe argument {SIDES[stance]} the belief.\n"
        )
        prompt = f"{EXAMPLES}{texts}Facts: ("
        written = self._writer.write(prompt, count=CANDIDATES, max_tokens=MAX_TOKENS)
        chains = list(dict.fromkeys(filter(None, (chain_of(f"({text})") for text in written))))
        if not chains or not phrases(belief):
            return ""
        true = self._writer.agrees([f"Is this true? {_sentences(chain)}" for chain in chains])
        ends = [conclusion(chain[-1].tail, belief, stance) for chain in chains]
        graphs = [write_graph(Graph((*each, end))) for each, end in zip(chains, ends, strict=True)]
        broken = [len(check_graph(graph, belief, argument).broken) for graph in graphs]
        begun = [chain[0].head in {*phrases(belief), *phrases(argument)} for chain in chains]
        scores = list(zip(begun, map(neg, broken), true, strict=True))
        return graphs[scores.index(max(scores))]


def chain_of(text: str) -> tuple[Triple, ...]:
    """Return the facts of a text up to a harm or a benefit; none if they are no such chain.

    >>> [fact.tail for fact in chain_of("(cage; causes; pain)(pain; is a; harm)(harm; is a; harm)")]
    ['pain', 'harm']
    >>> chain_of("(cage; causes; pain)(joy; is a; benefit)"), chain_of("(cage; harms; harm)")
    ((), ())
    """
    facts: list[Triple] = []
    for written in read_graph(ARTICLES.sub("", text.lower())).graph.edges:
        relation = RELATIONS.get(written.relation, written.relation)
        fact = Triple(written.head, relation, written.tail)
        known = {concept for each in facts for concept in (each.head, each.tail)}
        concepts = fact.head, fact.tail
        ends = {word for text in concepts for word in text.split()[:1] + text.split()[-1:]}
        if (
            fact.relation not in relation_names()
            or (facts and fact.head not in known)
            or fact.tail in {fact.head, *known}
            or ends & STOP_WORDS
            or not all(map(CONCEPT.fullmatch, concepts))
        ):
            return ()
        facts.append(fact)
        if fact.tail in VERDICTS:
            return tuple(facts) if len(facts) > 1 else ()
    return ()


def conclusion(verdict: str, belief: str, stance: Stance) -> Triple:
    """Return the fact from a harm or benefit to the predicate of the belief.

    It denies if the argument counters the belief, but not if the belief denies, too.

    >>> belief = "Cages should be banned from zoos."
    >>> [conclusion("harm", belief, stance).relation for stance in ("support", "counter")]
    ['desires', 'not desires']
    >>> conclusion("benefit", "Zoos are no longer needed.", "counter").relation
    'has property'
    """
    found = VERB.search(belief)
    rest = belief.lower()[found.end() :].strip() if found else ""
    # A phrase whose next word has content, such as "banned from city", ends too early.
    ends = [
        phrase
        for phrase in phrases(rest)
        if rest.startswith(phrase)
        and STOP_WORDS.issuperset(rest.removeprefix(phrase).strip(" .").split()[:1])
    ]
    negative = (stance == "counter") != (len(NEGATION.findall(belief.lower())) % 2 == 1)
    relation = "desires" if found and found[1] else "has property"
    if not ends:
        whole = belief.lower().strip(" .")
        ends = [each for each in phrases(belief) if whole.endswith(each)] or phrases(belief)
    return Triple(verdict, f"not {relation}" if negative else relation, max(ends, key=len))


def _line(text: str) -> str:
    return " ".join(text.split())


def _sentences(facts: Sequence[Triple]) -> str:
    return " ".join(f"{fact_text(fact).capitalize()}." for fact in facts)
