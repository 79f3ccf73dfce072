"""Items that were written for this recipe: replies that are right after one history, not another.

Of a crossed item both replies are right, each after its own history and flawed after the other's,
so that neither a reply nor a history alone tells which reading is right.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAWS = ("any", "contradiction", "repetition", "unanswered", "nonsense", "dull")
"""What the heads tell; a flaw of a kind is learned by the first and by that of its kind."""

KINDS = {
    "partner_contradiction": "contradiction",
    "self_contradiction": "contradiction",
    "negation": "contradiction",
    "reference": "contradiction",
    "roles": "nonsense",
    "cause": "nonsense",
    "time": "nonsense",
    "social": "nonsense",
    "world": "nonsense",
    "nonsense": "nonsense",
    "incoherent": "nonsense",
    "ignored": "unanswered",
    "offtopic": "unanswered",
    "repetition": "repetition",
    "dull": "dull",
    "snli": "contradiction",
    "revised": "contradiction",
    "broken": "contradiction",
    "negated": "contradiction",
    "defeasible": "nonsense",
    "comve": "nonsense",
    "ecare": "nonsense",
    "codah": "nonsense",
    "breakdowns": "any",
    "messages": "any",
}
"""Of the items written, then of those of :mod:`grice_research.recipes.sense.sources`."""
PAIRS = Path(__file__).parent / "pairs"


class Reading(NamedTuple):
    """A history, oldest turn first, and a reply to it."""

    history: tuple[str, ...]
    reply: str


class Item(NamedTuple):
    """Readings that are compared."""

    kind: str
    readings: tuple[Reading, ...]
    comparisons: tuple[tuple[int, int], ...]
    validation: bool

    @property
    def flaw(self) -> str:
        """The head that learns it beside the first."""
        return KINDS[self.kind]


def written_items() -> Iterator[Item]:
    """Yield all items, file by file."""
    for path in sorted(PAIRS.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (_item(json.loads(line)) for line in lines)


def _item(row: dict[str, Any]) -> Item:
    first = tuple(row["h1"])
    validation = crc32("\n".join(first).encode()) % 10 == 0
    if "bad" in row:
        readings = (Reading(first, row["r1"]), Reading(first, row["bad"]))
        return Item(row["kind"], readings, ((0, 1),), validation)
    second = tuple(row["h2"])
    crossed = (
        Reading(first, row["r1"]),
        Reading(second, row["r2"]),
        Reading(first, row["r2"]),
        Reading(second, row["r1"]),
    )
    return Item(row["kind"], crossed, tuple((i, j) for i in (0, 1) for j in (2, 3)), validation)
