"""Behaviours of chatbot turns that people marked (ABC-Eval), beside trivial baselines.

A metric sees a flaw if turns with it score lower: the area under the ROC curve of a low score, 0.5
being chance. Two annotators agree at kappa 0.4 to 0.6, so that 0.8 is about what a person reaches.
The chatbots differ, so that an oracle that knows only which one speaks stands beside, and for any
of six flaws areas within each of them. Nothing is trained or chosen on these conversations.

The gain of reading turns in the order of a score is the lift: the precision among the first tenth
over the share of flawed turns. Votes of models stand beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grice.data import Conversation, Turn
from grice_research.benches._turns import (
    AREA,
    LIFTS,
    TRIVIAL,
    Columns,
    area_rows,
    lift_rows,
    marked_lines,
    turn_columns,
)
from grice_research.context import BenchContext
from grice_research.figures import Figure, figure
from grice_research.roc import review_lifts, roc_areas

__all__ = ["ANY", "BEHAVIOURS", "FILE", "SPEAKER", "TRIVIAL", "measure", "read_marked"]

TITLE = "Flaws of chatbot turns that people marked (ABC-Eval, the open half)"
PAPER = (
    "Finch, Finch and Choi, Don't Forget Your ABC's, ACL 2023; votes of models from Finch, Paek "
    "and Choi, SIGDIAL 2023"
)

FILE = "abc_eval/abc_eval_open.jsonl.gz"
SOURCE = "github.com/emorynlp/GPT-ABCEval (no licence stated)"
SIX = ("self contradiction", "partner contradiction", "commonsense contradiction", "redundant",
       "ignore", "irrelevant")  # fmt: skip
BEHAVIOURS = (*SIX, "incorrect fact", "lack of empathy")
ANY = "any of six flaws"  # one of the first six behaviours, marked by either annotator

SPEAKER = "oracle: which chatbot speaks"
RELEASED = {"released_gpt35": "GPT-3.5", "released_specialized": "trained classifiers"}
WITHIN = "AUC within chatbots"


class Marked(NamedTuple):
    """The chatbot turns, conversation by conversation."""

    talks: tuple[Conversation, ...]
    votes: dict[str, list[int]]
    system: list[str]
    group: list[str]
    released: dict[str, dict[str, list[float]]]


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield the areas of each metric and trivial baseline by behaviour."""
    marked = read_marked(context.folder)
    columns = turn_columns(context, marked.talks, "abc_eval")
    for behaviour in (*BEHAVIOURS, ANY):
        votes = _votes(marked, behaviour)
        yield from _of_behaviour(behaviour, votes, columns, marked)
        if behaviour == ANY:
            labels = [float(n > 0) for n in votes]
            yield from lift_rows(columns, labels, behaviour, marked.group)
        yield from _released(behaviour, votes, marked, columns.data)


def read_marked(folder: Path) -> Marked:
    """Return the marked turns."""
    marked = Marked(
        (), {name: [] for name in BEHAVIOURS}, [], [], {name: {} for name in RELEASED.values()}
    )
    talks = []
    for record in marked_lines(folder, FILE, SOURCE):
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in record["turns"])
        places = tuple(label["turn"] for label in record["labels"])
        talks.append(Conversation(record["id"], turns, targets=places))
        for label in record["labels"]:
            marked.system.append(record["system"])
            marked.group.append(record["group"])
            for name in BEHAVIOURS:
                marked.votes[name].append(sum(label[name]))
        for field, name in RELEASED.items():
            for behaviour, vote in (pair for votes in record[field] for pair in votes.items()):
                marked.released[name].setdefault(behaviour, []).append(float(vote))
    return marked._replace(talks=tuple(talks))


def _votes(marked: Marked, behaviour: str) -> list[int]:
    if behaviour != ANY:
        return marked.votes[behaviour]
    return [max(each) for each in zip(*(marked.votes[name] for name in SIX), strict=True)]


def _rates(marked: Marked, labels: Sequence[float]) -> list[float]:
    """Return for each turn how rarely its chatbot is marked, on these very turns."""
    system, truth = np.array(marked.system), np.array(labels)
    rates = {name: -float(truth[system == name].mean()) for name in set(marked.system)}
    return [rates[name] for name in marked.system]


def _of_behaviour(
    behaviour: str, votes: Sequence[int], columns: Columns, marked: Marked
) -> Iterator[Figure]:
    either = [float(n > 0) for n in votes]
    values = columns.values | {SPEAKER: _rates(marked, either)}
    yield from area_rows(
        columns._replace(values=values),
        either,
        behaviour,
        f"{int(sum(either))} of {len(votes)} turns are marked",
        groups=marked.group,
        within=(WITHIN, marked.system) if behaviour == ANY else None,
    )


def _released(behaviour: str, votes: Sequence[int], marked: Marked, data: str) -> Iterator[Figure]:
    """Yield the areas of votes that models were asked for, which are hard decisions.

    For any of six flaws, the number of flaws that a model voted for counts, if all were asked for.
    """
    for name, given in marked.released.items():
        votes_given = given.get(behaviour, [])
        if behaviour == ANY and all(flaw in given for flaw in SIX):
            votes_given = list(map(sum, zip(*(given[flaw] for flaw in SIX), strict=True)))
        if len(votes_given) != len(votes):
            continue
        labels = [float(n > 0) for n in votes]
        rate = sum(labels) / len(labels)
        signature = f"released votes|on:{data}"
        printed = partial(figure, kind="printed", on=behaviour, signature=signature)
        area = roc_areas({name: votes_given}, labels, groups=marked.group).areas[name]
        yield printed(name, AREA, area, why="of released votes")
        for share, measure in LIFTS.items() if behaviour == ANY else ():
            read = review_lifts({name: votes_given}, labels, groups=marked.group, share=share)
            why = f"precision {read.lifts[name].value * rate:.3f}, of released votes"
            yield printed(name, measure, read.lifts[name], why=why)
