"""Stance, and yes or no: choices by likelihood, calibrated on training data."""

from __future__ import annotations

import csv
import gzip
import io
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import InputError
from grice.models.choices import Option, option_scores
from grice.models.protocols import CausalLM
from grice.stats import mean
from grice_research.language_models.samples import SHIPS, Place, sampled
from grice_research.training.logistic import fit_logistic
from grice_tasks.explagraphs.baselines import word_polarity
from grice_tasks.explagraphs.protocols import GraphPredictor
from grice_tasks.explagraphs.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row

__all__ = ["stances", "statements"]

SHIPPED = "bundle:graphs"
STANCES: dict[Size, int] = {"medium": 200, "large": 80}
STATEMENTS: dict[Size, int] = {"medium": 150, "large": 50}
TRAINING: dict[Size, int] = {"medium": 100, "large": 50}
"""Training statements that the two likelihoods of yes are weighed on."""
PENALTY = 0.01
STANCE_ON, STATEMENT_ON = "stance, ExplaGraphs dev, sample", "yes or no, CSQA2 dev, sample"
SOURCE = "github.com/allenai/csqa2 (CC BY 4.0)"


class Statement(NamedTuple):
    """A statement or question, and whether yes is right."""

    text: str
    yes: bool


def stances(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield how often stances are right."""
    graphs = candidate.bundle("graphs")
    everything = read_samples(context.folder / "explagraphs" / "dev.jsonl.gz")
    samples = sampled(everything, STANCES[candidate.size], lambda sample: sample.id)
    pairs = [(sample.belief, sample.argument) for sample in samples]
    models = context.models()
    given = {
        name: [stance for stance, _ in models.open(reference, GraphPredictor).stances(pairs)]
        for name, reference in {candidate.row: graphs, SHIPS: SHIPPED}.items()
    }
    given["number of negations"] = [word_polarity(*pair) for pair in pairs]
    given["always support"] = ["support"] * len(samples)
    right = {
        name: [float(a == sample.stance) for a, sample in zip(answers, samples, strict=True)]
        for name, answers in given.items()
    }
    groups = [sample.belief.lower() for sample in samples]
    place = Place(candidate.on(STANCE_ON), models, candidate, graphs)
    yield from _shares(right, place, groups)


def statements(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield how often answers to yes-or-no questions are right."""
    models = context.models()
    model = models.open(candidate.base, CausalLM)
    train = sampled(
        read_statements(context.folder, "train"),
        TRAINING[candidate.size],
        lambda statement: statement.text,
    )
    dev = sampled(
        read_statements(context.folder, "dev"),
        STATEMENTS[candidate.size],
        lambda statement: statement.text,
    )
    labels = np.array([float(statement.yes) for statement in train])
    fitted = fit_logistic(_features(model, train), labels, penalties=PENALTY)
    answers = fitted(_features(model, dev)) > 0
    usual = float(np.mean([statement.yes for statement in train]) > 0.5)
    right = {
        candidate.row: [
            float(a == statement.yes) for a, statement in zip(answers, dev, strict=True)
        ],
        "the more frequent answer": [float(usual == statement.yes) for statement in dev],
    }
    why = "nothing ships in this place; weighed on training statements"
    on = candidate.on(STATEMENT_ON)
    yield from _shares(right, Place(on, models, candidate, candidate.base, why), None)


def read_statements(folder: Path, split: str) -> list[Statement]:
    """Return the statements of a part of CSQA2.

    Raises:
        InputError: If the file is not there.
    """
    path = folder / "csqa2" / "csqa2.tsv.gz"
    if not path.is_file():
        raise InputError(f"csqa2/csqa2.tsv.gz is not in the data folder; it is from {SOURCE}")
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    table = csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [
        Statement(row["question"], row["answer"] == "yes") for row in table if row["split"] == split
    ]


def _features(model: CausalLM, statements: Sequence[Statement]) -> np.ndarray:
    """Return by how much yes is likelier than no: as an answer, and by the noisy channel."""
    asked = [
        [
            Option(f"{statement.text}\nIs that right? Answer:", answer, "Is that right? Answer:")
            for answer in ("yes", "no")
        ]
        for statement in statements
    ]
    channel = [
        [Option(f"This is {word}:", statement.text) for word in ("true", "false")]
        for statement in statements
    ]
    return np.array(
        [
            (answer[0] - answer[1], channelled[0] - channelled[1])
            for answer, channelled in zip(
                option_scores(model, asked), option_scores(model, channel), strict=True
            )
        ]
    )


def _shares(
    right: Mapping[str, Sequence[float]], place: Place, groups: Sequence[str] | None
) -> Iterator[Row]:
    """Yield how often each is right, and of the language model the difference from what ships."""
    gap = None
    if SHIPS in right:
        gaps = [a - b for a, b in zip(right[place.candidate.row], right[SHIPS], strict=True)]
        gap = mean(gaps, groups=groups, interval="percentile", bounds=(-1, 1))
    shares = {
        name: mean(values, groups=groups, interval="percentile", bounds=(0, 1))
        for name, values in right.items()
    }
    yield from place.rows("share right", shares, gap)
