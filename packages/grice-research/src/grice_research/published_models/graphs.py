"""ExplaGraphs' sequence models as published: a generator of graphs and a classifier of stances.

``rationalizing`` predicts the stance first and explains it; ``reasoning`` writes the graph first
and reads the stance off it (Saha et al. 2021, section 5). What the generator writes is kept as it
is, for the official notes forbid patching it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from grice.errors import ModelFolderError
from grice.models.loader import Settings, model_type
from grice_research.published_models.readers import TextClassifier
from grice_research.published_models.seq2seq import Search, Seq2Seq
from grice_tasks.explagraphs.graph import depth_first, read_graph
from grice_tasks.explagraphs.samples import GraphPredictor, Prediction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice_tasks.explagraphs.graph import Graph
    from grice_tasks.explagraphs.samples import Sample, Stance

GRAPH = re.compile(r"\(.*\)", re.DOTALL)
TRIPLES = re.compile(r"""\(\s*["'](.+?)["']\s*,\s*["'](.+?)["']\s*,\s*["'](.+?)["']\s*\)""")
SEARCH = Search(beams=4, returned=1, max_pieces=150)
"""The paper's beam, and the follow-up's longest graph."""
STANCES: tuple[Stance, Stance] = ("support", "counter")


def sequence_prompt(belief: str, argument: str, stance: Stance | None = None) -> str:
    """Return the input of the released T5 models; without a stance, that of reasoning models.

    >>> sequence_prompt("Zoos are bad.", "They are small.", "support")
    'Generate an Explanation Graph for Belief: Zoos are bad. </s> Argument: They are small. </s> Stance: support'
    """  # noqa: E501 - the format is one line
    text = f"Generate an Explanation Graph for Belief: {belief} </s> Argument: {argument}"
    return text if stance is None else f"{text} </s> Stance: {stance}"


def stance_input(belief: str, argument: str, graph: Graph | None = None) -> tuple[str, str]:
    """Return both sentences that the released stance classifiers read.

    With a graph, its facts follow the argument as sentences ``c1 rel c2.``, each with a space
    behind it.
    """
    if graph is None:
        return belief, argument
    facts = "".join(f"{e.head} {e.relation} {e.tail}. " for e in depth_first(graph.lower()).edges)
    return belief, f"{argument} {facts}"


def graph_in(text: str) -> str:
    """Return the graph in what a model wrote: in the written form, or as tuples of a list.

    What stands around it is left out, nothing is repaired; without a graph the text is kept.

    >>> graph_in('self.graph = [("zoos", "is a", "place"), ("place", "causes", "harm")]')
    '(zoos; is a; place)(place; causes; harm)'
    """
    tuples = TRIPLES.findall(text.split("class ")[0])
    if tuples:
        return "".join(f"({'; '.join(parts)})" for parts in tuples)
    match = GRAPH.search(text)
    return text.strip() if match is None else match[0]


class PublishedGraphSettings(Settings, frozen=True):
    """Settings of type ``published-graphs``.

    Attributes:
        parts: References of the generator and of the classifier of stances.
        order: Which of the two comes first.
    """

    parts: Annotated[tuple[str, ...], msgspec.Meta(min_length=2, max_length=2)]
    order: Literal["rationalizing", "reasoning"] = "rationalizing"


class PublishedGraphs:
    """A :class:`~grice_tasks.explagraphs.samples.GraphPredictor`."""

    def __init__(self, generator: Seq2Seq, classifier: TextClassifier, order: str) -> None:
        self.identity = f"{generator.identity}/{classifier.identity}/{order}"
        if sorted(classifier.labels) != sorted(STANCES):
            raise ModelFolderError(
                f"{classifier.identity}: labels {', '.join(classifier.labels)}; the stances "
                f"{' and '.join(STANCES)} are needed"
            )
        self._generator = generator
        self._classifier = classifier
        self._order = order

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin in log odds."""
        places = [self._classifier.labels.index(stance) for stance in STANCES]
        found: list[tuple[Stance, float]] = []
        for row in self._classifier.logits(pairs):
            support, counter = (float(row[place]) for place in places)
            found.append((STANCES[int(counter > support)], abs(support - counter)))
        return found

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and the graph as it was written, which may break rules, for each."""
        pairs = [(sample.belief, sample.argument) for sample in samples]
        if self._order == "rationalizing":
            told = stances or [stance for stance, _ in self.stances(pairs)]
            graphs = self._written(
                [sequence_prompt(*pair, stance) for pair, stance in zip(pairs, told, strict=True)]
            )
        else:
            graphs = self._written([sequence_prompt(*pair) for pair in pairs])
            read = [
                stance_input(*pair, read_graph(graph.lower()).graph)
                for pair, graph in zip(pairs, graphs, strict=True)
            ]
            told = stances or [stance for stance, _ in self.stances(read)]
        return [
            Prediction(sample.id, stance, graph)
            for sample, stance, graph in zip(samples, told, graphs, strict=True)
        ]

    def _written(self, prompts: Sequence[str]) -> list[str]:
        answers = self._generator.write(prompts, SEARCH)
        return [graph_in(texts[0].text) if texts else "" for texts in answers]


@model_type(
    "published-graphs",
    task="explanation graphs",
    protocol=GraphPredictor,
    settings=PublishedGraphSettings,
)
def published_graphs(
    folder: ModelFolder, settings: PublishedGraphSettings, loader: ModelLoader
) -> PublishedGraphs:
    """Open the generator and the classifier."""
    generator, classifier = settings.parts
    return PublishedGraphs(
        loader.dependency(folder, generator, Seq2Seq, "texts"),
        loader.dependency(folder, classifier, TextClassifier, "labels"),
        settings.order,
    )
