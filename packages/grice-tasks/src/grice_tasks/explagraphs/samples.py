"""Beliefs, arguments and graphs from files: JSON lines, or the released tab-separated form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import msgspec

from grice.errors import RecordError, plural
from grice_tasks.lines import check_distinct, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Stance: TypeAlias = Literal["support", "counter"]
STANCES = ("support", "counter")
Record = TypeVar("Record")


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """A belief and an argument, with what people say about them."""

    id: str
    belief: str
    argument: str
    stance: Stance | None = None
    graphs: tuple[str, ...] = ()  # the written gold graphs


class Prediction(msgspec.Struct, frozen=True):
    """Answer of a system to a sample; ``graph`` is kept exactly as it came."""

    id: str
    stance: Stance
    graph: str


class _SampleLine(msgspec.Struct):
    id: str
    belief: str
    argument: str
    stance: Stance | None = None
    graph: str | list[str] | None = None


class _PredictionLine(msgspec.Struct):
    id: str
    graph: str
    stance: Stance | None = None
    given_stance: Stance | None = None


def read_samples(path: Path) -> list[Sample]:
    """Return the samples of a file.

    JSON lines hold ``id``, ``belief``, ``argument`` and, if known, ``stance`` and ``graph`` (a
    string or a list of them). A line of a ``.tsv`` file holds belief, argument, stance, graph
    and perhaps a second graph; its id is its number from 0. Either may be compressed by gzip;
    ``-`` reads JSON lines from standard input.
    """
    if _is_table(path):
        return [_sample_of(path, number, line.split("\t")) for number, line in read_lines(path)]
    samples = []
    for line in _json_lines(path, _SampleLine):
        graph = line.graph
        graphs = () if graph is None else (graph,) if isinstance(graph, str) else tuple(graph)
        samples.append(Sample(line.id, line.belief, line.argument, line.stance, graphs))
    check_distinct(path, (sample.id for sample in samples))
    return samples


def read_predictions(path: Path) -> list[Prediction]:
    """Return the predictions of a file.

    JSON lines hold ``id``, ``graph`` and ``stance``, or ``given_stance`` if the system was
    told it. A line of a ``.tsv`` file holds stance and graph; its id is its number from 0.
    """
    if _is_table(path):
        return [_prediction_of(path, number, line.split("\t")) for number, line in read_lines(path)]
    predictions = []
    for number, line in enumerate(_json_lines(path, _PredictionLine), 1):
        stance = line.stance or line.given_stance
        if stance is None:
            raise RecordError(
                "missing, expected support or counter",
                file=str(path),
                line=number,
                field="stance",
            )
        predictions.append(Prediction(line.id, stance, line.graph))
    check_distinct(path, (prediction.id for prediction in predictions))
    return predictions


def _is_table(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".tsv")


def _json_lines(path: Path, kind: type[Record]) -> Iterator[Record]:
    decoder = msgspec.json.Decoder(kind)
    for number, line in read_lines(path):
        try:
            yield decoder.decode(line)
        except (msgspec.MsgspecError, ValueError) as error:
            raise RecordError(str(error), file=str(path), line=number) from error


def _sample_of(path: Path, line: int, parts: list[str]) -> Sample:
    if len(parts) < 4:
        raise RecordError(
            f"{plural(len(parts), 'column')}, expected belief, argument, stance and graph",
            file=str(path),
            line=line,
        )
    graphs = tuple(graph for graph in parts[3:5] if graph)
    return Sample(str(line - 1), parts[0], parts[1], _stance(path, line, parts[2]), graphs)


def _prediction_of(path: Path, line: int, parts: list[str]) -> Prediction:
    if len(parts) != 2:
        raise RecordError(
            f"{plural(len(parts), 'column')}, expected stance and graph", file=str(path), line=line
        )
    return Prediction(str(line - 1), _stance(path, line, parts[0]), parts[1])


def _stance(path: Path, line: int, word: str) -> Stance:
    if word not in STANCES:
        raise RecordError(
            f"stance {word!r}, expected support or counter", file=str(path), line=line
        )
    return cast("Stance", word)


@runtime_checkable
class GraphPredictor(Protocol):
    """Says the stance of an argument to a belief, and explains it by a graph."""

    identity: str

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin of its score."""
        ...

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a valid graph for each sample; neither gold is looked at.

        The graph is empty where belief and argument have too few words to build facts from.
        """
        ...
