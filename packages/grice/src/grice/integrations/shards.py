"""One file of conversations in, one file of scores out: what a worker of any engine does."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, TypeAlias

import msgspec

from grice import __version__
from grice.errors import GriceError, InputError, excerpt
from grice.files import make_folder, renaming
from grice.readers import check_arrow, files_of, from_file, read
from grice.records import json_line
from grice.scoring.api import load
from grice.scoring.arrow import score_records
from grice.scoring.presets import SMALL
from grice.scoring.score_tables import write_lines_as
from grice.stores import files_under, is_url, open_url, version_of, writing_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow

    from grice.records import Score
    from grice.scoring.api import Grader

    Scoring: TypeAlias = "Callable[[bytes], bytes]"

ENGINES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}
"""The package of each engine."""


class Grading(msgspec.Struct, frozen=True):
    """What every worker loads; see :func:`grice.load`.

    Attributes:
        format: Name of the files' format; None recognises each.
        columns: Names of columns of tables by what they are; see :func:`grice.read`.
        version: That of grice where the run was started; a worker with another one refuses.
    """

    metrics: tuple[str, ...] = ()
    options: dict[str, dict[str, Any]] = {}
    speakers: tuple[str, ...] = ()
    mode: Literal["fast", "exact"] = "fast"
    plugins: tuple[str, ...] = ()
    models: str = SMALL
    format: str | None = None
    columns: dict[str, str] = {}
    version: str = __version__


class Task(msgspec.Struct, frozen=True):
    """A file to be scored.

    Attributes:
        source: The file as it was named.
        shard: Where its scores go.
        grading: The metrics.
        named: Whether its conversations say which file they are of: there are others.
    """

    source: str
    shard: str
    grading: Grading
    named: bool


class Shard(msgspec.Struct, frozen=True):
    """A file that was scored.

    Attributes:
        source: The file as it was named.
        shard: Where its scores are.
        scores: How many they are; None where an earlier run has written them.
        failed: How many of them failed, records that could not be read among them.
        problem: Why the file could not be scored; None if it was.
        worker: The version of grice that scored it; empty where it is too old to say so.
    """

    source: str
    shard: str
    scores: int | None = None
    failed: int | None = None
    problem: str | None = None
    worker: str = ""


class _Version(msgspec.Struct, frozen=True):
    """What of a :class:`Grading` every version can read."""

    version: str


class _Versioned(msgspec.Struct, frozen=True):
    """What of a :class:`Task` every version can read."""

    source: str
    shard: str
    grading: _Version


class Engine(Protocol):
    """What the module of an engine declares."""

    def shards_of(
        self, tasks: Sequence[bytes], score: Scoring, address: str | None
    ) -> Iterator[bytes]:
        """Yield what the workers return for each task as they are done."""
        ...


def planned(
    paths: Sequence[str | Path], folder: str | Path, grading: Grading
) -> tuple[list[Task], list[Shard]]:
    """Return the files to score, and those that an earlier run has scored into the folder.

    Raises:
        InputError: If there is no file, their columns differ, or the folder holds other shards.
    """
    check_arrow()
    files = [file for path in paths for file in files_of(str(path))]
    _check_alike([file for file in files if file.endswith(".parquet")])
    target = str(folder).rstrip("/") if is_url(str(folder)) else str(Path(folder).absolute())
    present = set(_present(target))
    tasks = [
        Task(file, f"{target}/{_digest(file, grading)}.parquet", grading, len(files) > 1)
        for file in files
    ]
    others = present - {_name(task.shard) for task in tasks}
    if others:
        raise InputError(
            f"{folder}: holds {min(others)}, which is of other inputs or metrics; name a folder "
            "of its own for each run"
        )
    there = [task for task in tasks if _name(task.shard) in present]
    finished = [Shard(task.source, task.shard, worker=__version__) for task in there]
    return [task for task in tasks if task not in there], finished


def _present(folder: str) -> list[str]:
    """Return the names of the shards in a folder, which is made if it is not there.

    What begins with a dot was not finished by a worker that was killed.
    """
    if is_url(folder):
        return [_name(url) for url in files_under(folder) if url.endswith(".parquet")]
    make_folder(Path(folder))
    return [path.name for path in Path(folder).glob("[!.]*.parquet")]


def _name(shard: str) -> str:
    return shard.rpartition("/")[2]


def _check_alike(files: Sequence[str]) -> None:
    """Refuse Parquet files whose columns differ: they are hardly of one export."""
    schemas = [_schema(file) for file in files]
    for file, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            ours, first = (
                {f"{field.name}: {field.type}" for field in columns}
                for columns in (schema, schemas[0])
            )
            more = "; ".join(
                f"{name} alone has {excerpt(', '.join(sorted(columns)), 200)}"
                for name, columns in ((file, ours - first), (files[0], first - ours))
                if columns
            )
            raise InputError(
                f"{file}: its columns are not those of {files[0]}: {more or 'another order'}; "
                "score them in a run each, or export them alike"
            )


def _schema(file: str) -> pyarrow.Schema:
    import pyarrow.parquet

    try:
        with open_url(file) if is_url(file) else Path(file).open("rb") as content:
            return pyarrow.parquet.read_schema(content)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {excerpt(str(error), 300)}") from None


def _digest(file: str, grading: Grading) -> str:
    """Return the hash of a file and its name, and of what is computed of it.

    A file of a store is not read for that: the store knows a hash, or when it was written.
    """
    digest = hashlib.blake2b(json_line([grading, file]), digest_size=16)
    if is_url(file):
        digest.update(version_of(file).encode())
        return digest.hexdigest()
    with Path(file).open("rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def score_encoded(task: bytes) -> bytes:
    """Score a file as :func:`score_shard` does; task and shard are JSON, as engines carry them.

    A worker with another version of grice scores nothing, and says which one it has.
    """
    stated = msgspec.json.decode(task, type=_Versioned)
    if stated.grading.version != __version__:
        return json_line(Shard(stated.source, stated.shard, worker=__version__))
    return json_line(score_shard(msgspec.json.decode(task, type=Task)))


def shard_of(answer: bytes) -> Shard:
    """Return the shard that a worker answers with.

    Raises:
        InputError: If the worker has another version of grice.
    """
    shard = msgspec.json.decode(answer, type=Shard)
    if shard.worker != __version__:
        theirs = shard.worker or "of an earlier version, which does not say its number"
        raise InputError(
            f"a worker has grice {theirs}, this command is of grice {__version__}: install one "
            "version everywhere; shards that were written are kept"
        )
    return shard


def score_shard(task: Task) -> Shard:
    """Score a file into its shard, which appears under its name when it is whole.

    Never raises what is wrong with the file: it stands in the result, and other files are scored.
    """
    try:
        return _scored(task)
    except GriceError as error:
        return Shard(task.source, task.shard, problem=str(error), worker=__version__)


def _scored(task: Task) -> Shard:
    grading = task.grading
    counts = {"ok": 0, "abstained": 0, "failed": 0}

    def lines(scores: Iterable[Score]) -> Iterator[bytes]:
        for score in scores:
            counts[score.status] += 1
            yield json_line(score) + b"\n"

    with read(task.source, format=grading.format, columns=grading.columns) as reading:
        records = from_file(reading) if task.named else reading
        judged = score_records(_grader(json_line(grading)).scorer, records)
        with _writing(task.shard) as file:
            write_lines_as(".parquet", lines(judged), file)
    scores = sum(counts.values())
    return Shard(task.source, task.shard, scores, counts["failed"], worker=__version__)


@contextmanager
def _writing(shard: str) -> Iterator[BinaryIO]:
    if is_url(shard):
        with writing_url(shard) as file:
            yield file
    else:
        with renaming(Path(shard)) as fresh, fresh.open("wb") as file:
            yield file


@cache  # a worker process loads models once
def _grader(grading: bytes) -> Grader:
    chosen = msgspec.json.decode(grading, type=Grading)
    return load(
        *chosen.metrics,
        options=chosen.options,
        speakers=chosen.speakers,
        mode=chosen.mode,
        workers=1,
        plugins=chosen.plugins,
        models=chosen.models,
    )
