"""Speed of finding links: conversations a second, each new, without kept answers.

    python bench/triplets.py [--data ../shared/data] [--conversations 40] [--json]

The conversations are those of Topical-Chat's test part, about twenty turns each. The first five
only warm up. Times are wall-clock on the cores this process may use.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from grice.models.models import Models, default_workers
from grice.readers import read
from grice.records import Conversation
from grice_tasks.cider.find import find_links

if TYPE_CHECKING:
    from grice_tasks.cider.models import TripletModels

WARM = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--conversations", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    source = options.data / "topical_chat" / "test_freq.jsonl.gz"
    records = (
        conversation for conversation in read(str(source)) if isinstance(conversation, Conversation)
    )
    talk = [
        conversation
        for _, conversation in zip(range(options.conversations + WARM), records, strict=False)
    ]
    workers = default_workers()
    models = Models(mode="exact", workers=workers, cache=None)
    heads = cast("TripletModels", models.open("bundle:triplets"))
    for conversation in talk[:WARM]:
        find_links(conversation, heads)
    began, spent = time.perf_counter(), time.process_time()
    links = sum(len(find_links(conversation, heads)) for conversation in talk[WARM:])
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    n = len(talk) - WARM
    figures = {
        "conversations": n,
        "turns": sum(len(conversation.turns) for conversation in talk[WARM:]) / n,
        "links": links / n, "conversations_per_second": n / seconds,
        "conversations_per_processor_second": n / spent, "workers": workers,
    }  # fmt: skip
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:36} {value:10.2f}")


if __name__ == "__main__":
    main()
