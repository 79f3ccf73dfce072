"""Replies that are compared: items written for grice, and votes on replies of chatbots.

Replies of chatbots are compared within their conversation, by what people voted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from grice_research.benches.breakdowns import is_validation
from grice_research.benches.minimal_pairs import read_pairs
from grice_research.recipes.common import rows_of
from grice_research.recipes.relevance.corpora import evaluated_texts, normalise

FLAWS = ("any", "contradiction", "repetition", "unanswered", "nonsense", "dull")
"""Outputs of the heads; a flaw of a kind is learned by the first and by that of its kind."""

KINDS = {
    "partner_contradiction": "contradiction", "self_contradiction": "contradiction",
    "negation": "contradiction", "reference": "contradiction", "roles": "nonsense",
    "cause": "nonsense", "time": "nonsense", "social": "nonsense", "world": "nonsense",
    "nonsense": "nonsense", "incoherent": "nonsense", "ignored": "unanswered",
    "offtopic": "unanswered", "repetition": "repetition", "dull": "dull", "breakdowns": "any",
    "messages": "any",
}  # fmt: skip
"""Of the items written, then of votes on replies of chatbots."""
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
    for path in sorted(PAIRS.glob("*.jsonl.gz")):
        yield from map(_pair_item, rows_of(path))


def _pair_item(row: dict[str, Any]) -> Item:
    first = tuple(row["h1"])
    validation = crc32("\n".join(first).encode()) % 10 == 0
    if "bad" in row:
        readings = (Reading(first, row["r1"]), Reading(first, row["bad"]))
        return Item(row["kind"], readings, ((0, 1),), validation)
    second = tuple(row["h2"])
    orders = ((first, "r1"), (second, "r2"), (first, "r2"), (second, "r1"))
    crossed = tuple(Reading(history, row[name]) for history, name in orders)
    return Item(row["kind"], crossed, tuple((i, j) for i in (0, 1) for j in (2, 3)), validation)


WORDS = 40  # most words of a turn of a chatbot's conversation that is read
TURNS = 4  # turns of a chatbot's conversation before the first reply of a window


def breakdowns(data: Path) -> Iterator[Item]:
    """Yield replies of chatbots that few call a breakdown beside those that many do."""
    for talk in rows_of(data / "dbdc3/dbdc3_dev.jsonl.gz"):
        if is_validation(talk["id"]):
            continue
        votes = {
            label["turn"]: (label["X"] + label["T"] / 2) / sum(label[vote] for vote in "OTX")
            for label in talk["labels"]
        }
        yield from _windows("breakdowns", talk["turns"], votes, apart=0.3)


def messages(data: Path) -> Iterator[Item]:
    """Yield messages of chatbots that their partner called good beside those called bad."""
    both = {_plain(talk["turns"]) for talk in rows_of(data / "dbdc3/dbdc3_dev.jsonl.gz")}
    for talk in rows_of(data / "convai2017/convai2017.jsonl.gz"):
        if talk["meta"]["amt50"] or _stands_in(_plain(talk["turns"]), both):
            continue
        votes = {
            place: 2.0 - value
            for place, value in enumerate(talk["meta"]["utt_eval"])
            if value and talk["meta"]["users"].get(talk["turns"][place]["speaker"]) == "Bot"
        }
        yield from _windows("messages", talk["turns"], votes, apart=0.5)


def shortened(text: str) -> str:
    """Return the first words of what was said, as they are learned from."""
    return " ".join(text.split()[:WORDS])


def _windows(
    kind: str, turns: Sequence[dict[str, str]], votes: dict[int, float], apart: float
) -> Iterator[Item]:
    """Yield comparisons of replies of a conversation in alternation that were voted on."""
    texts = [shortened(turn["text"]) for turn in turns]
    start = 0
    while start < len(turns):
        window = range(max(0, start - TURNS), min(len(turns), start + 2 * TURNS))
        judged = [
            place
            for place in window
            if place >= start and place in votes and _alternates(turns, window[0], place)
        ]
        readings = tuple(Reading(tuple(texts[window[0] : i]), texts[i]) for i in judged)
        pairs = tuple(
            (i, j)
            for i, j in product(range(len(judged)), repeat=2)
            if votes[judged[j]] - votes[judged[i]] >= apart
        )
        if pairs:
            first = "\n".join((*readings[0].history, ""))
            yield Item(kind, readings, pairs, crc32(first.encode()) % 10 == 0)
        start += 2 * TURNS


def _alternates(turns: Sequence[dict[str, str]], first: int, last: int) -> bool:
    speakers = [turn["speaker"] for turn in turns[first : last + 1]]
    return all(a != b for a, b in pairwise(speakers))


def _plain(turns: Sequence[dict[str, str]]) -> frozenset[str]:
    texts = (re.sub(r"[^a-z0-9]", "", turn["text"].lower()) for turn in turns)
    return frozenset(text for text in texts if len(text) >= 20)


def _stands_in(texts: frozenset[str], others: Iterable[frozenset[str]]) -> bool:
    """Return whether half of the longer texts of a conversation stand in another."""
    return bool(texts) and any(len(texts & other) * 2 >= len(texts) for other in others)


SHORT = 20  # letters of an everyday phrase, which any two sets share


def chatbot_items(data: Path) -> list[Item]:
    """Return the items of chatbots that are not kept back, without replies of evaluated sets."""
    stated = evaluated(data)
    return [
        item
        for source in (breakdowns, messages)
        for item in source(data)
        if not item.validation
        and not any(is_stated(reading.reply, stated) for reading in item.readings)
    ]


def evaluated(data: Path) -> set[str]:
    """Return the normalised texts of the sets that the heads are measured on."""
    texts = evaluated_texts(data)
    texts |= {text for pair in read_pairs() for text in (*pair.history, pair.good, pair.bad)}
    return set(map(normalise, texts))


def is_stated(reply: str, stated: set[str]) -> bool:
    """Return whether a reply that is no everyday phrase stands in an evaluated set."""
    return len(reply) >= SHORT and normalise(reply) in stated
