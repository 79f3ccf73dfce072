"""AMR graphs and their sentences, as parsers and generators learn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.amr.graphs import read_graph
from grice_research.amr.models import generator_input, sequence_of
from grice_research.amr.sources import graphs_of_file
from grice_research.training.published.files import TrainingExample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def generation(path: Path) -> Iterator[TrainingExample]:
    """Yield the sentence of each graph."""
    for sentence, graph in graphs_of_file(path).items():
        yield TrainingExample(generator_input(graph), sentence, sentence)


def parsing(path: Path) -> Iterator[TrainingExample]:
    """Yield the graph of each sentence, without variables."""
    for sentence, graph in graphs_of_file(path).items():
        yield TrainingExample(sentence, sequence_of(read_graph(graph)), sentence)
