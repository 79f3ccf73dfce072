"""Replies that people judged for support by the knowledge they were given.

An area under the curve is how often a reply that is not supported scores lower than one that is;
ties count half. Replies that say nothing of substance (``generic``) are left out. The floors need
no metric: the share of the reply's words that stand in the knowledge, its length, and numbers that
do not stand there. All sets are of models of 2019 to 2021, which copy their source.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.records import Conversation, Turn
from grice_research.context import Skipped
from grice_research.recipes.sense.sources import lines_of
from grice_research.roc import roc_areas
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_research.context import BenchContext

__all__ = ["Judged", "floors", "measure", "read_judged"]

TITLE = "Replies judged for support by given knowledge"
PAPER = "BEGIN (Dziri et al., TACL 2022); Q2 (Honovich et al., EMNLP 2021); FaithDial; DialFact"

METRIC, FLOOR = "groundedness", "share of words in the knowledge"
AREA = "area under the curve"
WORD, NUMBER = re.compile(r"\w+"), re.compile(r"\d+")


class Judged(NamedTuple):
    """A reply with its knowledge, and whether that supports it."""

    set: str
    knowledge: str
    message: str
    reply: str
    supported: bool


def read_judged(rows: Sequence[dict[str, Any]]) -> list[Judged]:
    """Return the replies that claim something."""
    return [
        Judged(row["set"], row["knowledge"], row["message"], row["response"],
               row["label"] == "supported")
        for row in rows
        if row["label"] != "generic"
    ]  # fmt: skip


def floors(item: Judged) -> dict[str, float]:
    """Return what needs no metric, higher for what looks supported."""
    known = set(WORD.findall(item.knowledge.lower()))
    words = WORD.findall(item.reply.lower())
    numbers = set(NUMBER.findall(item.reply)) - set(NUMBER.findall(item.knowledge))
    return {
        FLOOR: sum(word in known for word in words) / max(1, len(words)),
        "fewer words": -float(len(words)),
        "no number of its own": -float(len(numbers)),
    }


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield the area of the metric and of each floor, by set."""
    path = context.folder / "grounded_replies" / "grounded_replies.jsonl.gz"
    if not path.is_file():
        raise Skipped("grounded_replies is not in the data folder")
    judged = read_judged(list(lines_of(path)))
    grader, signatures = context.grader(METRIC)
    for name in dict.fromkeys(item.set for item in judged):
        items = [item for item in judged if item.set == name]
        talks = [
            Conversation(
                f"{number}",
                (
                    Turn("A", item.message or "Tell me about it."),
                    Turn("B", item.reply, meta={"knowledge": item.knowledge}),
                ),
                (1,),
            )
            for number, item in enumerate(items)
        ]
        columns = {METRIC: [score.value for score in grader.score(talks)]}
        for item in items:
            for floor, value in floors(item).items():
                columns.setdefault(floor, []).append(value)
        labels = [float(item.supported) for item in items]
        areas = roc_areas(columns, labels, pairs=[(METRIC, FLOOR)])
        for row, estimate in areas.areas.items():
            is_metric = row == METRIC
            yield Row(
                row=row,
                measure=AREA,
                estimate=estimate,
                kind="ours" if is_metric else "baseline",
                on=name,
                signature=f"{signatures[METRIC]}|on:{name}" if is_metric else "",
            )
        yield Row(
            row=f"{METRIC} less {FLOOR}",
            measure=f"{DIFFERENCE}{AREA}",
            estimate=areas.differences[METRIC, FLOOR],
            kind="ours",
            on=name,
            signature=signatures[METRIC],
        )
