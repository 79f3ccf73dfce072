"""Replies of chatbots that contradict what the chatbot said before, as people marked them.

RGM has replies of three chatbots, half of them contradictions by two of three people; a metric is
shown the conversation, and not which earlier turn was compared. DECODE has conversations of people
with chatbots of which the last turn contradicts an earlier one or not; long conversations are more
often contradictory there, so that areas within bands of length stand beside. A metric sees
contradictions if these replies score lower (the area under the ROC curve). Nothing is trained or
chosen on either set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from grice.data import Conversation, Turn
from grice_research.benches._turns import POSITION, area_rows, marked_lines, turn_columns
from grice_research.context import BenchContext
from grice_research.figures import Figure

TITLE = "Replies that contradict what their speaker said before (RGM; DECODE, the open half)"
PAPER = (
    "Sato et al., A Large Collection of Model-generated Contradictory Responses, Findings of ACL "
    "2024; Nie et al., I like fish, especially dolphins, ACL 2021"
)
WITHIN = "AUC within lengths"
BANDS = (6, 8, 10, 12)  # turns of a conversation at which another band of length begins


class Marked(NamedTuple):
    """Conversations whose last turn is judged."""

    talks: list[Conversation]
    labels: list[float]


def _rgm(row: dict[str, Any]) -> tuple[Conversation, float]:
    turns = [Turn(turn["speaker"], turn["text"]) for turn in row["context"]]
    speaker = turns[row["target"]].speaker
    return _judged(row["id"], [*turns, Turn(speaker, row["response"])]), float(row["votes"] >= 2)


def _decode(row: dict[str, Any]) -> tuple[Conversation, float]:
    turns = [Turn(turn["speaker"], turn["text"]) for turn in row["turns"]]
    return _judged(row["id"], turns), float(row["contradiction"])


def _judged(name: str, turns: list[Turn]) -> Conversation:
    return Conversation(name, tuple(turns), targets=(len(turns) - 1,))


SETS: dict[str, tuple[str, Callable[[dict[str, Any]], tuple[Conversation, float]]]] = {
    "RGM": ("rgm_contradiction/rgm_contradiction.jsonl.gz", _rgm),
    "DECODE": ("decode_human_bot/decode_human_bot_open.jsonl.gz", _decode),
}
"""The file of each set below the folder of data, and what reads a line."""


def read_marked(folder: Path, name: str) -> Marked:
    """Return the conversations of a set."""
    file, read = SETS[name]
    rows = [read(line) for line in marked_lines(folder, file)]
    return Marked([talk for talk, _ in rows], [label for _, label in rows])


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield how well each metric and baseline sees contradictions."""
    for name in SETS:
        yield from _measured(context, name, read_marked(context.folder, name))


def _measured(context: BenchContext, name: str, marked: Marked) -> Iterator[Figure]:
    columns = turn_columns(context, marked.talks, name.lower(), seen_as=name)
    columns.values[POSITION] = [-float(len(talk.turns)) for talk in marked.talks]
    bands = [str(sum(len(talk.turns) >= band for band in BANDS)) for talk in marked.talks]
    why = f"{int(sum(marked.labels))} of {len(marked.labels)} replies contradict"
    yield from area_rows(columns, marked.labels, name, why, within=(WITHIN, bands))
