"""Write ``docs/support-bot.md``: the ranks of planted flaws in a support bot's log.

    GRICE_MODELS=FOLDER python docs/support_bot.py

The log and the key of its planted flaws are in ``examples/``. The presets ``medium`` and ``large``
have to be there (``grice models get medium large``).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import console

from grice.data import Conversation
from grice.evaluation.ranking import RankedReply, Ranker, load_parts
from grice.readers import read

PRESETS = ("small", "medium", "large")
HERE = Path(__file__).parent
PAGE = HERE / "support-bot.md"
LOG = HERE.parent / "examples" / "support-bot.jsonl"
KEY = HERE.parent / "examples" / "support-bot-flaws.csv"

HEAD = """# A support bot's log with planted flaws

`grice demo` reads this log, `examples/support-bot.jsonl`: messages with roles, a system prompt, tool calls
and their results. It was written for grice. {flaws} of its {replies} replies have a planted flaw
(`examples/support-bot-flaws.csv`); the others were written without one. A log of {talks} conversations
is an illustration, not a measurement; [quality](quality.md) has figures. `python docs/support_bot.py`
writes this page.

```console
$ grice check examples/support-bot.jsonl --rank --limit 5
```

## Ranks of the planted flaws

The place of each flaw in the order of `grice check --rank --models PRESET`. Bold: among the first
{flaws}, where a perfect order has them all.

"""


class Flaw(NamedTuple):
    """A planted flaw."""

    conversation: str
    turn: int
    kind: str
    note: str


def planted() -> list[Flaw]:
    """Return the key of the log."""
    with KEY.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return [Flaw(r["conversation"], int(r["turn"]), r["flaw"], r["note"]) for r in rows]


def order(preset: str) -> tuple[RankedReply, ...]:
    """Return all replies of the log in the order of reading by a preset."""
    ranker = Ranker(10_000)
    with load_parts(preset) as grader:
        for talk in read(str(LOG)):
            if isinstance(talk, Conversation):
                ranker.add(talk, grader.score(talk))
    return ranker.ranking().items


def page() -> str:
    """Return the page without what its command prints."""
    flaws, orders = planted(), {preset: order(preset) for preset in PRESETS}
    replies = orders[PRESETS[0]]
    talks = len({item.conversation for item in replies})
    head = HEAD.format(flaws=len(flaws), replies=len(replies), talks=talks)
    return "".join([head, *table(flaws, orders), *alarms(flaws, orders)])


def table(flaws: Sequence[Flaw], orders: Mapping[str, tuple[RankedReply, ...]]) -> Iterator[str]:
    """Yield a row for each flaw, and one of how many are found."""
    yield f"| planted | where | {' | '.join(f'`{name}`' for name in orders)} |\n"
    yield f"|---|---|{'---:|' * len(orders)}\n"
    ranks = [{(i.conversation, i.turn): i.rank for i in items} for items in orders.values()]
    for flaw in flaws:
        found = [rank[flaw[:2]] for rank in ranks]
        cells = [f"**{rank}**" if rank <= len(flaws) else str(rank) for rank in found]
        place = f"{flaw.conversation} {flaw.turn}"
        yield f"| {flaw.kind}: {flaw.note} | {place} | {' | '.join(cells)} |\n"
    for first in (len(flaws), 20):
        counts = [sum(rank[flaw[:2]] <= first for flaw in flaws) for rank in ranks]
        cells = [f"{count} of {len(flaws)}" for count in counts]
        yield f"| **among the first {first}** | | {' | '.join(cells)} |\n"


def alarms(flaws: Sequence[Flaw], orders: Mapping[str, tuple[RankedReply, ...]]) -> Iterator[str]:
    """Yield the replies without a planted flaw that are among the first."""
    places = {flaw[:2] for flaw in flaws}
    yield f"\n## Among the first {len(flaws)} without a planted flaw\n\n"
    yield "A finding may be right although nobody planted it, such as a claim without a call.\n"
    for name, items in orders.items():
        yield f"\n`{name}`:\n\n"
        for item in items[: len(flaws)]:
            if (item.conversation, item.turn) not in places:
                reason = f": {item.reason}" if item.reason else ""
                yield f"- {item.rank}. {item.conversation} {item.turn}{reason}\n"


if __name__ == "__main__":
    PAGE.write_text(console.refreshed(page()), "utf-8")
