"""Scoring on Dask distributed (``pip install "grice[dask]"``)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import dask
from distributed import Client, LocalCluster, as_completed

from grice.errors import InputError
from grice.integrations.addresses import first_answer
from grice.models.models import default_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.integrations.shards import Scoring

PATIENCE = 10
"""Seconds that a scheduler may take to answer."""
SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
}
"""By default every large array is given back to the system at once, which doubles the cost
of scoring, threads are looked at a hundred times a second, and the event loop wakes fifty times."""
LENGTH = bytes(4)
"""A scheduler speaks first: a length of eight bytes, little-endian, whose upper half is zero."""
QUIET = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""No dashboard; what the scheduler serves all the same goes to any free port of this machine."""


def shards_of(tasks: Sequence[bytes], score: Scoring, address: str | None) -> Iterator[bytes]:
    """Yield what workers answer as they finish files, one task a file."""
    if address is not None and address.startswith("tcp://"):
        answer = first_answer(address)
        if answer is not None and answer[4:8] != LENGTH:
            raise InputError(
                f"{address}: what listens here is no Dask scheduler; give the scheduler's own "
                "address, such as tcp://HOST:8786"
            )
    with dask.config.set(SETTINGS):
        cluster = None if address else _local(min(default_workers(), len(tasks)))
    try:
        client = Client(address or cluster, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(f"{address}: no Dask scheduler answers here: {error}") from None
    try:
        for scored in as_completed(client.map(score, tasks, pure=False)):
            yield scored.result()
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _local(workers: int) -> LocalCluster:
    """Start workers here; one that is slow to end is no news for whoever scores."""
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        scheduler_kwargs=QUIET,
        silence_logs=logging.ERROR,
    )
