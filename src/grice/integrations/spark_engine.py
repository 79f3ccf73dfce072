"""Scoring on Spark (``pip install "grice[spark]"``, and Java)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from grice.errors import InputError
from grice.integrations.shards import Shard, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.integrations.shards import Scoring

__all__ = ["shards_of"]


def shards_of(tasks: Sequence[Task], score: Scoring, address: str | None) -> Iterator[Shard]:
    """Yield the shards of files once all executors have finished, one partition a file."""

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            files = (msgspec.json.decode(task, type=Task) for task in batch["task"].to_pylist())
            shards = [msgspec.json.encode(score(task)).decode() for task in files]
            yield pa.RecordBatch.from_pydict({"shard": pa.array(shards, pa.string())})

    if address is None:  # workers here have the packages of this process
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        builder = SparkSession.builder.master(address or "local[*]").appName("grice score")
        session = builder.config("spark.ui.enabled", "false").getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise InputError(f"Spark does not start: {error}; it needs Java, see JAVA_HOME") from None
    try:
        rows = [(msgspec.json.encode(task).decode(),) for task in tasks]
        files = session.createDataFrame(rows, "task string").repartitionByRange(len(rows), "task")
        for row in files.mapInArrow(scored, "shard string").collect():
            yield msgspec.json.decode(row["shard"], type=Shard)
    finally:
        session.stop()
