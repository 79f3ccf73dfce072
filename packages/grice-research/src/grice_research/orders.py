"""The table of the orders of review: what reading first what scores low finds, by preset.

Every figure is a recorded one. Rows are orders, columns measures on sets of marked replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grice_research.figures import RANDOM, Figure
from grice_research.pages import MARK, Records

PRESETS = {
    "large": ("quality (large)",),
    "medium": ("quality (medium)",),
    "small": ("quality",),
}
"""The row that stands for a preset."""
RULES = {
    "cosine_last_turn": "unlike last turn", "cosine_own_turns": "like own turns",
    "log_length": "shortest", "position": "latest",
}  # fmt: skip
"""Order of replies by each trivial baseline, the worst first."""
AREA, FIRST, SECOND = "AUC", "lift of the first 10 %", "lift of the first 20 %"
RATE, COSINE, GPT = "replies per core-second", "cosine_last_turn", "GPT-3.5"
HEADS = {FIRST: "first 10 %", SECOND: "first 20 %", AREA: AREA}
PRECISION = re.compile(r"precision (\d\.\d+)")


class FlawSet(NamedTuple):
    """Replies of which people marked the flawed ones."""

    bench: str
    on: str
    title: str
    about: str


SETS = (
    FlawSet("abc-eval", "any of six flaws", "chats with bots",
            "of four chatbots of 2022, in which trained annotators marked six flaws"),
    FlawSet("planted-flaws", "any flaw", "written logs",
            "in logs of support, sales, booking, tutoring, health and small talk, written for this "
            "project; after most flaws the user objects"),
    FlawSet("breakdowns", "breakdown", "breakdowns",
            "of chatbots of 2017 to 2018, of which most of thirty people called some a breakdown"),
)  # fmt: skip


def orders_table(
    records: Records, sets: Sequence[FlawSet], measures: Sequence[str]
) -> Iterator[str]:
    """Yield the table of the orders of review: rows are orders, columns measures by set."""
    heads = [f"{each.title}<br>{HEADS[measure]}" for each in sets for measure in measures]
    yield table_row(["order", "replies per<br>core-second", *heads])
    yield "|---" * (len(heads) + 2) + "|"
    rows: dict[str, Sequence[str]] = {f"grice `{name}`": each for name, each in PRESETS.items()}
    rows["GPT-3.5, its votes"] = (GPT,)
    for title, names in rows.items():
        if any(records.get(each.bench, names, AREA, each.on) for each in sets):
            found = [records.get(each.bench, names, what, each.on) for each in sets
                     for what in measures]  # fmt: skip
            yield table_row([title, _rate(records, title), *_cells(records, found, sets, measures)])
    best = [records.best(each.bench, what, each.on) for each in sets for what in measures]
    names = [f"<br><small>{RULES[each.row]}</small>" if each else "" for each in best]
    cells = map("".join, zip(_cells(records, best, sets, measures), names, strict=True))
    yield table_row(["*best trivial order*", _rate(records, COSINE), *cells])
    chance = [records.get(each.bench, (RANDOM,), what, each.on) for each in sets
              for what in measures]  # fmt: skip
    yield table_row(["*random order*", "–", *_cells(records, chance, sets, measures)])


def _cells(
    records: Records,
    found: Sequence[Figure | None],
    sets: Sequence[FlawSet],
    measures: Sequence[str],
) -> list[str]:
    scales = [flawed_share(records, each, what) for each in sets for what in measures]
    return [
        records.cell(each, scale=by, gap="<br>") for each, by in zip(found, scales, strict=True)
    ]


def flawed_share(records: Records, flaws: FlawSet, measure: str) -> float:
    """Return the share of flawed replies, the precision of a lift of 1; 1 for other measures."""
    chance = records.get(flaws.bench, (RANDOM,), measure, flaws.on)
    found = PRECISION.match(chance.why) if chance else None
    return float(found[1]) if found else 1.0


def _rate(records: Records, title: str) -> str:
    name = title.strip("`").rpartition("`")[2]
    figure = records.get("cost", (name,), RATE, "")
    if figure is None or figure.value is None:
        return "–"
    records.shown.append(figure)
    return f"{figure.value:.3g}{f' {MARK}' * (figure in records.old)}"


def table_row(cells: Sequence[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"
