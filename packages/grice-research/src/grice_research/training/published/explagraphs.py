"""ExplaGraphs as its models learn it: graphs to write, with or without the stance; stances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice_research.training.published.files import TrainingExample
from grice_tasks.explagraphs.published import sequence_prompt, sequence_target, stance_input
from grice_tasks.explagraphs.reader import read_graph
from grice_tasks.explagraphs.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice_tasks.explagraphs.graph import Graph
    from grice_tasks.explagraphs.samples import Sample, Stance


def reasoning(path: Path) -> Iterator[TrainingExample]:
    """Yield graphs of beliefs and arguments."""
    for sample, _, graph in _samples(path):
        prompt = sequence_prompt(sample.belief, sample.argument)
        yield TrainingExample(prompt, sequence_target(graph), sample.belief)


def rationalizing(path: Path) -> Iterator[TrainingExample]:
    """Yield graphs of beliefs, arguments and stances."""
    for sample, stance, graph in _samples(path):
        prompt = sequence_prompt(sample.belief, sample.argument, stance)
        yield TrainingExample(prompt, sequence_target(graph), sample.belief)


def stances(path: Path) -> Iterator[TrainingExample]:
    """Yield stances of arguments."""
    for sample, stance, _ in _samples(path):
        yield TrainingExample(sample.belief, stance, sample.belief, options=(sample.argument,))


def graph_stances(path: Path) -> Iterator[TrainingExample]:
    """Yield stances of arguments with their graphs."""
    for sample, stance, graph in _samples(path):
        belief, rest = stance_input(sample.belief, sample.argument, graph)
        yield TrainingExample(belief, stance, sample.belief, options=(rest,))


def _samples(path: Path) -> Iterator[tuple[Sample, Stance, Graph]]:
    for sample in read_samples(path):
        if sample.stance is None or not sample.graphs:
            raise InputError(f"{path}: sample {sample.id!r} needs a stance and a graph")
        yield sample, sample.stance, read_graph(sample.graphs[0]).graph
