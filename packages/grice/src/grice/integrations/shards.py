"""One file of conversations in, one shard of scores out: the task of a worker of any engine."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from grice import __version__
from grice.errors import GriceError, InputError
from grice.files import make_folder, renaming
from grice.readers import check_arrow, files_of, from_file, read
from grice.records import json_line
from grice.scoring.api import load
from grice.scoring.arrow import score_records, write_lines_as
from grice.scoring.presets import SMALL
from grice.stores import files_under, is_url, version_of, writing_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.records import Score
    from grice.scoring.api import Grader


class Grading(msgspec.Struct, frozen=True):
    """What every worker loads; see :func:`grice.load` and :func:`grice.read`.

    Attributes:
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
    """A file to be scored into a shard; named if its conversations say which file they are of."""

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


def planned(
    paths: Sequence[str | Path], folder: str | Path, grading: Grading
) -> tuple[list[Task], list[Shard]]:
    """Return the files to score, and those that an earlier run has scored into the folder.

    Raises:
        InputError: If there is no file, or the folder holds shards of another run.
    """
    check_arrow()
    files = [file for path in paths for file in files_of(str(path))]
    if is_url(str(folder)):
        target = str(folder).rstrip("/")
        present = {_name(url) for url in files_under(target) if url.endswith(".parquet")}
    else:  # what begins with a dot was not finished by a worker that was killed
        make_folder(Path(folder))
        target = str(Path(folder).absolute())
        present = {path.name for path in Path(folder).glob("[!.]*.parquet")}
    tasks = [
        Task(file, f"{target}/{_digest(file, grading)}.parquet", grading, len(files) > 1)
        for file in files
    ]
    if others := present - {_name(task.shard) for task in tasks}:
        raise InputError(
            f"{folder}: holds {min(others)}, which is of other inputs or metrics; name a folder "
            "of its own for each run"
        )
    there = [task for task in tasks if _name(task.shard) in present]
    finished = [Shard(task.source, task.shard, worker=__version__) for task in there]
    return [task for task in tasks if task not in there], finished


def _name(shard: str) -> str:
    return shard.rpartition("/")[2]


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
    stated = msgspec.json.decode(task)
    if stated["grading"]["version"] != __version__:
        return json_line(Shard(stated["source"], stated["shard"], worker=__version__))
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

    An error of the file stands in the result, and other files are scored.
    """
    grading, statuses = task.grading, Counter[str]()

    def lines(scores: Iterable[Score]) -> Iterator[bytes]:
        for score in scores:
            statuses[score.status] += 1
            yield json_line(score) + b"\n"

    try:
        with read(task.source, format=grading.format, columns=grading.columns) as reading:
            records = from_file(reading) if task.named else reading
            judged = lines(score_records(_grader(json_line(grading)).scorer, records))
            if is_url(task.shard):
                with writing_url(task.shard) as file:
                    write_lines_as(".parquet", judged, file)
            else:
                with renaming(Path(task.shard)) as fresh, fresh.open("wb") as file:
                    write_lines_as(".parquet", judged, file)
    except GriceError as error:
        return Shard(task.source, task.shard, problem=str(error), worker=__version__)
    scores, failed = statuses.total(), statuses["failed"]
    return Shard(task.source, task.shard, scores, failed, worker=__version__)


@cache  # a worker process loads models once
def _grader(grading: bytes) -> Grader:
    chosen = msgspec.json.decode(grading)
    del chosen["format"], chosen["columns"], chosen["version"]
    return load(*chosen.pop("metrics"), workers=1, **chosen)
