"""A generator of explanation graphs that fills patterns instead of writing.

Patterns are graphs that people wrote about similar texts (:mod:`grice.graphs.cases`); phrases of
belief and argument and a few words of a fixed vocabulary fill them, weighed by a form that scores
facts. A judge of its own picks one of the best. Nothing here was taught on the topics that
``substance`` was taught on, and neither asks the other: see ``recipes/graphs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.graphs.candidates import Candidate, candidates, origin
from grice.graphs.cases import fill
from grice.graphs.check import check_graph
from grice.graphs.features import Reading
from grice.graphs.graph import Graph
from grice.graphs.order import depth_first
from grice.graphs.reader import write_graph
from grice.graphs.repair import repair_graph
from grice.graphs.samples import Prediction
from grice.graphs.substance import with_one
from grice.graphs.wording import phrases, relation_names
from grice.numeric import unit_vector
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.graphs.cases import Cases, Filled
    from grice.graphs.features import Features
    from grice.graphs.judges import GraphJudges
    from grice.graphs.samples import Sample, Stance
    from grice.knowledge.plausibility import Bilinear

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["Maker", "generate_graphs"]

PATTERNS = 60
"""Cases that are filled for a sample."""
SHOWN = 24
"""Graphs that are shown to the judge."""


class Maker:
    """Proposes graphs; it knows neither stances nor judges.

    Args:
        features: Knows the vectors of all texts in question.
        links: Scores facts.
        weights: By which a phrase looks like a concept.
        outside: Words that people use beside both texts, with the logarithm of how often.
        cases: The patterns.
    """

    def __init__(
        self, features: Features, links: Bilinear, weights: Array,
        outside: Sequence[tuple[str, float]], cases: Cases,
    ) -> None:  # fmt: skip
        self._features = features
        self._links = links
        self._weights = weights
        self.outside = tuple(outside)
        self._known = frozenset(word for word, _ in outside)
        self._cases = cases

    def proposals(self, belief: str, argument: str, stance: Stance) -> list[Graph]:
        """Return up to :data:`SHOWN` valid graphs in depth-first order, the best first."""
        near = self._cases.nearest(self._short(belief), self._short(argument), stance, PATTERNS)
        found = candidates(belief, argument, self._features, self._weights, self.outside)
        listed = {one.text for one in found}
        texts = (belief.lower(), argument.lower())
        for case, _ in near:
            for slot in case.slots:
                word = slot.concept
                if word in self._known - listed and origin(word, *texts) == "outside":
                    listed.add(word)
                    found.append(Candidate(word, "outside", 0.0, 0.0, 0.0))
        if not found:
            return []
        vectors = np.stack([self._short(one.text) for one in found])
        scores = self._scores([one.text for one in found])
        filled: dict[Graph, Filled] = {}
        for case, concepts in near:
            made = fill(case, concepts, found, vectors, scores)
            if made is not None:
                graph = depth_first(_graph(made, found))
                filled[graph] = max(made, filled.get(graph, made))
        best = sorted(filled, key=lambda graph: -filled[graph].score)
        valid = (g for g in best if check_graph(write_graph(g), belief, argument).ok)
        return [graph for _, graph in zip(range(SHOWN), valid, strict=False)]

    def _short(self, text: str) -> Array:
        return unit_vector(self._features.axes(text))

    def _scores(self, texts: Sequence[str]) -> Array:
        """Return the log probability of every fact, shape ``(heads, tails, relations)``."""
        vectors = with_one(np.stack([self._features.vector(text) for text in texts]))
        return np.asarray(-np.logaddexp(0, -self._links.grid(vectors, vectors)), np.float32)


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
    judges.know(word for word, _ in judges.maker.outside)
    judges.know(text for pair in texts for text in (*pair, *phrases(pair[0]), *phrases(pair[1])))
    found = [
        judges.maker.proposals(*pair, stance) for pair, stance in zip(texts, stances, strict=True)
    ]
    # All at once: encoding a few facts for each sample is several times slower.
    readings = [
        Reading(*pair, graph) for pair, graphs in zip(texts, found, strict=True) for graph in graphs
    ]
    said = iter(judges.choices(readings))
    made = []
    for sample, stance, graphs in zip(samples, stances, found, strict=True):
        likely = [getattr(next(said), stance) for _ in graphs]
        best = write_graph(graphs[int(np.argmax(likely))]) if graphs else _anything(sample)
        made.append(Prediction(sample.id, stance, best))
    return made


def _anything(sample: Sample) -> str:
    """Return a valid graph for texts that fill no pattern, by way of a repair."""
    return repair_graph("", sample.belief, sample.argument).graph or ""


def _graph(filled: Filled, found: Sequence[Candidate]) -> Graph:
    names = relation_names()
    return Graph(
        tuple(
            Triple(found[head].text, names[r], found[tail].text) for head, r, tail in filled.facts
        )
    )
