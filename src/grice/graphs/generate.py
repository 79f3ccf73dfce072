"""A generator of explanation graphs that searches instead of writing.

Phrases of belief and argument and a few concepts of a fixed vocabulary are candidates; a form
learned from ConceptNet and train graphs scores every fact between two of them. A beam grows trees
of facts, one new concept at a time, so every graph is connected, free of cycles, of legal size,
with known relations and two concepts of each text. The judge of meaning picks among the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.graphs.check import MIN_FACTS, MIN_SHARED, check_graph
from grice.graphs.graph import Graph
from grice.graphs.order import depth_first
from grice.graphs.reader import write_graph
from grice.graphs.repair import repair_graph
from grice.graphs.samples import Prediction
from grice.graphs.substance import with_one
from grice.graphs.wording import is_negative, phrases, relation_names
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from grice.graphs.features import Features
    from grice.graphs.judges import GraphJudges
    from grice.graphs.samples import Sample, Stance

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["generate_graphs", "phrase_row"]

MINE, OUTSIDE = 6, 8
"""Candidates of each text, and of the vocabulary."""
WIDTH, FINAL = 30, 6
"""Graphs kept per size, and how many are shown to the judge."""
MOST_OUTSIDE = 2
"""Most concepts of the vocabulary in one graph; people use 1.3 external ones on average."""
LARGEST = 5
"""Most facts of a graph that is tried; people write 4.2 on average."""
MEANING = 2.0
"""How much the judge's score of the stance counts beside the mean score of the facts."""


class _Candidate(NamedTuple):
    text: str
    belief: bool
    argument: bool


class _Tree(NamedTuple):
    """A growing graph: facts as head, relation, tail by number, and their scores."""

    score: float
    facts: tuple[tuple[int, int, int], ...]
    used: frozenset[int]


def phrase_row(phrase: str, text: str, other: str, features: Features) -> Array:
    """Return what a phrase of a text is like, by which it may look like a concept.

    Args:
        phrase: One of :func:`~grice.graphs.wording.phrases` of the text.
        text: Belief or argument.
        other: The other of the two.
        features: Knows the vectors of all three.
    """
    lowered = text.lower()
    start = lowered.find(phrase)
    words = phrase.count(" ") + 1
    vector = features.vector(phrase)
    own = [
        1.0,
        float(words == 1),
        float(words == 2),
        start / max(1, len(lowered)),
        float(start == 0),
        float(not lowered[start + len(phrase) :].strip(" .!?")),
        float(phrase in other.lower()),
        len(phrase) / 10,
        float(vector @ features.vector(text)),
        float(vector @ features.vector(other)),
    ]
    return np.concatenate([np.array(own, np.float32), features.axes(phrase) * np.float32(0.3)])


def generate_graphs(
    samples: Sequence[Sample], judges: GraphJudges, *, stances: Sequence[Stance] | None = None
) -> list[Prediction]:
    """Return a stance and a graph for each sample; neither gold is looked at.

    Args:
        samples: Beliefs and arguments.
        judges: The shipped models.
        stances: The stances to explain; by default the judges predict them.
    """
    texts = [(sample.belief, sample.argument) for sample in samples]
    if stances is None:
        stances = [stance for stance, _ in judges.stances(texts)]
    judges.know([*judges.concepts, *(text for pair in texts for text in pair)])
    judges.know(phrase for pair in texts for text in pair for phrase in phrases(text))
    outside = np.stack([judges.vector(concept) for concept in judges.concepts])
    found = [
        _proposals(sample, stance, judges, outside)
        for sample, stance in zip(samples, stances, strict=True)
    ]
    # All at once: encoding a few facts for each sample is several times slower.
    said = iter(
        judges.meanings(
            [
                (sample.belief, graph)
                for sample, proposals in zip(samples, found, strict=True)
                for _, graph in proposals
            ]
        )
    )
    made = []
    for sample, stance, proposals in zip(samples, stances, found, strict=True):
        total = [score + MEANING * getattr(next(said), stance) for score, _ in proposals]
        best = write_graph(proposals[int(np.argmax(total))][1]) if proposals else _anything(sample)
        made.append(Prediction(sample.id, stance, best))
    return made


def _proposals(
    sample: Sample, stance: Stance, judges: GraphJudges, outside: Array
) -> list[tuple[float, Graph]]:
    """Return the best valid graphs with their scores; none if the texts are too short."""
    candidates = _candidates(sample, judges, outside)
    scores = _facts(candidates, judges)
    trees = sorted(_search(candidates, scores, stance), key=lambda one: -one.score)
    graphs = ((tree.score, depth_first(_graph(tree, candidates))) for tree in trees[:FINAL])
    return [
        (score, graph)
        for score, graph in graphs
        if check_graph(write_graph(graph), sample.belief, sample.argument).ok
    ]


def _anything(sample: Sample) -> str:
    """Return a valid graph for texts too short to search in, by way of a repair."""
    return repair_graph("", sample.belief, sample.argument).graph or ""


def _candidates(sample: Sample, judges: GraphJudges, outside: Array) -> list[_Candidate]:
    belief, argument = sample.belief.lower(), sample.argument.lower()
    chosen: dict[str, None] = {}
    for text, other in ((sample.belief, sample.argument), (sample.argument, sample.belief)):
        said = phrases(text)
        rows = [phrase_row(phrase, text, other, judges.features) for phrase in said]
        order = np.argsort([-float(row @ judges.phrases) for row in rows])
        chosen.update((said[i], None) for i in order[:MINE])
    near = outside @ (judges.vector(sample.belief) + judges.vector(sample.argument))
    fresh = [
        judges.concepts[i]
        for i in np.argsort(-near)[: 3 * OUTSIDE]
        if judges.concepts[i] not in belief and judges.concepts[i] not in argument
    ]
    chosen.update(dict.fromkeys(fresh[:OUTSIDE]))
    return [_Candidate(text, text in belief, text in argument) for text in chosen]


def _facts(candidates: Sequence[_Candidate], judges: GraphJudges) -> Array:
    """Return the log probability of every fact, shape ``(heads, tails, relations)``."""
    vectors = with_one(np.stack([judges.vector(one.text) for one in candidates]))
    n = len(vectors)
    heads, tails = np.repeat(vectors, n, axis=0), np.tile(vectors, (n, 1))
    logits = judges.links(heads, tails).reshape(n, n, -1)
    return np.asarray(-np.logaddexp(0, -logits), np.float32)


def _search(candidates: Sequence[_Candidate], scores: Array, stance: Stance) -> Iterator[_Tree]:
    """Yield trees with two concepts of each text, from the smallest legal size on."""
    names = relation_names()
    denies = np.array([is_negative(name) for name in names])
    # A relation that people use less than its opposite for a stance needs a better reason.
    prior = np.where(denies, *((-2.5, 0.0) if stance == "support" else (-1.2, 0.0)))
    best = scores + prior.astype(np.float32)
    relation: list[list[int]] = best.argmax(axis=2).tolist()
    value: list[list[float]] = best.max(axis=2).tolist()
    apart = [
        [a.text not in b.text and b.text not in a.text for b in candidates] for a in candidates
    ]
    beam = [_Tree(0.0, (), frozenset([start])) for start in range(len(candidates))]
    for size in range(1, LARGEST + 1):
        grown: dict[frozenset[tuple[int, int, int]], _Tree] = {}
        for tree in beam:
            fresh = [new for new in range(len(apart)) if all(apart[new][one] for one in tree.used)]
            for old in tree.used:
                for new in fresh:
                    for head, tail in ((old, new), (new, old)):
                        facts = (*tree.facts, (head, relation[head][tail], tail))
                        total = tree.score * (size - 1) + value[head][tail]
                        grown.setdefault(
                            frozenset(facts), _Tree(total / size, facts, tree.used | {new})
                        )
        beam = _kept(list(grown.values()), candidates, LARGEST - size)
        if size >= MIN_FACTS:
            yield from (tree for tree in beam if not _lacking(tree, candidates))


def _lacking(tree: _Tree, candidates: Sequence[_Candidate]) -> int:
    """Return how many concepts of belief and argument a tree still needs."""
    belief = sum(candidates[one].belief for one in tree.used)
    argument = sum(candidates[one].argument for one in tree.used)
    return max(0, MIN_SHARED - belief) + max(0, MIN_SHARED - argument)


def _outside(tree: _Tree, candidates: Sequence[_Candidate]) -> int:
    """Return how many concepts of a tree stand in neither text."""
    return sum(not (candidates[i].belief or candidates[i].argument) for i in tree.used)


def _kept(
    trees: list[_Tree], candidates: Sequence[_Candidate], left: int
) -> list[_Tree]:  # fmt: skip
    """Return the best trees, half of them among those that lack least."""
    able = [
        tree
        for tree in trees
        if _lacking(tree, candidates) <= left and _outside(tree, candidates) <= MOST_OUTSIDE
    ]
    able.sort(key=lambda tree: -tree.score)
    ready = [tree for tree in able if _lacking(tree, candidates) <= left - 2]
    return list(dict.fromkeys([*able[: WIDTH // 2], *ready[: WIDTH // 2]]))


def _graph(tree: _Tree, candidates: Sequence[_Candidate]) -> Graph:
    names = relation_names()
    return Graph(
        tuple(Triple(candidates[a].text, names[r], candidates[b].text) for a, r, b in tree.facts)
    )
