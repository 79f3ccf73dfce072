"""Beliefs, arguments and graphs from files: JSON lines, or the released tab-separated form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from grice.errors import InputError, RecordError, plural
from grice_tasks.lines import check_distinct, read_lines, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Stance: TypeAlias = Literal["support", "counter"]
STANCES: tuple[Stance, Stance] = ("support", "counter")


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """A belief and an argument, with the stance and the graphs that people gave them."""

    id: str
    belief: str
    argument: str
    stance: Stance | None = None
    graphs: tuple[str, ...] = ()  # the written gold graphs: one, two for the hidden test set


class Prediction(msgspec.Struct, frozen=True):
    """Answer of a system to a sample; ``graph`` is kept exactly as it came."""

    id: str
    stance: Stance
    graph: str


class SampleGraph(NamedTuple):
    """A sample with one written graph: its own, or a system's."""

    sample: Sample
    graph: str


class _SampleLine(msgspec.Struct):
    id: str
    belief: str
    argument: str
    stance: Stance | None = None
    graph: str | tuple[str, ...] = ()


class _PredictionLine(msgspec.Struct):
    id: str
    graph: str
    stance: Stance | None = None
    given_stance: Stance | None = None


def read_samples(path: Path) -> list[Sample]:
    """Return the samples of a file.

    JSON lines hold ``id``, ``belief``, ``argument`` and, if known, ``stance`` and ``graph`` (a
    string or a list of them). A line of a ``.tsv`` file holds belief, argument, stance, graph
    and perhaps a second graph; its id is its number from 0.
    """
    if _is_table(path):
        return [
            Sample(name, parts[0], parts[1], stance, tuple(filter(None, parts[3:5])))
            for name, stance, parts in _table(path, ("belief", "argument", "stance", "graph"))
        ]
    samples = []
    for _, row in read_rows(path, _SampleLine):
        graphs = (row.graph,) if isinstance(row.graph, str) else row.graph
        samples.append(Sample(row.id, row.belief, row.argument, row.stance, graphs))
    check_distinct(path, (sample.id for sample in samples))
    return samples


def read_predictions(path: Path) -> list[Prediction]:
    """Return the predictions of a file.

    JSON lines hold ``id``, ``graph`` and ``stance``, or ``given_stance`` if the system was
    told it. A line of a ``.tsv`` file holds stance and graph; its id is its number from 0.
    """
    if _is_table(path):
        return [
            Prediction(name, stance, parts[1])
            for name, stance, parts in _table(path, ("stance", "graph"))
        ]
    predictions = []
    for line, row in read_rows(path, _PredictionLine):
        stance = row.stance or row.given_stance
        if stance is None:
            problem = "missing, expected support or counter"
            raise RecordError(problem, file=str(path), line=line, field="stance")
        predictions.append(Prediction(row.id, stance, row.graph))
    check_distinct(path, (prediction.id for prediction in predictions))
    return predictions


def _is_table(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".tsv")


def _table(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, Stance, list[str]]]:
    """Yield id, stance and columns of each line of a table; a sample may have one more graph."""
    for line, text in read_lines(path):
        parts = text.split("\t")
        if len(parts) < len(columns) or (len(columns) == 2 and len(parts) > 2):
            expected = ", ".join(columns[:-1]) + f" and {columns[-1]}"
            problem = f"{plural(len(parts), 'column')}, expected {expected}"
            raise RecordError(problem, file=str(path), line=line)
        stance = parts[columns.index("stance")]
        if stance not in STANCES:
            problem = f"stance {stance!r}, expected support or counter"
            raise RecordError(problem, file=str(path), line=line)
        yield str(line - 1), stance, parts


def read_graphs(samples: Path, predictions: Path | None = None) -> list[SampleGraph]:
    """Return each sample of a file with each graph of it: a system's, or its own."""
    known = {sample.id: sample for sample in read_samples(samples)}
    if predictions is None:
        graphs = [SampleGraph(each, graph) for each in known.values() for graph in each.graphs]
        if not graphs:
            raise InputError(f"{samples}: no sample has a graph")
        return graphs
    answers = read_predictions(predictions)
    for answer in answers:
        if answer.id not in known:
            raise InputError(f"{predictions}: no sample {answer.id!r} in {samples}")
    return [SampleGraph(known[answer.id], answer.graph) for answer in answers]


def samples_to_explain(
    path: Path | None, belief: str | None = None, argument: str | None = None
) -> list[Sample]:
    """Return the samples of a file, or the one of a belief and an argument."""
    stated = belief is not None or argument is not None
    if stated == (path is not None):
        raise InputError("give either SAMPLES or both --belief and --argument")
    if path is not None:
        return read_samples(path)
    if belief is None or argument is None:
        raise InputError("--belief and --argument belong together")
    return [Sample("0", belief, argument)]


@runtime_checkable
class GraphPredictor(Protocol):
    """Predicts the stance of an argument to a belief, and a graph that explains it."""

    identity: str

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin of its score."""
        ...

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a graph for each sample, which may be empty; gold is not used."""
        ...
