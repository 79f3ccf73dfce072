"""Stances and explanation graphs by a causal language model that was shown a few.

The stance is a choice by likelihood. The graph is written after examples and held to the schema:
of several answers the first valid one is taken, else one is repaired, so that whatever the model
writes a valid graph comes out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.models.choices import Option, option_scores
from grice.models.protocols import CausalGenerator
from grice.models.registry import Settings, model_kind
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.protocols import GraphPredictor
from grice_tasks.explagraphs.repair import repair_graph
from grice_tasks.explagraphs.samples import Prediction, read_samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.bundle import Bundle
    from grice.models.registry import Opener
    from grice_tasks.explagraphs.samples import Sample, Stance

RETRIES = 4
"""Answers that are looked at where the first is not valid."""
LONGEST = 120
"""Tokens of a graph; the longest of the training part has 118."""


class LanguageGraphSettings(Settings, frozen=True):
    """Of a bundle of kind ``language-model-graphs``.

    Attributes:
        stance_weight: What a nat for support is worth in log odds.
    """

    base: str
    stance_weight: float
    stance_bias: float


class WrittenGraph(NamedTuple):
    """A graph and how it came about.

    Attributes:
        attempts: Answers that were looked at, the one that was taken included.
        edits: Edits of a repair; 0 for a graph that was valid as written.
    """

    text: str
    attempts: int
    edits: int


class LanguageModelGraphs:
    """A :class:`~grice_tasks.explagraphs.protocols.GraphPredictor`."""

    def __init__(
        self,
        model: CausalGenerator,
        settings: LanguageGraphSettings,
        examples: Sequence[Sample],
        identity: str,
    ) -> None:
        self.identity = f"{identity}/{model.identity}"
        self._model = model
        self._settings = settings
        self._shown = "".join(
            f"{_question(example, example.stance)} {example.graphs[0]}\n\n"
            for example in examples
            if example.stance is not None
        )

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin in log odds."""
        scores = option_scores(self._model, [stance_options(*pair) for pair in pairs])
        weight, bias = self._settings.stance_weight, self._settings.stance_bias
        odds = [weight * (support - counter) + bias for support, counter in scores]
        return [("support" if value >= 0 else "counter", abs(value)) for value in odds]

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a valid graph for each sample; see the protocol."""
        if stances is None:
            pairs = [(sample.belief, sample.argument) for sample in samples]
            stances = [stance for stance, _ in self.stances(pairs)]
        return [
            Prediction(sample.id, stance, graph.text)
            for sample, stance, graph in zip(
                samples, stances, self.write(samples, stances), strict=True
            )
        ]

    def write(self, samples: Sequence[Sample], stances: Sequence[Stance]) -> list[WrittenGraph]:
        """Return a graph for each sample and stance, with how it came about."""
        questions = [
            _question(sample, stance) for sample, stance in zip(samples, stances, strict=True)
        ]
        first = self._answers(questions, 1)
        refused = [
            question
            for question, sample, texts in zip(questions, samples, first, strict=True)
            if not _valid(texts[0], sample)
        ]
        further = dict(zip(refused, self._answers(refused, RETRIES), strict=True))
        return [
            _chosen([*texts, *further.get(question, ())], sample)
            for question, sample, texts in zip(questions, samples, first, strict=True)
        ]

    def _answers(self, questions: Sequence[str], count: int) -> list[list[str]]:
        answers = self._model.generate(
            questions, count=count, shown=self._shown, max_tokens=LONGEST
        )
        return [[answer.text.lower() for answer in each] or [""] for each in answers]


def stance_options(belief: str, argument: str) -> tuple[Option, Option]:
    """Return an argument as one for a belief and as one against it: the noisy channel."""
    return (
        Option(f"{belief} I agree, because", argument),
        Option(f"{belief} I disagree, because", argument),
    )


def _question(sample: Sample, stance: Stance | None) -> str:
    belief, argument = (" ".join(text.split()) for text in (sample.belief, sample.argument))
    return f"Belief: {belief}\nArgument: {argument}\nStance: {stance}\nGraph:"


def _valid(text: str, sample: Sample) -> bool:
    return check_graph(text, sample.belief, sample.argument).ok


def _chosen(texts: Sequence[str], sample: Sample) -> WrittenGraph:
    """Return the first valid graph, else the first that can be repaired."""
    for attempts, text in enumerate(texts, 1):
        if _valid(text, sample):
            return WrittenGraph(text, attempts, 0)
    for text in (*texts, ""):
        repair = repair_graph(text, sample.belief, sample.argument)
        if repair.graph is not None:
            return WrittenGraph(repair.graph, len(texts), len(repair.edits))
    return WrittenGraph("", len(texts), 0)


@model_kind(
    "language-model-graphs",
    answers="explanation graphs",
    protocol=GraphPredictor,
    settings=LanguageGraphSettings,
)
def language_model_graphs(
    bundle: Bundle, settings: LanguageGraphSettings, opener: Opener
) -> LanguageModelGraphs:
    """Open the language model with the examples of ``examples.jsonl``."""
    model = opener.part(bundle, settings.base, CausalGenerator, "likelihood")
    examples = read_samples(bundle.path("examples.jsonl"))
    identity = bundle.identity
    return LanguageModelGraphs(model, settings, examples, identity)
