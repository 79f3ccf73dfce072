"""Behaviours of chatbot turns that people marked (ABC-Eval), beside trivial baselines.

A metric sees a flaw if turns with it score lower: the area under the ROC curve of a low score, 0.5
being chance. Two annotators agree at kappa 0.4 to 0.6, so that 0.8 is about what a person reaches.
The chatbots differ, so that areas within each of them stand beside those of all, and an oracle that
knows only which one speaks. Nothing is trained or chosen on these conversations.

Decisions fall at the median that a score has on the other half of the persons: their balanced
accuracy stands beside that of the votes of models. What it helps to read turns in the order of a
score is the lift: the precision among the first tenth over the share of flawed turns.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError
from grice.metrics.registry import find_metrics
from grice.records import Conversation, Turn
from grice_research.accuracy import balanced_accuracy
from grice_research.benches._turns import (
    metric_named,
    metrics_at_hand,
    own_turn_cosines,
    review_values,
    turn_scores,
    turn_values,
)
from grice_research.review import above_median_elsewhere, lift_at_random, review_lifts
from grice_research.roc import roc_areas
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.rows import Kind

TITLE = "Flaws of chatbot turns that people marked (ABC-Eval, the open half)"
PAPER = (
    "Finch, Finch and Choi, Don't Forget Your ABC's, ACL 2023; votes of models from Finch, Paek "
    "and Choi, SIGDIAL 2023"
)

FILE = "abc_eval/abc_eval_open.jsonl.gz"
SOURCE = "github.com/emorynlp/GPT-ABCEval (no licence stated)"
SIX = (
    "self contradiction",
    "partner contradiction",
    "commonsense contradiction",
    "redundant",
    "ignore",
    "irrelevant",
)
BEHAVIOURS = (*SIX, "incorrect fact", "lack of empathy")
ANY = "any of six flaws"
"""One of the first six behaviours, marked by either annotator."""

BASELINES = ("cosine_last_turn", "log_length")
"""Metrics that are trivial baselines; the others are computed here."""
OWN_TURNS, POSITION = "cosine_own_turns", "position"
TRIVIAL = (*BASELINES, OWN_TURNS, POSITION)
SPEAKER = "oracle: which chatbot speaks"
RELEASED = {"released_gpt35": "GPT-3.5", "released_specialized": "trained classifiers"}
NAMED = "the turns that its evidence names"
"""How a metric of whole conversations is compared."""
EITHER, BOTH, WITHIN = "AUC", "AUC, both annotators", "AUC within chatbots"
BALANCED, LIFT = "balanced accuracy", "lift of the first 10 %"
RANDOM = "random order"


class Marked(NamedTuple):
    """The chatbot turns, conversation by conversation.

    Attributes:
        talks: The conversations; the chatbot's turns are their targets.
        votes: How many of two annotators marked each turn, by behaviour.
        system: Which chatbot says each turn.
        group: The person who talked, by turn: whole persons are drawn.
        released: Votes of models by their name and behaviour; not all behaviours were asked of all.
    """

    talks: tuple[Conversation, ...]
    votes: dict[str, list[int]]
    system: list[str]
    group: list[str]
    released: dict[str, dict[str, list[float]]]


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield the areas of each metric and trivial baseline by behaviour, and their differences."""
    marked = read_marked(context.folder)
    ours = {name: metric_named(name) for name in metrics_at_hand(context)}
    scored = turn_scores(context, (*ours, *BASELINES), marked.talks)
    columns = {
        name: list(turn_values(name, scores, marked.talks)) for name, scores in scored.items()
    }
    columns |= _computed(context, marked)
    signatures = {name: f"{context.grader(name)[1][name]}|on:abc_eval" for name in scored}
    trained = {name: context.trained_share(name, "abc_eval") for name in ours}
    for name, identity, values in review_values(scored, marked.talks):
        columns[name], ours[name] = values, ""
        signatures[name] = f"{identity}|on:abc_eval"
    for behaviour in (*BEHAVIOURS, ANY):
        votes = _votes(marked, behaviour)
        oracle = {SPEAKER: _rates(marked, [float(n > 0) for n in votes])}
        rows = [
            *_of_behaviour(behaviour, votes, columns | oracle, ours, marked),
            *_decided(behaviour, votes, columns, ours, marked),
        ]
        if behaviour == ANY:
            rows += _lifts(behaviour, votes, columns, ours, marked)
        for row in rows:
            name = row.metric or row.row
            yield msgspec.structs.replace(
                row, signature=signatures.get(name, ""), trained=trained.get(name, 0.0)
            )
        yield from _released(behaviour, votes, marked)


def read_marked(folder: Path) -> Marked:
    """Return the marked turns."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{FILE} is not in the data folder; it is from {SOURCE}")
    marked = Marked(
        (), {name: [] for name in BEHAVIOURS}, [], [], {name: {} for name in RELEASED.values()}
    )
    talks = []
    for line in gzip.decompress(path.read_bytes()).splitlines():
        record = msgspec.json.decode(line)
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


def _computed(context: BenchContext, marked: Marked) -> dict[str, list[float]]:
    """Return the place of each turn and its largest cosine with own earlier turns, negated.

    Later turns and such as repeat are taken to be worse.
    """
    position = [-float(place) for talk in marked.talks for place in talk.targets or ()]
    own = [-cosine for cosine in own_turn_cosines(context, marked.talks)]
    return {OWN_TURNS: own, POSITION: position}


def _rates(marked: Marked, labels: Sequence[float]) -> list[float]:
    """Return for each turn how rarely its chatbot is marked, on these very turns."""
    system, truth = np.array(marked.system), np.array(labels)
    rates = {name: -float(truth[system == name].mean()) for name in set(marked.system)}
    return [rates[name] for name in marked.system]


def _of_behaviour(
    behaviour: str,
    votes: Sequence[int],
    columns: Mapping[str, Sequence[float]],
    ours: Mapping[str, str],
    marked: Marked,
) -> Iterator[Row]:
    """Yield the areas of all columns, and those of each metric less each trivial baseline."""
    known = find_metrics().metrics
    whole = [name for name in ours.values() if name and known[name].judges == "conversation"]
    low = {name: [-value for value in values] for name, values in columns.items()}
    either, both = ([float(n >= least) for n in votes] for least in (1, 2))
    pairs = [(name, other) for name in ours for other in TRIVIAL]
    compared = roc_areas(low, either, groups=marked.group, pairs=pairs)
    within = roc_areas(low, either, groups=marked.group, strata=marked.system)
    by_measure = {EITHER: compared.areas, WITHIN: within.areas}
    if behaviour != ANY and any(both):
        by_measure[BOTH] = roc_areas(low, both, groups=marked.group).areas
    why = f"{int(sum(either))} of {len(votes)} turns are marked"
    for measure, areas in by_measure.items():
        for name, area in areas.items():
            yield _row(name, measure, area, behaviour, ours, why)
    for (name, trivial), gap in compared.differences.items():
        yield Row(
            row=f"{name} less {trivial}",
            measure=f"{DIFFERENCE}{EITHER}",
            estimate=gap,
            kind="ours",
            on=behaviour,
            metric=ours[name],
            baseline=trivial if ours[name] else "",
            why=NAMED if name in whole else "",
        )


def _row(
    name: str, measure: str, estimate: Estimate, on: str, ours: Mapping[str, str], why: str
) -> Row:
    """Return the row of one of ours, or of a trivial baseline."""
    kind: Kind = "ours" if name in ours else "baseline"
    metric = ours.get(name, "")
    return Row(
        row=name, measure=measure, estimate=estimate, kind=kind, on=on, why=why, metric=metric
    )


def _decided(
    behaviour: str,
    votes: Sequence[int],
    columns: Mapping[str, Sequence[float]],
    ours: Mapping[str, str],
    marked: Marked,
) -> Iterator[Row]:
    """Yield the balanced accuracy of calling flawed what scores lower than the median elsewhere."""
    labels = [float(n > 0) for n in votes]
    for name, values in columns.items():
        flagged = above_median_elsewhere([-value for value in values], marked.group)
        accuracy = balanced_accuracy(flagged, labels, groups=marked.group)
        why = f"below the median on the other half of the persons: {sum(flagged):.0f} turns"
        yield _row(name, BALANCED, accuracy, behaviour, ours, why)


def _lifts(
    behaviour: str,
    votes: Sequence[int],
    columns: Mapping[str, Sequence[float]],
    ours: Mapping[str, str],
    marked: Marked,
) -> Iterator[Row]:
    """Yield what reading in the order of each score gains, and how much more by each metric."""
    labels = [float(n > 0) for n in votes]
    rate = sum(labels) / len(labels)
    low = {name: [-value for value in values] for name, values in columns.items()}
    pairs = [(name, other) for name in ours for other in TRIVIAL]
    read = review_lifts(low, labels, groups=marked.group, pairs=pairs)
    for name, lift in read.lifts.items():
        yield _row(name, LIFT, lift, behaviour, ours, f"precision {lift.value * rate:.3f}")
    why = f"precision {rate:.3f}; 95 % of random orders lie within"
    yield _row(RANDOM, LIFT, lift_at_random(labels), behaviour, ours, why)
    for (name, trivial), gap in read.differences.items():
        yield Row(
            row=f"{name} less {trivial}",
            measure=f"{DIFFERENCE}{LIFT}",
            estimate=gap,
            kind="ours",
            on=behaviour,
            metric=ours[name],
        )


def _released(behaviour: str, votes: Sequence[int], marked: Marked) -> Iterator[Row]:
    """Yield the areas of votes that models were asked for, which are hard decisions.

    For any of six flaws, the number of flaws that a model voted for counts, if all were asked for.
    """
    for name, given in marked.released.items():
        votes_given = given.get(behaviour, [])
        if behaviour == ANY and all(flaw in given for flaw in SIX):
            votes_given = [
                float(sum(each)) for each in zip(*(given[flaw] for flaw in SIX), strict=True)
            ]
        if len(votes_given) == len(votes):
            labels = [float(n > 0) for n in votes]
            areas = roc_areas({name: votes_given}, labels, groups=marked.group)
            decided = balanced_accuracy(votes_given, labels, groups=marked.group)
            measured = {EITHER: areas.areas[name], BALANCED: decided}
            if behaviour == ANY:
                lift = review_lifts({name: votes_given}, labels, groups=marked.group).lifts[name]
                measured |= {LIFT: lift}
            rate = sum(labels) / len(labels)
            for measure, value in measured.items():
                precision = f"precision {value.value * rate:.3f}, " if measure == LIFT else ""
                yield Row(
                    row=name,
                    measure=measure,
                    estimate=value,
                    kind="printed",
                    on=behaviour,
                    why=f"{precision}of released votes",
                    signature="released votes|on:abc_eval",
                )
