"""Pairs of a sensible and a senseless reply, of the kind that a student of commonsense tries.

A metric is right about a pair if the sensible reply scores higher; ties count half. The 208 pairs
of eight kinds (purposes, reasons, effects, orders, needs, advice, wishes, feelings) were written
for this project; half of each kind was closed before the first run. That half was read twice, for
the pooling of version 7 of ``commonsense`` changed in between. Neither reply is longer more often.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib import resources

from grice_research.benches.minimal_pairs import MinimalPair, measure_pairs
from grice_research.context import BenchContext
from grice_research.figures import Figure

TITLE = "Sensible and senseless replies in pairs"
PAPER = "Our own: 208 pairs written for this project, half of them closed before the first run"

METRICS = ("commonsense", "sensibleness", "quality", "relevance")
FETCHED = (
    "likelihood", *(f"{name} ({size})" for name in METRICS[:3] for size in ("medium", "large")),
)  # fmt: skip


def read_pairs() -> list[MinimalPair]:
    """Return the pairs; the kind of one is its half, ``development`` or ``closed``."""
    path = resources.files("grice_research") / "data" / "commonsense_pairs.tsv"
    rows = csv.DictReader(path.read_text("utf-8").splitlines(), delimiter="\t")
    return [
        MinimalPair(row["part"], (row["context"],), row["sensible"], row["senseless"])
        for row in rows
    ]


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield how often each metric and baseline is right, over all pairs and by half."""
    yield from measure_pairs(context, "commonsense_pairs", read_pairs(), [*METRICS], FETCHED)
