"""Features of a graph beside its belief: counts, and means of vectors in principal axes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.text.tokens import LETTERS
from grice_tasks.explagraphs.graph import depth, find_cycle, is_linear, links_of
from grice_tasks.explagraphs.wording import (
    NEGATION,
    STOP_WORDS,
    fact_text,
    is_negative,
    relation_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from grice.data import Triple
    from grice.knowledge.plausibility import Bilinear
    from grice.models.protocols import Vector
    from grice_tasks.explagraphs.graph import Graph

    Array: TypeAlias = NDArray[np.float32]


ENDING = re.compile(
    r"\b(?:abolish|abandon|ban|disband|eliminat|end|limit|oppos|prohibit|stop)(?:ed|ing|s|e|es|ned"
    r"|ning|ped|ping)?\b"
)
"""Words by which a belief wants something gone."""


class Space(NamedTuple):
    """Arrays that turn vectors into features."""

    mean: Array  # mean vector of texts, shape ``(dimensions,)``
    axes: Array  # first principal axes
    good: Array  # direction from what people do not want to what they want


class Reading(NamedTuple):
    """Input of a classifier: a belief, the argument unless it is hidden, and a graph."""

    belief: str
    argument: str | None
    graph: Graph


class Features:
    """Turns readings into rows of numbers."""

    def __init__(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        self._space = space
        self._vectors = vectors
        self._axes: dict[str, Array] = {}
        self._good: dict[str, float] = {}

    def vector(self, text: str) -> Vector:
        """Return the encoder's vector of a text."""
        return self._vectors[text]

    def axes(self, text: str) -> Array:
        """Return a text in the principal axes, shape ``(k,)``."""
        if text not in self._axes:
            centred = self._vectors[text] - self._space.mean
            self._axes[text] = np.asarray(centred @ self._space.axes, np.float32)
        return self._axes[text]

    def good(self, text: str) -> float:
        """Return how much people want what a text names, around -1 to 1."""
        if text not in self._good:
            good = self._space.good
            self._good[text] = float(self._vectors[text] @ good[:-1] + good[-1])
        return self._good[text]

    def row(self, reading: Reading) -> tuple[Array, Array]:
        """Return counts and vectors of a reading, side by side each."""
        counts = self._counts(reading)
        return np.array(counts, np.float32), np.concatenate(self._blocks(reading))

    def _counts(self, reading: Reading) -> list[float]:
        graph, belief = reading.graph, reading.belief.lower()
        links = links_of(graph)
        concepts = list(links)
        sources, sinks = _ends(graph)
        mentioned = {word for concept in concepts for word in concept.split()}
        negative = [is_negative(fact.relation) for fact in graph.edges]
        even = -1.0 if sum(negative) % 2 else 1.0
        against = -1.0 if len(NEGATION.findall(belief) + ENDING.findall(belief)) % 2 else 1.0
        outside = [concept for concept in concepts if concept not in belief]
        good = self.good(reading.belief)
        sinking, sourcing, strange = (
            _mean(map(self.good, some)) for some in (sinks, sources, outside)
        )
        wanted = [
            -self.good(fact.tail) if denied else self.good(fact.tail)
            for fact, denied in zip(graph.edges, negative, strict=True)
        ]
        liked = [self.good(concept) for concept in concepts]
        mine = self.vector(reading.belief)
        near = [float(self.vector(concept) @ mine) for concept in concepts]
        facts = [float(self.vector(fact_text(fact)) @ mine) for fact in graph.edges]
        joined = [float(self.vector(f.head) @ self.vector(f.tail)) for f in graph.edges]
        row = [
            len(graph.edges),
            len(concepts),
            len(concepts) - len(outside),
            0 if find_cycle(links) else depth(graph),
            is_linear(graph),
            *(len(sources), len(sinks)),
            *(_mean(concept in belief for concept in some) for some in (sources, sinks)),
            _mean(len(concept.split()) for concept in concepts),
            *(min(near, default=0.0), _mean(near), max(near, default=0.0)),
            *(min(joined, default=0.0), _mean(joined), max(joined, default=0.0)),
            *(_mean(facts), max(facts, default=0.0)),
            *(sum(negative), even, any(negative)),
            _covered(belief, mentioned),
            len(belief.split()),
            *(against, against * even),
            *(good, good * even, good * against, sinking, sourcing, strange),
            *(sinking * even, sourcing * even, strange * even, strange * against),
            *(strange * even * against, strange * good, strange * good * even),
            *(_mean(wanted), _mean(wanted) * against, _mean(wanted) * good),
            *(min(liked, default=0.0), max(liked, default=0.0)),
        ]
        if reading.argument is not None:
            row += self._beside(reading.argument, reading, mentioned, even)
        counts = dict.fromkeys(relation_names(), 0)
        for fact in graph.edges:
            counts[fact.relation] = counts.get(fact.relation, 0) + 1
        return [*map(float, row), *(float(counts[name]) for name in relation_names())]

    def _beside(
        self, argument: str, reading: Reading, mentioned: set[str], even: float
    ) -> list[float]:
        """Return the counts that need the argument."""
        lowered, belief = argument.lower(), reading.belief.lower()
        likeness = float(self.vector(argument) @ self.vector(reading.belief))
        against = -1.0 if len(NEGATION.findall(lowered) + NEGATION.findall(belief)) % 2 else 1.0
        good = self.good(argument)
        other = _content(lowered)
        return [
            sum(concept in lowered for concept in reading.graph.concepts),
            _covered(lowered, mentioned),
            len(lowered.split()),
            likeness,
            *(against, against * even, against * likeness),
            *(good, good * even, good * self.good(reading.belief), good * against),
            len(other & _content(belief)) / max(1, len(other)),
        ]

    def _blocks(self, reading: Reading) -> list[Array]:
        graph, belief = reading.graph, self.axes(reading.belief)
        (sources, sinks), lowered = _ends(graph), reading.belief.lower()
        sign = np.array([-1 if is_negative(f.relation) else 1 for f in graph.edges], np.float32)
        even = np.float32(sign.prod())
        facts = self._several(fact_text(fact) for fact in graph.edges)
        heads = self._several(fact.head for fact in graph.edges)
        tails = self._several(fact.tail for fact in graph.edges)
        outside = self._several(c for c in graph.concepts if c not in lowered).mean(axis=0)
        touching = [f for f in graph.edges if f.tail in lowered or f.head in lowered]
        fact = facts.mean(axis=0)
        likest = facts[int((facts @ belief).argmax())]
        signs = sign[:, None] if len(sign) else np.ones((1, 1), np.float32)
        blocks = [
            belief,
            fact,
            heads.mean(axis=0),
            tails.mean(axis=0),
            self._several(sinks).mean(axis=0),
            self._several(sources).mean(axis=0),
            outside,
            self._several(map(fact_text, touching)).mean(axis=0),
            likest,
            belief * fact,
            belief * outside,
            even * outside,
            even * fact,
            even * belief,
            (signs * tails).mean(axis=0),
            (signs * heads).mean(axis=0),
        ]
        if reading.argument is not None:
            argument = self.axes(reading.argument)
            blocks += [argument, argument * belief, np.abs(argument - belief), argument * fact]
        return blocks

    def _several(self, texts: Iterable[str]) -> Array:
        """Return the texts in axes, one row of zeros if there is none."""
        rows = [self.axes(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((1, self._space.axes.shape[1]), np.float32)


def _ends(graph: Graph) -> tuple[list[str], list[str]]:
    """Return the concepts without incoming and those without outgoing fact."""
    heads = {fact.head for fact in graph.edges}
    tails = {fact.tail for fact in graph.edges}
    concepts = graph.concepts
    return [c for c in concepts if c not in tails], [c for c in concepts if c not in heads]


def texts_of(readings: Iterable[Reading]) -> list[str]:
    """Return every text whose vector the features need, each once."""
    texts: dict[str, None] = {}
    for reading in readings:
        texts[reading.belief] = None
        if reading.argument is not None:
            texts[reading.argument] = None
        texts.update(dict.fromkeys(reading.graph.concepts))
        texts.update(dict.fromkeys(map(fact_text, reading.graph.edges)))
    return list(texts)


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0


def _content(text: str) -> set[str]:
    return set(LETTERS.findall(text)) - STOP_WORDS


def _covered(text: str, mentioned: set[str] | Sequence[str]) -> float:
    """Return the share of a text's content words that concepts hold."""
    words = _content(text)
    return sum(word in mentioned for word in words) / len(words) if words else 0.0


class Informativeness(NamedTuple):
    """How informative a graph is."""

    value: float  # the lower of ``written`` and ``accepted``, 0 to 1; 0 for a graph without facts
    written: float  # beside as many graphs that were made to say nothing as people wrote
    accepted: float  # beside as many graphs that people refused as they accepted
    facts: tuple[float, ...]  # plausibility of each fact, 0 to 1
    connection: float  # plausibility of the weakest fact on the best path


def with_one(vectors: Array) -> Array:
    """Return vectors with a constant one behind, by which a form scores one side alone."""
    return np.concatenate([vectors, np.ones((len(vectors), 1), np.float32)], axis=1)


def fact_logits(form: Bilinear, vectors: Mapping[str, Vector], facts: Sequence[Triple]) -> Array:
    """Return the score of each fact, shape ``(n,)``; 0 is as likely right as wrong.

    A fact under an unknown relation gets the lowest score that it has under a known one.
    """
    if not facts:
        return np.zeros(0, np.float32)
    column = {name: place for place, name in enumerate(relation_names())}
    scores = form(
        with_one(np.stack([vectors[fact.head] for fact in facts])),
        with_one(np.stack([vectors[fact.tail] for fact in facts])),
    )
    return np.array(
        [
            row[column[fact.relation]] if fact.relation in column else row.min()
            for row, fact in zip(scores, facts, strict=True)
        ],
        np.float32,
    )


def informativeness_features(
    belief: str, argument: str | None, graph: Graph, plausible: Array
) -> Array:
    """Return mean and least plausibility, the connection, and the share of doubtful facts."""
    connection = _connection(graph, belief.lower(), (argument or "").lower(), plausible.tolist())
    parts = (plausible.mean(), plausible.min(), connection, (plausible < 0.5).mean())
    return np.array(parts, np.float32)


def _connection(graph: Graph, belief: str, argument: str, plausible: Sequence[float]) -> float:
    """Return the widest path: join concepts by falling plausibility until both sides meet."""
    part = {concept: {concept} for concept in graph.concepts}
    for place in sorted(range(len(plausible)), key=lambda number: -plausible[number]):
        edge = graph.edges[place]
        joined = part[edge.head] | part[edge.tail]
        for concept in joined:
            part[concept] = joined
        ours = {name for name in joined if name in belief}
        theirs = {name for name in joined if name in argument}
        if ours and theirs and len(ours | theirs) > 1:
            return plausible[place]
    return 0.0
