"""Systems of papers on the tasks, made of published encoders and encoder-decoders.

ExplaGraphs: a generator of graphs and a classifier of stances. ``rationalizing`` predicts the
stance first and explains it; ``reasoning`` writes the graph first and reads the stance off it (Saha
et al. 2021, section 5). What the generator writes is kept as it is, for the official notes forbid
patching it.

CIDER: classifiers in the place of the heads that ship. The relation of two spans is that of task 4,
told from the dialogue and both; whether the dialogue entails it is task 1, asked for the likeliest
relation alone. Both read the whole dialogue for each pair of spans, which takes a hundred times
longer than the heads do.

SituatedGen: BART or T5 that turn keywords into two sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.errors import ModelFolderError
from grice.models.conversion import read_config
from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import CardValue, ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.numeric import softmax
from grice.text.content import content_words
from grice.text.lexicon import look_up
from grice_research.published_models.convert import convert_seq2seq
from grice_research.published_models.readers import PublishedReader
from grice_research.published_models.seq2seq import Search, Seq2Seq, Seq2SeqSettings
from grice_tasks.cider.files import cider_schema
from grice_tasks.cider.models import Sides, TripletModels, event_tagger
from grice_tasks.explagraphs.classifiers import GraphClassifiers, Meaning
from grice_tasks.explagraphs.features import Reading
from grice_tasks.explagraphs.graph import Graph, depth_first, read_graph, write_graph
from grice_tasks.explagraphs.samples import Prediction, Sample, Stance

Array: TypeAlias = NDArray[np.float32]

GRAPH = re.compile(r"\(.*\)", re.DOTALL)
TRIPLES = re.compile(r"""\(\s*["'](.+?)["']\s*,\s*["'](.+?)["']\s*,\s*["'](.+?)["']\s*\)""")
GRAPH_SEARCH = Search(beams=4, returned=1, max_pieces=150)
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


def meaning_input(belief: str, graph: Graph) -> tuple[str, str]:
    """Return what SeCA's classifier reads: the belief and the written graph, in lower case."""
    return belief.lower(), write_graph(depth_first(graph.lower()))


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
    """Settings of type ``published-graphs``."""

    parts: Annotated[tuple[str, ...], msgspec.Meta(min_length=2, max_length=2)]
    order: Literal["rationalizing", "reasoning"] = "rationalizing"  # which of the two comes first


class PublishedGraphs:
    """A :class:`~grice_tasks.explagraphs.samples.GraphPredictor`."""

    def __init__(self, generator: Seq2Seq, classifier: PublishedReader, order: str) -> None:
        self.identity = f"{generator.identity}/{classifier.identity}/{order}"
        if sorted(classifier.labels) != sorted(STANCES):
            raise ModelFolderError(
                f"{classifier.identity}: labels {', '.join(classifier.labels)}; the stances "
                f"{' and '.join(STANCES)} are needed"
            )
        self._generator, self._classifier, self._order = generator, classifier, order

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
            asked = zip(pairs, told, strict=True)
            graphs = self._written([sequence_prompt(*pair, stance) for pair, stance in asked])
        else:
            graphs = self._written([sequence_prompt(*pair) for pair in pairs])
            parsed = (read_graph(graph.lower()).graph for graph in graphs)
            read = [stance_input(*pair, graph) for pair, graph in zip(pairs, parsed, strict=True)]
            told = stances or [stance for stance, _ in self.stances(read)]
        ids = (sample.id for sample in samples)
        return list(map(Prediction, ids, told, graphs))

    def _written(self, prompts: Sequence[str]) -> list[str]:
        answers = self._generator.write(prompts, GRAPH_SEARCH)
        return [graph_in(texts[0].text) if texts else "" for texts in answers]


@model_type("published-graphs", task="explanation graphs", settings=PublishedGraphSettings)
def published_graphs(
    folder: ModelFolder, settings: PublishedGraphSettings, loader: ModelLoader
) -> PublishedGraphs:
    """Open the generator and the classifier."""
    generator, classifier = settings.parts
    return PublishedGraphs(
        loader.dependency(folder, generator, Seq2Seq, "texts"),
        loader.dependency(folder, classifier, PublishedReader, "labels"),
        settings.order,
    )


JUDGED = (*STANCES, "incorrect")
"""Labels of SeCA's classifier, in the order of the released script."""


class JudgeSettings(Settings, frozen=True):
    """Settings of type ``published-judges``: SeCA's classifier, that of stance and graph, others.

    The last one, that ships, has informativeness, which is not the paper's.
    """

    parts: Annotated[tuple[str, ...], msgspec.Meta(min_length=3, max_length=3)]


class PublishedJudges:
    """A :class:`~grice_tasks.explagraphs.classifiers.GraphJudges` of two trained classifiers."""

    def __init__(
        self, meaning: PublishedReader, edges: PublishedReader, shipped: GraphClassifiers
    ) -> None:
        for reader, labels in ((meaning, JUDGED), (edges, STANCES)):
            if sorted(reader.labels) != sorted(labels):
                told = f"labels {', '.join(reader.labels)}; {', '.join(labels)} are needed"
                raise ModelFolderError(f"{reader.identity}: {told}")
        self._meaning, self._edges, self._shipped = meaning, edges, shipped
        self.encode, self.informativeness = shipped.encode, shipped.informativeness

    def meanings(self, pairs: Sequence[tuple[str, Graph]]) -> list[Meaning]:
        """Return the probabilities of what each graph says about its belief."""
        rows = self._meaning.logits([meaning_input(*pair) for pair in pairs])
        order = [self._meaning.labels.index(label) for label in JUDGED]
        return [Meaning(*map(float, softmax(row[None])[0, order])) for row in rows]

    def importance(self, reading: Reading, stance: Stance) -> list[bool]:
        """Return for each fact whether the stance is less probable without it."""
        edges = depth_first(reading.graph.lower()).edges
        graphs = [Graph(edges[:i] + edges[i + 1 :]) for i in range(len(edges))]
        pairs = [
            stance_input(reading.belief, reading.argument or "", graph)
            for graph in (Graph(edges), *graphs)
        ]
        side = self._edges.labels.index(stance)
        whole, *rest = [softmax(row[None])[0, side] for row in self._edges.logits(pairs)]
        return [bool(whole > value) for value in rest]


@model_type("published-judges", task="judges of graphs", settings=JudgeSettings)
def published_judges(
    folder: ModelFolder, settings: JudgeSettings, loader: ModelLoader
) -> PublishedJudges:
    """Open the classifiers."""
    meaning, edges, shipped = settings.parts
    return PublishedJudges(
        loader.dependency(folder, meaning, PublishedReader, "labels"),
        loader.dependency(folder, edges, PublishedReader, "labels"),
        loader.dependency(folder, shipped, GraphClassifiers, "explanation graphs"),
    )


NEVER = np.float32(-1e4)  # log odds of relations that were not asked for


def lemmas(span: str) -> str:
    """Return the lemmas of the words of content of a span, or the span if it has none.

    The hypotheses of task 1 are made of them. The released forms are those of spaCy: of 5,254 spans
    64 % are the same here, and their words to an F1 of .85.

    >>> lemmas("customers have started to complain")
    'customer start complain'
    """
    words = [word.text for word in content_words(span)]
    return " ".join((look_up(word).lemmas or (word,))[0] for word in words) or span.strip()


class PublishedLinkSettings(Settings, frozen=True):
    """Settings of type ``published-links``."""

    parts: Annotated[tuple[str, ...], msgspec.Meta(min_length=3, max_length=3)]


class PublishedLinks:
    """Stands in the place of :class:`~grice_tasks.cider.models.LinkHead`."""

    both = False

    def __init__(self, relations: PublishedReader, entailment: PublishedReader) -> None:
        self.relations = tuple(cider_schema().relations)
        missing = sorted(set(self.relations) - set(relations.labels))
        if missing or "entailment" not in [label.lower() for label in entailment.labels]:
            raise ModelFolderError(
                f"{relations.identity} and {entailment.identity}: the labels of the first are "
                f"CIDER's relations (missing: {', '.join(missing) or 'none'}), one of the second "
                "is entailment"
            )
        self._tell, self._check = relations, entailment
        self._order = [relations.labels.index(name) for name in self.relations]
        self._entailed = [label.lower() for label in entailment.labels].index("entailment")

    def index(self, relation: str) -> int:
        """Return the place of a relation among the numbers."""
        return self.relations.index(relation)

    def in_context(self) -> PublishedLinks:
        """Return itself: spans are read in their text."""
        return self

    def __call__(self, sides: Sides, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return the numbers of each pair; see :class:`~grice_tasks.cider.models.LinkHead`."""
        text, spans = sides.layout.text, sides.spans
        rows = self._tell.logits([(text, f"{spans[a]} [SEP] {spans[b]}") for a, b in pairs])
        numbers = np.full((len(pairs), 3, len(self.relations)), NEVER, np.float32)
        numbers[:, 1] = 0
        numbers[:, 2] = np.stack(rows)[:, self._order]
        best = numbers[:, 2].argmax(axis=1)
        schema = cider_schema()
        asked = [
            (text, f"{lemmas(spans[a])} {schema[self.relations[place]].surface} {lemmas(spans[b])}")
            for (a, b), place in zip(pairs, best, strict=True)
        ]
        for row, place, logits in zip(numbers, best, self._check.logits(asked), strict=True):
            others = np.delete(logits, self._entailed)
            row[0, place] = logits[self._entailed] - np.logaddexp.reduce(others)
        return numbers


@model_type("published-links", task="links", settings=PublishedLinkSettings)
def published_links(
    folder: ModelFolder, settings: PublishedLinkSettings, loader: ModelLoader
) -> TripletModels:
    """Open both classifiers, with the shipped tagger and encoder that find the spans."""
    relations, entailment, tagger = settings.parts
    events = loader.folder(tagger)
    links = PublishedLinks(
        loader.dependency(folder, relations, PublishedReader, "labels"),
        loader.dependency(folder, entailment, PublishedReader, "labels"),
    )
    encoder = loader.encoder_of(events, EmbeddedEncoder)
    return TripletModels(links, 0.0, encoder, tagger=event_tagger(events))


SENTENCE_SEARCH = Search(beams=4, returned=1, max_pieces=128)  # the paper's beam and longest text
T5_PREFIX = "generate two sentences with: "
"""Prompt of the published T5 models before the keywords; BART has none."""


class WriterSettings(Seq2SeqSettings, frozen=True):
    """Settings of type ``keyword-writer``: also its architecture, on which the prompt hangs."""

    family: str = "bart"


def convert_keyword_writer(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder-decoder whose prompt hangs on its family, and return what it states."""
    return {**convert_seq2seq(source, target), "family": str(read_config(source)["model_type"])}


def prompt(keywords: Sequence[str], *, model: str = "bart") -> str:
    """Return what a keyword-to-text model reads: ``bart`` or ``t5``.

    >>> prompt(["July", "China", "winter"], model="t5")
    'generate two sentences with: July, China, winter'
    """
    return (T5_PREFIX if "t5" in model else "") + ", ".join(keywords)


class PublishedWriter:
    """A :class:`KeywordWriter`."""

    def __init__(self, folder: ModelFolder, settings: WriterSettings, loader: ModelLoader) -> None:
        self._model = Seq2Seq(folder, settings, loader)
        self._family = settings.family

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return both sentences for each list of keywords; see :class:`KeywordWriter`."""
        prompts = [prompt(words, model=self._family) for words in keywords]
        written = self._model.write(prompts, SENTENCE_SEARCH)
        return [texts[0].text.strip() if texts else "" for texts in written]


keyword_writer = model_type(
    "keyword-writer", task="sentences", settings=WriterSettings, convert=convert_keyword_writer
)(PublishedWriter)
