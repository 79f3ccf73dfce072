"""Engines that run on many machines, each put to scoring by one small file.

An engine gets files and gives back what became of each. One task scores one file with one thread
into one shard, so that a worker that dies costs that file alone.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from grice.errors import GriceError, InputError, did_you_mean, excerpt
from grice.integrations.addresses import check_listens
from grice.integrations.shards import ENGINES, Grading, Shard, planned, score_encoded, shard_of
from grice.records import json_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice.integrations.shards import Engine, Scoring

__all__ = ["ENGINES", "Grading", "Shard", "score_on"]


def score_on(
    engine: str,
    paths: Sequence[str | Path],
    folder: str | Path,
    grading: Grading,
    *,
    address: str | None = None,
) -> Iterator[Shard]:
    """Score files on an engine into a folder of Parquet shards, and yield each as it is done.

    A shard is named by a hash of its input and of what was computed: what an earlier run finished
    is not computed again. Values are those of ``grice score`` on the same kind of processor.

    Args:
        engine: ``ray``, ``dask`` or ``spark``.
        paths: Files, or folders of files, that every worker can read.
        folder: Where shards are written, which every worker can write.
        grading: The metrics.
        address: Of a cluster that runs; by default workers are started here, one a core.

    Raises:
        InputError: If the engine is unknown or not installed, the address does not answer, a worker
            has another version of grice, the files do not fit each other, or the folder holds
            shards of another run.
    """
    if engine not in ENGINES:
        raise InputError(f"no engine {engine!r}{did_you_mean(engine, ENGINES)}")
    for package in (ENGINES[engine], "pyarrow"):
        if find_spec(package) is None:
            raise InputError(
                f"--engine {engine} needs {package}, which is not installed: pip install "
                f'"grice[{engine}]"'
            )
    if address is not None:
        check_listens(address)
    tasks, finished = planned(paths, folder, grading)
    yield from finished
    if tasks:
        encoded = [json_line(task) for task in tasks]
        yield from map(shard_of, _answers(engine, encoded, score_encoded, address))


def _answers(
    engine: str, tasks: Sequence[bytes], score: Scoring, address: str | None
) -> Iterator[bytes]:
    """Yield what workers answer; an engine that gives up, each by errors of its own, is said."""
    module = cast("Engine", import_module(f"grice.integrations.{engine}_engine"))
    try:
        yield from module.shards_of(tasks, score, address)
    except GriceError:
        raise
    except Exception as error:
        raise InputError(
            f"{engine} gave up: {type(error).__name__}: {excerpt(str(error), 300)}; shards that "
            "were written are kept, and the same command scores the other files"
        ) from error
