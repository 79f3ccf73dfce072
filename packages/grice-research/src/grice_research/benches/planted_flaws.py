"""Planted flaws in logs of support, sales, booking, tutoring, health and small talk.

The 46 logs were written for this project, and their flaws keyed before any metric was run on them.
After most flaws the user objects and the assistant corrects itself: a correct repair is no flaw.
The orders of review of the presets, certain flaws first as in a review, are compared with trivial
orders. An order is good if the replies that it puts first are flawed.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.detectors import certain_flaws
from grice.evaluation.review_stack import STACKS, open_stack
from grice.records import Conversation, Turn
from grice_research.benches._turns import (
    metrics_at_hand,
    own_turn_cosines,
    review_values,
    turn_scores,
    turn_values,
)
from grice_research.context import metric_and_preset
from grice_research.review import lift_at_random, review_lifts
from grice_research.roc import roc_areas
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_research.context import BenchContext
    from grice_research.rows import Kind

TITLE = "Planted flaws in 46 logs, keyed before the first run"
PAPER = "Our own: logs of six kinds, with one flaw in most of them"

FILE = "planted_flaws.jsonl"
BASELINES = ("cosine_last_turn", "log_length")
OWN_TURNS, POSITION = "cosine_own_turns", "position"
TRIVIAL = (*BASELINES, OWN_TURNS, POSITION)
ANY = "any flaw"
AREA = "AUC"
SHARES = (0.1, 0.2)
RANDOM = "random order"


class KeyedTurn(msgspec.Struct, frozen=True):
    """A turn of a log.

    Attributes:
        role: ``user`` or ``assistant``.
        text: The text.
        flaw: The kind of flaw; empty if there is none.
    """

    role: str
    text: str
    flaw: str = ""


class KeyedLog(msgspec.Struct, frozen=True):
    """A log with the key of its flaws."""

    id: str
    turns: tuple[KeyedTurn, ...]


class Keyed(NamedTuple):
    """The logs, and what is keyed of each reply.

    Attributes:
        talks: The conversations; the assistant's turns are their targets.
        flaws: Kind of flaw of each reply; empty if it has none.
        conversation: Id of the conversation of each reply; whole conversations are drawn.
    """

    talks: tuple[Conversation, ...]
    flaws: list[str]
    conversation: list[str]


def read_logs(file: str = FILE) -> Keyed:
    """Return logs with the key of their flaws, by the name of a file of the package."""
    content = (resources.files("grice_research") / "data" / file).read_bytes()
    decoder = msgspec.json.Decoder(KeyedLog)
    keyed = Keyed((), [], [])
    talks = []
    for log in map(decoder.decode, content.splitlines()):
        turns = tuple(Turn(turn.role, turn.text, role=turn.role) for turn in log.turns)
        places = tuple(i for i, turn in enumerate(log.turns) if turn.role == "assistant")
        talks.append(Conversation(log.id, turns, targets=places))
        keyed.flaws.extend(log.turns[place].flaw for place in places)
        keyed.conversation.extend(log.id for _ in places)
    return keyed._replace(talks=tuple(talks))


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield how well each order of review and trivial order finds the planted flaws."""
    keyed = read_logs()
    wanted = {metric for stack in STACKS for metric in open_stack(stack).metrics}
    metrics = [name for name in metrics_at_hand(context) if metric_and_preset(name)[0] in wanted]
    scored = turn_scores(context, (*metrics, *BASELINES), keyed.talks)
    columns = {name: list(turn_values(name, scored[name], keyed.talks)) for name in BASELINES}
    columns[OWN_TURNS] = [-cosine for cosine in own_turn_cosines(context, keyed.talks)]
    columns[POSITION] = [-float(turn) for talk in keyed.talks for turn in talk.targets or ()]
    signatures = {name: f"{context.grader(name)[1][name]}|on:planted_flaws" for name in BASELINES}
    orders: list[str] = []
    certain = list(_certain(keyed.talks))
    for name, identity, values in review_values(scored, keyed.talks):
        orders.append(name)
        columns[name] = [min(pair) for pair in zip(values, certain, strict=True)]
        signatures[name] = f"{identity}|on:planted_flaws"
    for row in _rows(columns, orders, keyed):
        yield msgspec.structs.replace(row, signature=signatures.get(row.row, ""))


def _certain(talks: Sequence[Conversation]) -> Iterator[float]:
    """Yield -1 for each reply with a certain flaw, which a review lists first, otherwise 1."""
    for talk in talks:
        flawed = {finding.turn for finding in certain_flaws(talk)}
        yield from (-1.0 if turn in flawed else 1.0 for turn in talk.targets or ())


def _rows(columns: dict[str, list[float]], orders: list[str], keyed: Keyed) -> Iterator[Row]:
    """Yield areas and lifts of all orders, and of those of review less the trivial ones."""
    labels = [float(bool(flaw)) for flaw in keyed.flaws]
    rate = sum(labels) / len(labels)
    low = {name: [-value for value in values] for name, values in columns.items()}
    pairs = [(name, other) for name in orders for other in TRIVIAL]
    areas = roc_areas(low, labels, groups=keyed.conversation, pairs=pairs)
    why = f"{int(sum(labels))} of {len(labels)} replies are flawed"
    for name, area in areas.areas.items():
        yield Row(row=name, measure=AREA, estimate=area, kind=_kind(name), on=ANY, why=why)
    for (name, other), gap in areas.differences.items():
        row = f"{name} less {other}"
        yield Row(row=row, measure=f"{DIFFERENCE}{AREA}", estimate=gap, kind="ours", on=ANY)
    for share in SHARES:
        read = review_lifts(low, labels, groups=keyed.conversation, pairs=pairs, share=share)
        measure_name = f"lift of the first {share:.0%}".replace("%", " %")
        for name, lift in read.lifts.items():
            why = f"precision {lift.value * rate:.3f}"
            yield Row(
                row=name, measure=measure_name, estimate=lift, kind=_kind(name), on=ANY, why=why
            )
        why = f"precision {rate:.3f}; 95 % of random orders lie within"
        random = lift_at_random(labels, share)
        yield Row(
            row=RANDOM, measure=measure_name, estimate=random, kind="baseline", on=ANY, why=why
        )
        for (name, other), gap in read.differences.items():
            row = f"{name} less {other}"
            yield Row(
                row=row, measure=f"{DIFFERENCE}{measure_name}", estimate=gap, kind="ours", on=ANY
            )


def _kind(name: str) -> Kind:
    return "baseline" if name in TRIVIAL else "ours"
