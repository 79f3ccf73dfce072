"""Scoring on Spark (``pip install "grice[spark]"``, and Java)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from grice.errors import InputError, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.integrations.shards import Scoring

HERE = "local[*,4]"
"""A worker a core; a file is tried four times, as in a cluster, should its worker die."""
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def shards_of(tasks: Sequence[bytes], score: Scoring, address: str | None) -> Iterator[bytes]:
    """Yield what executors answer once all have finished, one partition a file."""

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            shards = [score(task) for task in batch["task"].to_pylist()]
            yield pa.RecordBatch.from_pydict({"shard": pa.array(shards, pa.binary())})

    if address is None:  # workers here have the packages of this process
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        builder = SparkSession.builder.master(address or HERE).appName("grice score")
        session = builder.config(map=SETTINGS).getOrCreate()
    except (PySparkException, Py4JError, OSError, RuntimeError) as error:
        if address is not None:
            raise InputError(f"{address}: no Spark master of this version answers here") from None
        reason = excerpt(str(error), 300)
        raise InputError(f"Spark does not start: {reason}; it needs Java, see JAVA_HOME") from None
    try:
        rows = [(bytearray(task),) for task in tasks]
        files = session.createDataFrame(rows, "task binary").repartitionByRange(len(rows), "task")
        for row in files.mapInArrow(scored, "shard binary").collect():
            yield bytes(row["shard"])
    finally:
        session.stop()
