"""Planted flaws in logs of support, sales, booking, tutoring, health and small talk.

The 46 logs were written for this project, and their flaws keyed before any metric was run on them.
After most flaws the user objects and the assistant corrects itself: a correct repair is no flaw.
The order by the quality of the presets, findings of rules first as in ``grice check --rank``, is
compared with trivial orders. An order is good if the replies that it puts first are flawed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from typing import NamedTuple

import msgspec

from grice.data import Conversation, Turn
from grice.detectors import ALL, find_flaws
from grice.detectors.rules import selected
from grice_research.benches._turns import (
    BASELINES,
    Columns,
    area_rows,
    digest_of,
    lift_rows,
    metrics_at_hand,
    trivial_orders,
    turn_scores,
    turn_values,
)
from grice_research.context import BenchContext, metric_and_preset
from grice_research.figures import Figure

TITLE = "Planted flaws in 46 logs, keyed before the first run"
PAPER = "Our own: logs of six kinds, with one flaw in most of them"

FILE = "planted_flaws.jsonl"
ANY = "any flaw"


class KeyedTurn(msgspec.Struct, frozen=True):
    """A turn of a log."""

    role: str
    text: str
    flaw: str = ""


class KeyedLog(msgspec.Struct, frozen=True):
    """A log with the key of its flaws."""

    id: str
    turns: tuple[KeyedTurn, ...]


class Keyed(NamedTuple):
    """The logs, and what is keyed of each reply."""

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


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield how well each order and trivial order finds the planted flaws."""
    keyed = read_logs()
    ours = [name for name in metrics_at_hand(context) if metric_and_preset(name)[0] == "quality"]
    scored = turn_scores(context, (*ours, *BASELINES), keyed.talks)
    values = {name: list(turn_values(name, given, keyed.talks)) for name, given in scored.items()}
    data = digest_of("planted_flaws", keyed.talks)
    signatures = {name: f"{context.grader(name)[1][name]}|on:{data}" for name in scored}
    for name in ours:
        values[name] = list(map(min, values[name], _found(keyed.talks)))
    values |= trivial_orders(context, keyed.talks)
    columns = Columns(values, dict.fromkeys(ours, ""), signatures, {}, data)
    labels = [float(bool(flaw)) for flaw in keyed.flaws]
    why = f"{int(sum(labels))} of {len(labels)} replies are flawed"
    yield from area_rows(columns, labels, ANY, why, groups=keyed.conversation)
    yield from lift_rows(columns, labels, ANY, keyed.conversation)


def _found(talks: Sequence[Conversation]) -> Iterator[float]:
    """Yield -1 for each reply with a finding, otherwise 1."""
    for talk in talks:
        flawed = {each.turn for each in find_flaws(talk, selected(ALL), talk.targets or ())}
        yield from (-1.0 if turn in flawed else 1.0 for turn in talk.targets or ())
