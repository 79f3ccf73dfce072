"""Scoring on Ray Data (``pip install "grice[ray]"``)."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import ray

from grice.errors import InputError
from grice.integrations.addresses import first_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.integrations.shards import Scoring

SHARE = 0.5
"""Part of a core that an actor reserves. It uses a whole one; were all reserved, the tasks that
hand it its input would wait for ever."""
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How gRPC begins: the preface of HTTP/2 and an empty frame of settings (RFC 9113, 3.4)."""
SETTINGS_FRAME = bytes((4,))
"""Type of the frame that is answered, its fourth byte."""


class _Worker:
    """An actor, which keeps its models."""

    def __init__(self, score: Scoring) -> None:
        self._score = score

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[bytes]]:
        return {"shard": [self._score(task) for task in batch["task"]]}


def shards_of(tasks: Sequence[bytes], score: Scoring, address: str | None) -> Iterator[bytes]:
    """Yield what actors answer as they finish files, one actor a core."""
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if address is not None and os.environ.get("RAY_USE_TLS", "0") == "0":
        answer = first_answer(address, GREETING)
        if answer is not None and answer[3:4] != SETTINGS_FRAME:
            raise InputError(
                f"{address}: what listens here is no Ray cluster; give the address of its head, "
                "such as HOST:6379"
            )
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR", ignore_reinit_error=True)
    except (ConnectionError, ValueError) as error:
        raise InputError(f"{address}: no Ray cluster answers here: {error}") from None
    except Exception as error:  # noqa: BLE001 - Ray raises no narrower type where it is too slow
        raise InputError(f"Ray does not start: {error}") from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    cores = int(ray.cluster_resources().get("CPU", 1))
    scored = ray.data.from_items(
        [{"task": task} for task in tasks], override_num_blocks=len(tasks)
    ).map_batches(
        _Worker,
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=min(cores, len(tasks))),
        num_cpus=SHARE,
        fn_constructor_args=(score,),
    )
    try:
        for row in scored.iter_rows():
            yield row["shard"]
    finally:
        ray.shutdown()
