"""A generator of explanation graphs that fills templates instead of writing.

Templates are graphs that people wrote about similar texts (:mod:`.templates`); phrases
of belief and argument and a few words of a fixed vocabulary fill them, weighed by a form that
scores facts. A classifier picks one of the best; nothing here was taught on the topics that
``informativeness`` was taught on, and neither asks the other: see the recipe ``graphs``.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grice.knowledge.plausibility import Bilinear
from grice.numeric import unit_vector
from grice.records import Triple
from grice_tasks.explagraphs.candidates import Candidate, candidates, origin
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.features import Reading
from grice_tasks.explagraphs.graph import Graph, depth_first
from grice_tasks.explagraphs.informativeness import with_one
from grice_tasks.explagraphs.reader import write_graph
from grice_tasks.explagraphs.samples import Prediction
from grice_tasks.explagraphs.templates import Templates, fill
from grice_tasks.explagraphs.wording import phrases, relation_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.features import Features
    from grice_tasks.explagraphs.samples import Sample, Stance
    from grice_tasks.explagraphs.templates import Filled

    Array: TypeAlias = NDArray[np.float32]

TEMPLATES = 60
"""Templates that are filled for a sample."""
SHOWN = 24
"""Graphs that are shown to the classifier."""


class GraphGenerator:
    """Proposes graphs; it knows neither stances nor classifiers."""

    def __init__(
        self,
        features: Features,
        links: Bilinear,
        weights: Array,
        outside: Sequence[tuple[str, float]],
        templates: Templates,
    ) -> None:
        self._features = features
        self._links = links
        self._weights = weights
        self.outside = tuple(outside)
        self._known = frozenset(word for word, _ in outside)
        self._templates = templates

    @classmethod
    def load(
        cls, bundle: Bundle, arrays: Mapping[str, Array], features: Features
    ) -> GraphGenerator:
        """Read the generator of a bundle of kind ``graph-heads``."""
        words = bundle.path("concepts.txt").read_text("utf-8").split("\n")[:-1]
        return cls(
            features,
            Bilinear.load(bundle.path("links.npz")),
            arrays["phrases"],
            list(zip(words, arrays["often"].tolist(), strict=True)),
            Templates.load(bundle.path("cases.json"), bundle.path("cases.npz")),
        )

    def proposals(self, belief: str, argument: str, stance: Stance) -> list[Graph]:
        """Return up to :data:`SHOWN` valid graphs in depth-first order, the best first."""
        texts = (belief.lower(), argument.lower())
        near = self._templates.nearest(
            self._short(belief), self._short(argument), stance, TEMPLATES
        )
        concepts = candidates(belief, argument, self._features, self._weights, self.outside)
        listed = {candidate.text for candidate in concepts}
        for template, _ in near:
            for slot in template.slots:
                word = slot.concept
                if word in self._known - listed and origin(word, *texts) == "outside":
                    listed.add(word)
                    concepts.append(Candidate(word, "outside", 0.0, 0.0, 0.0))
        if not concepts:
            return []
        vectors = np.stack([self._short(candidate.text) for candidate in concepts])
        scores = self._scores([candidate.text for candidate in concepts])
        best: dict[Graph, Filled] = {}
        for template, slots in near:
            filled = fill(template, slots, concepts, vectors, scores)
            if filled is not None:
                graph = depth_first(_graph(filled, concepts))
                best[graph] = max(filled, best.get(graph, filled))
        ranked = sorted(best, key=lambda graph: -best[graph].score)
        valid = (graph for graph in ranked if check_graph(write_graph(graph), belief, argument).ok)
        return list(islice(valid, SHOWN))

    def _short(self, text: str) -> Array:
        return unit_vector(self._features.axes(text))

    def _scores(self, texts: Sequence[str]) -> Array:
        """Return the log probability of every fact, shape ``(heads, tails, relations)``."""
        vectors = with_one(np.stack([self._features.vector(text) for text in texts]))
        return np.asarray(-np.logaddexp(0, -self._links.grid(vectors, vectors)), np.float32)


def _graph(filled: Filled, concepts: Sequence[Candidate]) -> Graph:
    names = relation_names()
    return Graph(
        tuple(
            Triple(concepts[head].text, names[r], concepts[tail].text)
            for head, r, tail in filled.facts
        )
    )


def generate_graphs(
    samples: Sequence[Sample],
    classifiers: GraphClassifiers,
    *,
    stances: Sequence[Stance] | None = None,
) -> list[Prediction]:
    """Return a stance and a graph for each sample; neither gold is looked at."""
    texts = [(sample.belief, sample.argument) for sample in samples]
    if stances is None:
        stances = [stance for stance, _ in classifiers.stances(texts)]
    classifiers.encode(word for word, _ in classifiers.generator.outside)
    classifiers.encode(
        text for pair in texts for text in (*pair, *phrases(pair[0]), *phrases(pair[1]))
    )
    proposed = [
        classifiers.generator.proposals(*pair, stance)
        for pair, stance in zip(texts, stances, strict=True)
    ]
    # All at once: encoding a few facts for each sample is several times slower.
    readings = [
        Reading(*pair, graph)
        for pair, graphs in zip(texts, proposed, strict=True)
        for graph in graphs
    ]
    meanings = iter(classifiers.choices(readings))
    predictions = []
    for sample, stance, graphs in zip(samples, stances, proposed, strict=True):
        scores = [getattr(next(meanings), stance) for _ in graphs]
        best = write_graph(graphs[int(np.argmax(scores))]) if graphs else ""
        predictions.append(Prediction(sample.id, stance, best))
    return predictions
