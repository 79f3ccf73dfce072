"""Breakdowns of chatbot conversations that thirty people voted on (DBDC3), beside baselines.

Each chatbot turn has thirty votes: no breakdown, a possible one, a breakdown. A metric sees
breakdowns if turns that most people call one score lower (the area under the ROC curve), over all
turns and within chatbots. Conversations are drawn whole. The orders of review stand beside the
metrics: what they gain for readers of the first tenth of the turns is the lift, the precision
there over the share of breakdowns.

The set may train shipped weights, and some have seen it. Three of ten conversations, chosen by the
checksum of their id, are for validation, and only these are measured here; the others may train.
Turns whose text is in ConvAI 2017, which trains (most are of the chatbot CIC), are left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from grice.data import Conversation, Turn
from grice_research.benches._turns import (
    TRIVIAL,
    area_rows,
    lift_rows,
    marked_lines,
    turn_columns,
)
from grice_research.context import BenchContext
from grice_research.figures import Figure
from grice_research.training_texts import WORDS, normalised

__all__ = ["FILE", "TRIVIAL", "is_validation", "measure", "read_voted"]

TITLE = "Breakdowns of chatbot conversations that people voted on (DBDC3, three tenths of it)"
PAPER = "Higashinaka et al., Overview of Dialogue Breakdown Detection Challenge 3, DSTC6 2017"

FILE = "dbdc3/dbdc3_dev.jsonl.gz"
SOURCE = "github.com/dbd-challenge/dbdc3 (MIT)"
TRAINING = "convai2017/convai2017.jsonl.gz"
ON = "breakdown"
WITHIN = "AUC within chatbots"


class Voted(NamedTuple):
    """The chatbot turns of the validation part, conversation by conversation."""

    talks: list[Conversation]
    majority: list[float]
    system: list[str]
    conversation: list[str]
    judged: int  # how many turns people voted on


def is_validation(conversation: str) -> bool:
    """Return whether a conversation, named by its id, is measured and must not train."""
    return zlib.crc32(conversation.encode()) % 10 < 3


def read_voted(folder: Path) -> Voted:
    """Return the turns of the validation part with what people voted."""
    voted, judged = Voted([], [], [], [], 0), 0
    records = list(marked_lines(folder, FILE, SOURCE))
    learned = {
        normalised(turn["text"])
        for row in marked_lines(folder, TRAINING, "github.com/DeepPavlov/convai (Apache 2.0)")
        for turn in row["turns"] * (not row["meta"]["amt50"])
    }
    for record in records:
        if not is_validation(record["id"]):
            continue
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in record["turns"])
        labels = [
            label
            for label in record["labels"]
            if len(turns[label["turn"]].text.split()) < WORDS
            or normalised(turns[label["turn"]].text) not in learned
        ]
        judged += len(record["labels"])
        if places := tuple(label["turn"] for label in labels):
            voted.talks.append(Conversation(record["id"], turns, targets=places))
        for label in labels:
            none, possible, breakdown = (label[vote] for vote in "OTX")
            voted.majority.append(float(breakdown > max(none, possible)))
            voted.system.append(record["system"])
            voted.conversation.append(record["id"])
    return voted._replace(judged=judged)


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield how well each metric and baseline sees breakdowns, and how far metrics are above."""
    voted = read_voted(context.folder)
    columns = turn_columns(context, voted.talks, "dbdc3")
    left_out = f"{voted.judged - len(voted.majority)} turns of ConvAI 2017, which trains, left out"
    groups = voted.conversation
    why = f"of {len(voted.majority)} turns are breakdowns; {left_out}"
    yield from area_rows(
        columns,
        voted.majority,
        ON,
        f"{int(sum(voted.majority))} {why}",
        groups=groups,
        within=(WITHIN, voted.system),
    )
    yield from lift_rows(columns, voted.majority, ON, groups)
