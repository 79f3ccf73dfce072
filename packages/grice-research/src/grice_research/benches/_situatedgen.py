"""What was released with SituatedGen, as its bench and its recipes read and compare it."""

from __future__ import annotations

import gzip
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.stats.estimate import Estimate
from grice_tasks.situatedgen.records import CONTEXTS, Entity, context_of, read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice_tasks.situatedgen.records import Sample
    from grice_tasks.situatedgen.tagger import Found

SOURCES = ("creak", "strategyqa", "commonsenseqa", "arc", "openbookqa")
NERS = re.compile(r"(.+?):([A-Z_]{3,})(?:, |$)")
ARTICLE = re.compile(r"^(?:the|an?) ")


class Read(NamedTuple):
    """The entities of a statement with their labels: what a tagger found, what was released."""

    tagged: Sequence[tuple[str, str]]
    gold: Sequence[tuple[str, str]]


def statements_file(folder: Path, source: str) -> Path:
    """Return the file of the released statements of a source."""
    return folder / f"statements_{source}.jsonl.gz"


def rows_of(path: Path) -> Iterator[dict[str, object]]:
    """Yield the records of a packed file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def named_entities(row: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the released entities of a statement with their labels, those of OntoNotes."""
    return NERS.findall(str(row["NERs"]))


def entities_in(folder: Path) -> dict[str, tuple[Entity, ...]]:
    """Return the released context entities of each statement."""
    known = {}
    for row in chain(*(rows_of(statements_file(folder, name)) for name in SOURCES)):
        entities = named_entities(row)
        known[str(row["id"])] = tuple(
            Entity(*entity) for entity in entities if entity[1] in CONTEXTS
        )
    return known


def with_entities(sample: Sample, known: Mapping[str, tuple[Entity, ...]]) -> Sample:
    """Return a sample with the context entities of its statements (:func:`entities_in`)."""
    first, second = (known[name] for name in sample.ids)
    kinds = context_of(first) & context_of(second)
    return msgspec.structs.replace(sample, entities=(first, second), context=tuple(sorted(kinds)))


def evaluated_statements(folder: Path) -> set[str]:
    """Return the names of the statements of dev and test, by which no rule was written."""
    samples = (read_samples(folder / f"{name}.jsonl.gz") for name in ("dev", "test"))
    return {name for sample in chain(*samples) for name in sample.ids}


def found_in(texts: Sequence[str], tagged: Sequence[Found]) -> list[list[tuple[str, str]]]:
    """Return the entities that a tagger found in each text, with their labels."""
    return [
        [(text[entity.start : entity.end], entity.label) for entity in of_text.entities]
        for text, of_text in zip(texts, tagged, strict=True)
    ]


def context_f1(read: Sequence[Read]) -> tuple[Estimate, Estimate]:
    """Return the F1 of context entities: by label as spelt, and by kind without the article."""
    figures = []
    for form in (_spelt, bare):
        right, both = [], []
        for mine, other in read:
            a, b = (
                {form(*entity) for entity in side if entity[1] in CONTEXTS}
                for side in (mine, other)
            )
            right.append(2.0 * len(a & b))
            both.append(float(len(a) + len(b)))
        figures.append(ratio(right, both))
    return figures[0], figures[1]


def _spelt(text: str, label: str) -> tuple[str, str]:
    return text.lower(), label


def bare(text: str, label: str) -> tuple[str, str]:
    """Return letters and digits of a context entity without its article, and its kind."""
    return re.sub(r"[^a-z0-9]", "", ARTICLE.sub("", text.lower())), CONTEXTS[label]


def ratio(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """Return a ratio of sums with its bootstrap interval over statements."""
    rng = np.random.default_rng(0)
    over, under = np.array(above), np.array(below)
    weights = rng.multinomial(len(over), np.full(len(over), 1 / len(over)), 1000)
    draws = (weights @ over) / (weights @ under)
    low, high = (float(bound) for bound in np.quantile(draws, (0.025, 0.975)))
    method = "F1, percentile bootstrap of statements, 1000 resamples, seed 0"
    return Estimate(float(over.sum() / under.sum()), low, high, 0.95, len(over), method)


def equal_up_to(mine: str, other: str) -> bool:
    """Say whether two statements are the same up to case and punctuation."""
    return _bare(mine) == _bare(other)


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(r"-[lr][rcs]b-", "", text.lower()))
