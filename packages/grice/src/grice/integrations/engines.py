"""Engines that run on many machines: each scores files into shards of Parquet."""

from __future__ import annotations

import logging
import os
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from grice.errors import GriceError, InputError, did_you_mean, excerpt, os_reason
from grice.integrations.shards import Grading, Shard, planned, score_encoded, shard_of
from grice.records import json_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow

PATIENCE = 10
"""Seconds that a cluster may take to answer."""
DASK = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
}
"""By default every large array is given back to the system at once, which doubles the cost
of scoring, threads are looked at a hundred times a second, and the event loop wakes fifty times."""
SHARE = 0.5
"""Part of a core that an actor of Ray reserves. It uses a whole one; were all reserved, the tasks
that hand it its input would wait for ever."""
SPARK = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def score_on(
    engine: str,
    paths: Sequence[str | Path],
    folder: str | Path,
    grading: Grading,
    *,
    address: str | None = None,
) -> Iterator[Shard]:
    """Score files on an engine into a folder of Parquet shards, and yield each as it is done.

    One task scores one file with one thread. A shard is named by a hash of its input and of what
    was computed: what an earlier run finished is not computed again.

    Args:
        engine: ``ray``, ``dask`` or ``spark``.
        paths: Files, or folders of files, that every worker can read.
        folder: Where shards are written, which every worker can write.
        grading: The metrics.
        address: Of a cluster that runs; by default workers are started here, one a core.

    Raises:
        InputError: If the engine is unknown or not installed, the address does not answer, a worker
            has another version of grice, or the folder holds shards of another run.
    """
    if engine not in ENGINES:
        raise InputError(f"no engine {engine!r}{did_you_mean(engine, ENGINES)}")
    library, start = ENGINES[engine]
    for package in (library, "pyarrow"):
        if find_spec(package) is None:
            raise InputError(
                f"--engine {engine} needs {package}, which is not installed: pip install "
                f'"grice[{engine}]"'
            )
    if address is not None:
        _check_listens(address)
    tasks, finished = planned(paths, folder, grading)
    yield from finished
    try:
        if tasks:
            yield from map(shard_of, start([json_line(task) for task in tasks], address))
    except GriceError:
        raise
    except Exception as error:  # each engine gives up by errors of its own
        raise InputError(
            f"{engine} gave up: {type(error).__name__}: {excerpt(str(error), 300)}; shards that "
            "were written are kept, and the same command scores the other files"
        ) from error


def _check_listens(address: str) -> None:
    """Refuse an address at which nobody listens: Ray and Spark try it again for minutes.

    Of several places, as Spark has them for masters that stand by, it is enough that one listens.
    """
    problems = []
    for text in address.rpartition("//")[2].split(","):
        try:
            parts = urlsplit(f"//{text}")
            if parts.hostname is None or parts.port is None:
                return  # the engine knows what it names
        except ValueError:
            return
        try:
            socket.create_connection((parts.hostname, parts.port), PATIENCE).close()
        except OSError as error:
            problems.append(os_reason(error))
        else:
            return
    raise InputError(
        f"{address}: nobody listens here: {problems[0]}; start the cluster, or leave out "
        "--address for workers on this machine"
    )


def _on_dask(tasks: Sequence[bytes], address: str | None) -> Iterator[bytes]:
    """Yield the answers of workers as they finish files, one task a file."""
    import dask
    from distributed import Client, LocalCluster, as_completed

    from grice.models.loader import default_workers

    cluster = None
    with dask.config.set(DASK):
        if address is None:
            cluster = LocalCluster(
                n_workers=min(default_workers(), len(tasks)),
                threads_per_worker=1,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.ERROR,  # a worker that is slow to end is no news
            )
    client = Client(address or cluster, timeout=PATIENCE)
    try:
        for scored in as_completed(client.map(score_encoded, tasks, pure=False)):
            yield scored.result()
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


class _Actor:
    """An actor of Ray, which keeps its models."""

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[bytes]]:
        return {"shard": [score_encoded(task) for task in batch["task"]]}


def _on_ray(tasks: Sequence[bytes], address: str | None) -> Iterator[bytes]:
    """Yield the answers of actors as they finish files, one actor a core."""
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
    """Yield the answers of executors once all have finished, one partition a file; needs Java."""
    from pyspark.sql import SparkSession

    def scored(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        for batch in batches:
            shards = [score_encoded(task) for task in batch["task"].to_pylist()]
            yield pyarrow.RecordBatch.from_pydict({"shard": pyarrow.array(shards, "binary")})

    if address is None:  # workers here have the packages of this process
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # a file is tried four times, as in a cluster, should its worker die
    builder = SparkSession.builder.master(address or "local[*,4]").appName("grice score")
    session = builder.config(map=SPARK).getOrCreate()
    try:
        rows = [(bytearray(task),) for task in tasks]
        files = session.createDataFrame(rows, "task binary").repartitionByRange(len(rows), "task")
        for row in files.mapInArrow(scored, "shard binary").collect():
            yield bytes(row["shard"])
    finally:
        session.stop()


ENGINES = {
    "dask": ("distributed", _on_dask),
    "ray": ("ray", _on_ray),
    "spark": ("pyspark", _on_spark),
}
"""The package of each engine, and what starts it."""
