"""Stance and graph by any generator: reasoning, rationalizing, few-shot prompts.

``reasoning`` writes the graph first and reads the stance off it; ``rationalizing`` predicts the
stance first and explains it (Saha et al. 2021, section 5). The formats are those of the released
sequence models and of prompting a code model (Madaan et al. 2022); what a generator writes is
read back without repair, for the official notes forbid patching.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from grice.errors import InputError
from grice_tasks.explagraphs.features import Reading
from grice_tasks.explagraphs.published import graph_in, sequence_prompt
from grice_tasks.explagraphs.reader import read_graph
from grice_tasks.explagraphs.samples import Prediction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.models.protocols import Generator
    from grice_tasks.explagraphs.samples import Sample, Stance

__all__ = [
    "StanceJudge",
    "code_prompt",
    "few_shot",
    "rationalizing",
    "reasoning",
]


@runtime_checkable
class StanceJudge(Protocol):
    """Says the stance of an argument, alone or with a graph, as :class:`GraphClassifiers` does."""

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return stance and margin of each pair of belief and argument."""
        ...

    def stances_with_graphs(self, readings: Sequence[Reading]) -> list[tuple[Stance, float]]:
        """Return stance and margin of each reading."""
        ...


def code_prompt(sample: Sample, stance: Stance, graph: str | None = None) -> str:
    """Return a sample as a Python class, the graph left open if none is given."""
    lines = [
        "class ExplanationGraph:",
        "    def __init__(self):",
        f"        self.belief = {_quoted(sample.belief)}",
        f"        self.argument = {_quoted(sample.argument)}",
        f"        self.stance = {_quoted(stance)}",
        "        self.graph = [",
    ]
    if graph is not None:
        lines += [
            f"            ({_quoted(e.head)}, {_quoted(e.relation)}, {_quoted(e.tail)}),"
            for e in read_graph(graph).graph.edges
        ]
        lines.append("        ]")
    return "\n".join(lines) + "\n"


def few_shot(examples: Sequence[Sample]) -> Callable[[Sample, Stance], str]:
    """Return what writes a prompt with examples before the sample that is asked for.

    Raises:
        InputError: If an example has no stance or graph.
    """
    shown = []
    for example in examples:
        if example.stance is None or not example.graphs:
            raise InputError(f"the example {example.id!r} needs a stance and a graph")
        shown.append(code_prompt(example, example.stance, example.graphs[0]))
    return lambda sample, stance: "\n".join([*shown, code_prompt(sample, stance)])


def rationalizing(
    samples: Sequence[Sample],
    generator: Generator,
    judge: StanceJudge,
    *,
    prompt: Callable[[Sample, Stance], str] | None = None,
) -> list[Prediction]:
    """Return predictions: first the stance, then a graph for it.

    Args:
        samples: Beliefs and arguments.
        generator: Writes graphs.
        judge: Predicts stances.
        prompt: Writes a prompt; by default that of the released models.
    """
    stances = [stance for stance, _ in judge.stances([(s.belief, s.argument) for s in samples])]
    prompts = [
        sequence_prompt(sample.belief, sample.argument, stance)
        if prompt is None
        else prompt(sample, stance)
        for sample, stance in zip(samples, stances, strict=True)
    ]
    graphs = _written(generator, prompts)
    return [
        Prediction(sample.id, stance, graph)
        for sample, stance, graph in zip(samples, stances, graphs, strict=True)
    ]


def reasoning(
    samples: Sequence[Sample], generator: Generator, judge: StanceJudge
) -> list[Prediction]:
    """Return predictions: first a graph, then the stance that argument and graph say.

    Args:
        samples: Beliefs and arguments.
        generator: Writes graphs.
        judge: Predicts stances from belief, argument and graph.
    """
    graphs = _written(generator, [sequence_prompt(s.belief, s.argument) for s in samples])
    readings = [
        Reading(sample.belief, sample.argument, read_graph(graph.lower()).graph)
        for sample, graph in zip(samples, graphs, strict=True)
    ]
    stances = judge.stances_with_graphs(readings)
    return [
        Prediction(sample.id, stance, graph)
        for sample, graph, (stance, _) in zip(samples, graphs, stances, strict=True)
    ]


def _written(generator: Generator, prompts: Sequence[str]) -> list[str]:
    answers = generator.generate(prompts, count=1)
    return [graph_in(generated[0].text) if generated else "" for generated in answers]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
