"""Scoring on Dask distributed (``pip install "grice[dask]"``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dask
from distributed import Client, LocalCluster, as_completed

from grice.errors import InputError
from grice.runtime.models import default_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.integrations.shards import Scoring

PATIENCE = 10
"""Seconds that a scheduler may take to answer."""
QUIET = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""No dashboard; what the scheduler serves all the same goes to any free port, not that of another."""
TRIMMED = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
"""What Dask sets for its workers gives every large array back to the system at once, and twice the
processor time goes into asking for it again."""


def shards_of(tasks: Sequence[bytes], score: Scoring, address: str | None) -> Iterator[bytes]:
    """Yield what workers answer as they finish files, one task a file."""
    workers = min(default_workers(), len(tasks))
    here = {"n_workers": workers, "threads_per_worker": 1, "scheduler_kwargs": QUIET}
    with dask.config.set({TRIMMED: None}):
        cluster = None if address else LocalCluster(**here)
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
