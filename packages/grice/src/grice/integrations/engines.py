"""Engines that score files on many machines, each file into a shard of Parquet.

A shard is named by a hash of its input and of the settings; a repeated run skips finished shards.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import socket
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from grice import __version__
from grice.data import Score, json_line
from grice.errors import GriceError, InputError, did_you_mean, excerpt, imported
from grice.files import files_under, is_url, make_folder, version_of, writing, writing_url
from grice.models.loader import default_workers
from grice.readers import check_arrow, files_of, from_file, read
from grice.scoring.api import SMALL, Grader, load
from grice.scoring.arrow import score_records, write_table

PATIENCE = 10  # seconds that a cluster may take to answer
DASK = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
}
"""The defaults double the cost of scoring, and wake the process a hundred times a second."""
LOGGED = 500  # bytes of the log of an engine that an error quotes
SHARE = 0.5
"""Part of a core that an actor of Ray reserves: with all reserved, its input would wait forever."""
SPARK = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class Grading(msgspec.Struct, frozen=True):
    """Settings of every worker, which refuses to work for another ``version`` of grice."""

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
    """A file to score into a shard; ``named`` adds the file to the meta of its conversations."""

    source: str
    shard: str
    grading: Grading
    named: bool


class Shard(msgspec.Struct, frozen=True):
    """A file that was scored, or its problem; ``scores`` is None if an earlier run wrote it."""

    source: str
    shard: str
    scores: int | None = None
    failed: int | None = None
    problem: str | None = None
    worker: str = ""


def score_on(
    engine: str,
    paths: Sequence[str | Path],
    folder: str | Path,
    grading: Grading,
    *,
    address: str | None = None,
) -> Iterator[Shard]:
    """Score files on ``ray``, ``dask`` or ``spark`` into shards, and yield each as it is done.

    Every worker reads the paths and writes the folder. Without the address of a running cluster,
    workers are started here, one a core.

    Raises:
        GriceError: If the engine is not installed.
        InputError: If there is no such engine or no server at the address, a worker has another
            version of grice, or the folder holds shards of another run.
    """
    if engine not in ENGINES:
        raise InputError(f"engine {engine!r}{did_you_mean(engine, ENGINES)}")
    library, start = ENGINES[engine]
    for package in (library, "pyarrow"):
        imported(package, f"--engine {engine}", engine)
    if address is not None:
        _check_listens(address)
    tasks, finished = planned(paths, folder, grading)
    yield from finished
    try:
        if tasks:
            yield from map(shard_of, start([json_line(task) for task in tasks], address))
    except GriceError:
        raise
    except Exception as error:  # each engine has its own errors
        raise InputError(
            f"{engine} failed: {type(error).__name__}: {excerpt(str(error), 300)}; shards that "
            "were written are kept, and the same command scores the other files"
        ) from error


def _check_listens(address: str) -> None:
    """Refuse an unreachable address, which Ray and Spark retry for minutes."""
    places = re.findall(r"([^,/\[\]]+):(\d+)(?=,|$)", address)  # none in auto or local[2]
    for host, port in places:
        with suppress(OSError, OverflowError):
            socket.create_connection((host, int(port)), PATIENCE).close()
            return
    if places:
        raise InputError(
            f"{address}: no server there; start the cluster, or leave out --address for "
            "workers on this machine"
        )


def planned(
    paths: Sequence[str | Path], folder: str | Path, grading: Grading
) -> tuple[list[Task], list[Shard]]:
    """Return the files to score, and the shards that are in the folder."""
    check_arrow()
    files = [file for path in paths for file in files_of(str(path))]
    if is_url(str(folder)):
        target = str(folder).rstrip("/")
        present = {
            url.rpartition("/")[2] for url in files_under(target) if url.endswith(".parquet")
        }
    else:  # names that begin with a dot are left by killed workers
        make_folder(Path(folder))
        target = str(Path(folder).absolute())
        present = {path.name for path in Path(folder).glob("[!.]*.parquet")}
    shards = {f"{_digest(file, grading)}.parquet": file for file in files}
    if others := present - shards.keys():
        raise InputError(
            f"{folder}: contains {min(others)}, which is of other inputs or metrics; use a "
            "separate folder for each run"
        )
    tasks, finished = [], []
    for name, file in shards.items():
        if name in present:
            finished.append(Shard(file, f"{target}/{name}", worker=__version__))
        else:
            tasks.append(Task(file, f"{target}/{name}", grading, len(files) > 1))
    return tasks, finished


def _digest(file: str, grading: Grading) -> str:
    """Return the hash of a file, its name and the settings; a store states its own hash or time."""
    digest = hashlib.blake2b(json_line([grading, file]), digest_size=16)
    if is_url(file):
        digest.update(version_of(file).encode())
        return digest.hexdigest()
    with Path(file).open("rb") as content:
        return hashlib.file_digest(content, lambda: digest).hexdigest()


def score_encoded(task: bytes) -> bytes:
    """Score a file, task and shard as JSON; another version of grice only returns itself."""
    stated = msgspec.json.decode(task)
    if stated["grading"]["version"] != __version__:
        return json_line(Shard(stated["source"], stated["shard"], worker=__version__))
    return json_line(score_shard(msgspec.json.decode(task, type=Task)))


def shard_of(answer: bytes) -> Shard:
    """Return the shard that a worker answers with; refuse another version of grice."""
    shard = msgspec.json.decode(answer, type=Shard)
    if shard.worker != __version__:
        theirs = shard.worker or "of an earlier version"
        raise InputError(
            f"a worker has grice {theirs}, this command grice {__version__}: install the same "
            "version everywhere; finished shards are kept"
        )
    return shard


def score_shard(task: Task) -> Shard:
    """Score a file into its shard, which appears when it is complete; return an error of it."""
    grading, statuses = task.grading, Counter[str]()

    def counted(scores: Iterable[Score]) -> Iterator[Score]:
        for score in scores:
            statuses[score.status] += 1
            yield score

    try:
        with read(task.source, format=grading.format, columns=grading.columns) as reading:
            records = from_file(reading) if task.named else reading
            scores = counted(score_records(_grader(json_line(grading)).scorer, records))
            is_remote = is_url(task.shard)
            with writing_url(task.shard) if is_remote else writing(Path(task.shard)) as file:
                write_table(".parquet", scores, file)
    except GriceError as error:
        return Shard(task.source, task.shard, problem=str(error), worker=__version__)
    counts = statuses.total(), statuses["failed"]
    return Shard(task.source, task.shard, *counts, worker=__version__)


@cache  # a worker process loads models once
def _grader(grading: bytes) -> Grader:
    chosen = msgspec.json.decode(grading)
    del chosen["format"], chosen["columns"], chosen["version"]
    return load(*chosen.pop("metrics"), workers=1, **chosen)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what engines warn about themselves and their libraries as they start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _on_dask(tasks: Sequence[bytes], address: str | None) -> Iterator[bytes]:
    import dask
    from distributed import Client, LocalCluster, as_completed

    with ExitStack() as stack:
        if address is None:
            stack.enter_context(dask.config.set(DASK))
            cluster = LocalCluster(
                n_workers=min(default_workers(), len(tasks)),
                threads_per_worker=1,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.ERROR,  # do not warn about slow workers
            )
            address = stack.enter_context(cluster).scheduler_address
        client = stack.enter_context(Client(address, timeout=PATIENCE))
        for scored in as_completed(client.map(score_encoded, tasks, pure=False)):
            yield scored.result()


class _Actor:
    """An actor of Ray, which keeps its models."""

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[bytes]]:
        return {"shard": [score_encoded(task) for task in batch["task"]]}


def _on_ray(tasks: Sequence[bytes], address: str | None) -> Iterator[bytes]:
    with _quiet():
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ray.init(address, log_to_driver=False, logging_level="ERROR", ignore_reinit_error=True)
    ray.data.DataContext.get_current().enable_progress_bars = False
    cores = int(ray.cluster_resources().get("CPU", 1))
    rows = ray.data.from_items([{"task": task} for task in tasks], override_num_blocks=len(tasks))
    actors = ray.data.ActorPoolStrategy(size=min(cores, len(tasks)))
    try:
        scored = rows.map_batches(_Actor, batch_size=1, compute=actors, num_cpus=SHARE)
        for row in scored.iter_rows():
            yield row["shard"]
    finally:
        ray.shutdown()


def _on_spark(tasks: Sequence[bytes], address: str | None) -> Iterator[bytes]:
    """Yield the answers of executors once all have finished, one partition a file; needs Java.

    The log of Java, also what workers write, is shown only in part, and only if it cannot start.
    """

    def scored(batches: Iterator[Any]) -> Iterator[Any]:  # of pyarrow.RecordBatch
        import pyarrow

        for batch in batches:
            shards = [score_encoded(task) for task in batch["task"].to_pylist()]
            yield pyarrow.RecordBatch.from_pydict({"shard": pyarrow.array(shards, "binary")})

    if address is None:  # workers here have the packages of this process
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _quiet(), tempfile.TemporaryFile() as log:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession

        conf = SparkConf().setAll([*SPARK.items()]).setAppName("grice score")
        # a file is tried four times, as in a cluster, should its worker die
        conf.setMaster(address or "local[*,4]")
        try:
            gateway = launch_gateway(conf, {"stderr": log})
            session = SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:
            log.seek(0)
            said = log.read()[-LOGGED:].decode("utf-8", "replace")
            raise InputError(f"spark cannot start: {error}; its log ends: {said}") from error
    try:
        with _quiet():
            rows = session.createDataFrame([(bytearray(task),) for task in tasks], "task binary")
            files = rows.repartitionByRange(len(tasks), "task")
            shards = files.mapInArrow(scored, "shard binary").collect()
        yield from (bytes(row["shard"]) for row in shards)
    finally:
        session.stop()


ENGINES = {
    "dask": ("distributed", _on_dask),
    "ray": ("ray", _on_ray),
    "spark": ("pyspark", _on_spark),
}
"""The package of each engine, and what starts it."""
