"""SituatedGen as its writers learn it: two sentences, in either order, from keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.training.published.files import TrainingExample
from grice_tasks.situatedgen.examples import training_pairs
from grice_tasks.situatedgen.records import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def situatedgen(path: Path) -> Iterator[TrainingExample]:
    """Yield both orders of the sentences of every sample; what T5 reads first is the recipe's."""
    for sample in read_samples(path):
        for pair in training_pairs([sample]):
            yield TrainingExample(pair.source, pair.target, sample.id)
