"""Breakdowns of chatbot conversations that thirty people voted on (DBDC3), beside baselines.

Each chatbot turn has thirty votes: no breakdown, a possible one, a breakdown. A metric sees
breakdowns if turns that most people call one score lower (the area under the ROC curve), and if its
order of the turns of a chatbot is that of the mean vote (Spearman within chatbots). Conversations
are drawn whole. The orders of review stand beside the metrics: what they gain for whoever reads
the first tenth of the turns is the lift, the precision there over the share of breakdowns.

The set may train shipped weights, and some have seen it. Three of ten conversations, chosen by the
checksum of their id, are for validation, and only these are measured here; the others may train.
"""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError
from grice.records import Conversation, Turn
from grice.stats import correlation
from grice_research.benches._turns import (
    metric_named,
    metrics_at_hand,
    own_turn_cosines,
    review_values,
    turn_scores,
    turn_values,
)
from grice_research.review import review_lifts
from grice_research.roc import roc_areas
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.rows import Kind

TITLE = "Breakdowns of chatbot conversations that people voted on (DBDC3, three tenths of it)"
PAPER = "Higashinaka et al., Overview of Dialogue Breakdown Detection Challenge 3, DSTC6 2017"

FILE = "dbdc3/dbdc3_dev.jsonl.gz"
SOURCE = "github.com/dbd-challenge/dbdc3 (MIT)"
BASELINES = ("cosine_last_turn", "log_length")
OWN_TURNS, POSITION = "cosine_own_turns", "position"
TRIVIAL = (*BASELINES, OWN_TURNS, POSITION)
ON = "breakdown"
AREA, WITHIN, RANKS = "AUC", "AUC within chatbots", "spearman within chatbots"
LIFT = "lift of the first 10 %"


class Voted(NamedTuple):
    """The chatbot turns of the validation part, conversation by conversation.

    Attributes:
        talks: The conversations; the turns that were voted on are their targets.
        majority: 1 for each turn that more people call a breakdown than anything else.
        mean: The mean vote of each turn: 0 no breakdown, 0.5 a possible one, 1 a breakdown.
        system: Which chatbot says it.
        conversation: Whole conversations are drawn.
    """

    talks: list[Conversation]
    majority: list[float]
    mean: list[float]
    system: list[str]
    conversation: list[str]


def is_validation(conversation: str) -> bool:
    """Return whether a conversation, named by its id, is measured and must not train."""
    return zlib.crc32(conversation.encode()) % 10 < 3


def read_voted(folder: Path) -> Voted:
    """Return the turns of the validation part with what people voted."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{FILE} is not in the data folder; it is from {SOURCE}")
    voted = Voted([], [], [], [], [])
    for line in gzip.decompress(path.read_bytes()).splitlines():
        record = msgspec.json.decode(line)
        if not is_validation(record["id"]):
            continue
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in record["turns"])
        places = tuple(label["turn"] for label in record["labels"])
        voted.talks.append(Conversation(record["id"], turns, targets=places))
        for label in record["labels"]:
            none, possible, breakdown = (label[vote] for vote in "OTX")
            voted.majority.append(float(breakdown > max(none, possible)))
            voted.mean.append((breakdown + possible / 2) / (none + possible + breakdown))
            voted.system.append(record["system"])
            voted.conversation.append(record["id"])
    return voted


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield how well each metric and baseline sees breakdowns, and how far metrics are above."""
    voted = read_voted(context.folder)
    ours = {name: metric_named(name) for name in metrics_at_hand(context)}
    scored = turn_scores(context, (*ours, *BASELINES), voted.talks)
    columns = {
        name: list(turn_values(name, scores, voted.talks)) for name, scores in scored.items()
    }
    columns[OWN_TURNS] = [-cosine for cosine in own_turn_cosines(context, voted.talks)]
    columns[POSITION] = [-float(turn) for talk in voted.talks for turn in talk.targets or ()]
    signatures = {name: f"{context.grader(name)[1][name]}|on:dbdc3" for name in scored}
    trained = {name: context.trained_share(name, "dbdc3") for name in ours}
    for name, identity, values in review_values(scored, voted.talks):
        columns[name], ours[name] = values, ""
        signatures[name] = f"{identity}|on:dbdc3"
    measured = (*_areas(columns, ours, voted), *_ranks(columns, ours, voted))
    for row in (*measured, *_lifts(columns, ours, voted)):
        name = row.metric or row.row
        yield msgspec.structs.replace(
            row, signature=signatures.get(name, ""), trained=trained.get(name, 0.0)
        )


def _areas(
    columns: Mapping[str, Sequence[float]], ours: Mapping[str, str], voted: Voted
) -> Iterator[Row]:
    """Yield the areas of low scores, over all and within chatbots, and their differences."""
    low = {name: [-value for value in values] for name, values in columns.items()}
    pairs = [(name, other) for name in ours for other in TRIVIAL]
    over_all = roc_areas(low, voted.majority, groups=voted.conversation, pairs=pairs)
    within = roc_areas(low, voted.majority, groups=voted.conversation, strata=voted.system)
    why = f"{int(sum(voted.majority))} of {len(voted.majority)} turns are breakdowns"
    for measure_name, areas in ((AREA, over_all.areas), (WITHIN, within.areas)):
        for name, area in areas.items():
            yield _row(name, measure_name, area, ours, why)
    for (name, trivial), gap in over_all.differences.items():
        yield Row(
            row=f"{name} less {trivial}",
            measure=f"{DIFFERENCE}{AREA}",
            estimate=gap,
            kind="ours",
            on=ON,
            metric=ours[name],
            baseline=trivial if ours[name] else "",
        )


def _lifts(
    columns: Mapping[str, Sequence[float]], ours: Mapping[str, str], voted: Voted
) -> Iterator[Row]:
    """Yield what reading in the order of each score gains, and how much more by each of ours."""
    low = {name: [-value for value in values] for name, values in columns.items()}
    pairs = [(name, other) for name in ours for other in TRIVIAL]
    read = review_lifts(low, voted.majority, groups=voted.conversation, pairs=pairs)
    rate = sum(voted.majority) / len(voted.majority)
    for name, lift in read.lifts.items():
        yield _row(name, LIFT, lift, ours, f"precision {lift.value * rate:.3f}")
    for (name, trivial), gap in read.differences.items():
        row = f"{name} less {trivial}"
        yield Row(row=row, measure=f"{DIFFERENCE}{LIFT}", estimate=gap, kind="ours", on=ON)


def _ranks(
    columns: Mapping[str, Sequence[float]], ours: Mapping[str, str], voted: Voted
) -> Iterator[Row]:
    """Yield the rank correlation with how few breakdowns people see, within chatbots."""
    fine = _ranks_within([1 - vote for vote in voted.mean], voted.system)
    for name, values in columns.items():
        ranks = _ranks_within(values, voted.system)
        estimate = correlation(ranks, fine, kind="pearson", groups=voted.conversation)
        yield _row(name, RANKS, estimate, ours, "of ranks that are centred by chatbot")


def _ranks_within(values: Sequence[float], systems: Sequence[str]) -> list[float]:
    """Return the rank of each value among those of its chatbot, -0.5 to 0.5, ties shared."""
    column, codes = np.asarray(values), np.asarray(systems)
    ranks = np.empty(len(column))
    for system in np.unique(codes):
        part = codes == system
        _, place, count = np.unique(column[part], return_inverse=True, return_counts=True)
        middles = np.cumsum(count) - (count + 1) / 2
        ranks[part] = middles[place] / max(1, part.sum() - 1) - 0.5
    return [float(rank) for rank in ranks]


def _row(name: str, measure: str, estimate: Estimate, ours: Mapping[str, str], why: str) -> Row:
    """Return the row of one of ours, or of a trivial baseline."""
    kind: Kind = "ours" if name in ours else "baseline"
    metric = ours.get(name, "")
    return Row(
        row=name, measure=measure, estimate=estimate, kind=kind, on=ON, why=why, metric=metric
    )
