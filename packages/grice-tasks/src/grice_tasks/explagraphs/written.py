"""Explanation graphs by a language model: relations of the schema, the best of some candidates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.cli.output import warn
from grice.errors import plural
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.features import Reading
from grice_tasks.explagraphs.graph import depth_first, read_graph, write_graph
from grice_tasks.explagraphs.samples import STANCES, Prediction
from grice_tasks.explagraphs.wording import relation_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.samples import Sample, Stance
    from grice_tasks.writer import Writer

EXAMPLES = """\
A graph of true facts leads from the argument to the belief, which it supports or counters.

Belief: Zoos should be banned.
Argument: Zoo animals live in small cages.
The argument supports the belief.
Graph: (zoo animals; at location; small cages)(small cages; causes; suffering)\
(suffering; is a; harm)(harm; desires; zoos banned)

Belief: Cars should be forbidden in cities.
Argument: Many people need a car to get to work.
The argument counters the belief.
Graph: (many people; desires; car)(car; used for; get to work)(get to work; is a; need)\
(need; not desires; forbidden)

Belief: Homework is useful.
Argument: Homework lets children practise what they learned.
The argument supports the belief.
Graph: (homework; used for; practise)(children; capable of; practise)\
(practise; causes; better memory)(better memory; has property; useful)

"""
SIDES = {"support": " supports the belief.", "counter": " counters the belief."}
CANDIDATES, MAX_TOKENS = 3, 90
FEWEST, MOST = 3, 6  # facts of a graph
CONCEPT = re.compile(r"(?:[a-z0-9'-]+ ?){0,4}", re.IGNORECASE)


class WrittenGraphs:
    """A :class:`~grice_tasks.explagraphs.samples.GraphPredictor` by a language model."""

    def __init__(self, writer: Writer, classifiers: GraphClassifiers) -> None:
        self.identity = f"{writer.identity}/{classifiers.identity}"
        self._writer, self._classifiers = writer, classifiers

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin in nats."""
        asked = [
            (f"{_prompt(*pair)}The argument", side) for pair in pairs for side in SIDES.values()
        ]
        scores = self._writer.sense(asked)
        rows = zip(scores[::2], scores[1::2], strict=True)
        return [
            (STANCES[int(counter > support)], abs(support - counter)) for support, counter in rows
        ]

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a graph for each sample; gold is not used."""
        pairs = [(sample.belief, sample.argument) for sample in samples]
        told = stances or [stance for stance, _ in self.stances(pairs)]
        predictions = [
            Prediction(sample.id, stance, self._graph(*pair, stance))
            for sample, pair, stance in zip(samples, pairs, told, strict=True)
        ]
        both = zip(samples, predictions, strict=True)
        if contrary := [sample.id for sample, each in both if self._is_contrary(sample, each)]:
            warn(
                f"{plural(len(contrary), 'graph')} may speak for the other stance, the first of "
                f"sample {contrary[0]!r}: read it, or give --stance"
            )
        return predictions

    def _is_contrary(self, sample: Sample, answer: Prediction) -> bool:
        """Return whether two classifiers read the other stance in a graph."""
        graph, other = read_graph(answer.graph).graph, STANCES[answer.stance == STANCES[0]]
        meanings = self._classifiers.choices([Reading(sample.belief, sample.argument, graph)])
        meanings += self._classifiers.meanings([(sample.belief, graph)])
        worse = (getattr(meaning, other) > getattr(meaning, answer.stance) for meaning in meanings)
        return bool(graph.edges) and all(worse)

    def _graph(self, belief: str, argument: str, stance: Stance) -> str:
        """Return the candidate that breaks fewest rules and reads best as sentences."""
        prompt = f"{_prompt(belief, argument)}The argument{SIDES[stance]}\nGraph:"
        written = self._writer.write(prompt, begins_graph, count=CANDIDATES, max_tokens=MAX_TOKENS)
        graphs = [write_graph(depth_first(read_graph(text.lower()).graph)) for text in written]
        if not graphs:
            return ""
        sentences = [(f"{argument} ", _sentences(graph)) for graph in graphs]
        readings = [Reading(belief, argument, read_graph(graph).graph) for graph in graphs]
        meanings = self._classifiers.choices(readings)
        scores = [
            (-len(check_graph(graph, belief, argument).broken), getattr(meaning, stance) + sense)
            for graph, meaning, sense in zip(
                graphs, meanings, self._writer.sense(sentences), strict=True
            )
        ]
        return graphs[scores.index(max(scores))]


def _prompt(belief: str, argument: str) -> str:
    texts = (" ".join(text.split()) for text in (belief, argument))
    return EXAMPLES + "Belief: {}\nArgument: {}\n".format(*texts)


def _sentences(graph: str) -> str:
    return " ".join(f"{e.head} {e.relation} {e.tail}." for e in read_graph(graph).graph.edges)


def begins_graph(text: str) -> bool:
    """Return whether a text begins a graph of the schema; a line end must end a whole one.

    >>> begins_graph(" (zoos; cau"), begins_graph(" (zoos; harms"), begins_graph(" (zoos; is a; )")
    (True, False, False)
    """
    line, end, _ = text.lstrip(" ").partition("\n")
    *facts, last = line.split(")")
    if not all(_begins_fact(fact, whole=True) for fact in facts):
        return False
    if end or len(facts) == MOST:
        return not last and FEWEST <= len(facts) <= MOST
    return not last or _begins_fact(last)


def _begins_fact(text: str, *, whole: bool = False) -> bool:
    head, *rest = text.removeprefix("(").split("; ")
    relation, tail = (*rest, "", "")[:2]
    known = relation_names()
    fits = relation in known if whole or len(rest) > 1 else _begins_any(relation, known)
    worded = all(CONCEPT.fullmatch(part.rstrip(";")) for part in (head, tail))
    whole_parts = len(rest) == 2 and bool(tail.strip()) and tail != head
    return (
        text.startswith("(")
        and bool(head.strip() or text == "(")
        and len(rest) <= 2
        and worded
        and fits
        and (whole_parts or not whole)
    )


def _begins_any(text: str, names: Sequence[str]) -> bool:
    return any(name.startswith(text.rstrip(";")) for name in names)
