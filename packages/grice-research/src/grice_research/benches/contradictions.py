"""Replies of chatbots that contradict what the chatbot said before, as people marked them.

RGM has replies of three chatbots, half of them contradictions by two of three people; a metric is
shown the conversation, and not which earlier turn was compared. DECODE has conversations of people
with chatbots of which the last turn contradicts an earlier one or not; long conversations are more
often contradictory there, so that areas within bands of length stand beside. A metric sees
contradictions if these replies score lower (the area under the ROC curve). Nothing is trained or
chosen on either set.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from grice.errors import InputError
from grice.records import Conversation, Turn
from grice_research.benches._turns import (
    metric_named,
    metrics_at_hand,
    own_turn_cosines,
    turn_scores,
    turn_values,
)
from grice_research.roc import roc_areas
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from grice_research.context import BenchContext
    from grice_research.rows import Kind

TITLE = "Replies that contradict what their speaker said before (RGM; DECODE, the open half)"
PAPER = (
    "Sato et al., A Large Collection of Model-generated Contradictory Responses, Findings of ACL "
    "2024; Nie et al., I like fish, especially dolphins, ACL 2021"
)
BASELINES = ("cosine_last_turn", "log_length")
OWN_TURNS, POSITION = "cosine_own_turns", "position"
TRIVIAL = (*BASELINES, OWN_TURNS, POSITION)
AREA, WITHIN = "AUC", "AUC within lengths"
BANDS = (6, 8, 10, 12)
"""Turns of a conversation at which another band of length begins."""


class Marked(NamedTuple):
    """Conversations whose last turn is judged.

    Attributes:
        talks: The last turn is their target.
        labels: 1 for each whose last turn contradicts an earlier one.
    """

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
    path = folder / file
    if not path.is_file():
        raise InputError(f"{file} is not in the data folder")
    rows = [
        read(msgspec.json.decode(line)) for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    return Marked([talk for talk, _ in rows], [label for _, label in rows])


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield how well each metric and baseline sees contradictions."""
    for name in SETS:
        yield from _measured(context, name, read_marked(context.folder, name))


def _measured(context: BenchContext, name: str, marked: Marked) -> Iterator[Row]:
    declared = {column: metric_named(column) for column in metrics_at_hand(context)}
    scored = turn_scores(context, (*declared, *BASELINES), marked.talks)
    columns = {
        column: [-value for value in turn_values(column, scores, marked.talks)]
        for column, scores in scored.items()
    }
    columns[OWN_TURNS] = list(own_turn_cosines(context, marked.talks))
    columns[POSITION] = [float(len(talk.turns)) for talk in marked.talks]
    signatures = {
        column: f"{context.grader(column)[1][column]}|on:{name.lower()}" for column in scored
    }
    trained = {column: context.trained_share(column, name) for column in declared}
    bands = [str(sum(len(talk.turns) >= band for band in BANDS)) for talk in marked.talks]
    pairs = [(column, trivial) for column in declared for trivial in TRIVIAL]
    over_all = roc_areas(columns, marked.labels, pairs=pairs)
    within = roc_areas(columns, marked.labels, strata=bands)
    why = f"{int(sum(marked.labels))} of {len(marked.labels)} replies contradict"
    for measured, areas in ((AREA, over_all.areas), (WITHIN, within.areas)):
        for column, area in areas.items():
            kind: Kind = "ours" if column in declared else "baseline"
            yield Row(
                row=column,
                measure=measured,
                estimate=area,
                kind=kind,
                on=name,
                why=why,
                metric=declared.get(column, ""),
                signature=signatures.get(column, ""),
                trained=trained.get(column, 0.0),
            )
    for (column, trivial), gap in over_all.differences.items():
        yield Row(
            row=f"{column} less {trivial}",
            measure=f"{DIFFERENCE}{AREA}",
            estimate=gap,
            kind="ours",
            on=name,
            metric=declared[column],
            baseline=trivial if declared[column] else "",
        )
