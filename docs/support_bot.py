"""Write ``docs/support-bot.md``: the ranks of planted flaws in a support bot's log.

    GRICE_MODELS=FOLDER python docs/support_bot.py

The log and the key of its planted flaws lie in ``examples/``. The preset ``medium`` has to be there
(``grice models get medium medium-states``).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import console

from grice.cli import main as grice
from grice.data import Conversation
from grice.evaluation.ranking import RankedReply, rank
from grice.readers import read
from grice.scoring.loaded import responses

HERE = Path(__file__).parent
PAGE = HERE / "support-bot.md"
LOG = HERE.parent / "examples" / "support-bot.jsonl"
KEY = HERE.parent / "examples" / "support-bot-flaws.csv"
FLAWS = "quality"
RUNS = {
    "default": (),
    "small": ("-m", FLAWS),
    "medium": ("--models", "medium"),
    "large": ("--models", "large"),
}
"""Options of the runs, by their name in the table."""

HEAD = f"""# Planted flaws in a support bot's log

Written by `python docs/support_bot.py`. `examples/support-bot.jsonl` has the form of a real log:
messages with roles, a system prompt, tool calls and their results. It was written for this page. {{flaws}} of its {{replies}} replies have a planted flaw, listed in
`examples/support-bot-flaws.csv`; the others were written without flaws. One log of {{talks}}
conversations is an illustration, not a measurement: for figures see `docs/results.md`.

```console
$ grice check examples/support-bot.jsonl --rank --limit 5
```

## Ranks of the planted flaws

The rank of each planted flaw in `grice check --rank`, of {{replies}} replies: *default* is
`grice score` without options, *small* the shipped models with
`-m {FLAWS}`, *medium* and *large* the presets of these names. Bold: among
the first {{flaws}}, the ranks of a perfect order.

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


def order(options: Sequence[str]) -> tuple[RankedReply, ...]:
    """Return all replies of the log in their order of reading, scored with some options."""
    with TemporaryDirectory() as folder:
        scores = f"{folder}/scores.jsonl"
        words = ["score", str(LOG), "-q", "--no-cache", "--json", "-o", scores, *options]
        with redirect_stdout(StringIO()):
            status = grice(words)
        if status:
            raise SystemExit(f"{' '.join(words)}: failed")
        return rank(scores, [str(LOG)], top=10_000).items


def page() -> str:
    """Return the page without what its commands print."""
    flaws = planted()
    orders = {name: order(options) for name, options in RUNS.items()}
    talks = [talk for talk in read(str(LOG)) if isinstance(talk, Conversation)]
    replies = sum(len(responses(talk)) for talk in talks)
    text = HEAD.format(flaws=len(flaws), replies=replies, talks=len(talks))
    ranks = {name: {(item.conversation, item.turn): item.rank for item in items}
             for name, items in orders.items()}  # fmt: skip
    most = len(flaws)
    found = [{place for place, rank in each.items() if rank <= most} for each in ranks.values()]
    never = [flaw for flaw in flaws if flaw[:2] not in set().union(*found)]
    return "".join([text, *table(flaws, ranks), *alarms(flaws, never, orders)])


def table(flaws: Sequence[Flaw], ranks: dict[str, dict[tuple[str, int], int]]) -> list[str]:
    """Return a row for each flaw, and one of how many are found."""
    lines = [f"| planted | where | {' | '.join(ranks)} |\n", f"|---|---|{'---:|' * len(ranks)}\n"]
    for flaw in flaws:
        cells = (cell(by_place.get(flaw[:2]), len(flaws)) for by_place in ranks.values())
        place = f"{flaw.conversation} #{flaw.turn}"
        lines.append(f"| {flaw.kind}: {flaw.note} | {place} | {' | '.join(cells)} |\n")
    for first in (len(flaws), 20):
        counts = (
            sum(by_place.get(flaw[:2], first + 1) <= first for flaw in flaws)
            for by_place in ranks.values()
        )
        cells = (f"{count} of {len(flaws)}" for count in counts)
        lines.append(f"| **among the first {first}** | | {' | '.join(cells)} |\n")
    return lines


def cell(rank: int | None, first: int) -> str:
    """Return a rank, bold among the first."""
    if rank is None:
        return "–"
    return f"**{rank}**" if rank <= first else str(rank)


def alarms(
    flaws: Sequence[Flaw], missed: Sequence[Flaw], orders: dict[str, tuple[RankedReply, ...]]
) -> list[str]:
    """Return the flaws that are never among the first, and the false alarms among these."""
    places, first = {flaw[:2] for flaw in flaws}, len(flaws)
    lines = [f"\n## Flaws that no run ranks among the first {first}\n\n"]
    lines += [f"- {flaw.kind}, {flaw.conversation} #{flaw.turn}: {flaw.note}\n" for flaw in missed]
    lines += [] if missed else ["At least one run ranks each among them.\n"]
    lines += [f"\n## False alarms among the first {first}\n"]
    for name, items in orders.items():
        lines.append(f"\n**{name}**\n\n")
        for item in items[:first]:
            if (item.conversation, item.turn) not in places:
                by = f" by {item.metric}" if item.metric else ""
                why = f": {item.reason}" if item.reason else ""
                place = f"{item.conversation} #{item.turn}"
                lines.append(f"- {item.rank}. {place}, {item.headline}{by}{why}\n")
    return lines


def main() -> None:
    """Write the page, with what its commands print."""
    sys.stdout.write(f"{PAGE}\n")
    PAGE.write_text(console.refreshed(page()), "utf-8")


if __name__ == "__main__":
    main()
