"""The table of the README: quality of each preset, of GPT-3.5 and of trivial orders, from records.

Every figure is one of ``docs/results``. A bench without a record leaves its columns out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from grice_research.figures import Figure
from grice_research.runs import Run

BEGIN, END = "<!-- quality -->", "<!-- end of quality -->"
ROWS = {
    "review-large": "**grice `large`**", "review-medium": "grice `medium`",
    "review-small": "grice `small` with `-m relevance,repetition,sensibleness,user_frustration`",
    "review-small, default metrics": "grice `small`, the default",
    "GPT-3.5": "GPT-3.5, published votes", "cosine_last_turn": "*least similar to the turn before*",
    "log_length": "*shortest first*", "random order": "*random order*",
}  # fmt: skip
COSTS = {f"review-{name}": name for name in ("large", "medium")}
COSTS["review-small, default metrics"] = "small"
SETS = {"abc-eval": "any of six flaws", "planted-flaws": "any flaw"}
TITLES = {"abc-eval": "chats with bots", "planted-flaws": "written logs"}
AREA, FIRST = "AUC", "lift of the first 10 %"
PRECISION = re.compile(r"precision (\d\.\d+)")
COST = re.compile(r"^## (\w+)$.*?^\*\*Cost\.\*\* (\d+) s of one core", re.DOTALL | re.MULTILINE)


def with_table(page: str, runs: Sequence[Run], presets: str) -> str:
    """Return a page with a fresh table between the marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md: the table stands between {BEGIN} and {END}: add both")
    lines = [begin, *_table(runs, presets), end]
    return before + "\n".join(lines) + after


def _table(runs: Sequence[Run], presets: str) -> Iterator[str]:
    found = {run.bench: {(each.row, each.measure): each for each in run.figures
                         if each.on == SETS[run.bench]}
             for run in runs if run.bench in SETS}  # fmt: skip
    benches = [bench for bench in SETS if bench in found]
    heads = [f"{TITLES[bench]}: {name}" for bench in benches for name in ("first 10 %", AREA)]
    yield f"| order of reading | {' | '.join(heads)} | 1,000 replies |"
    yield "|---" * (2 * len(benches) + 2) + "|"
    costs = dict(COST.findall(presets))
    for row, title in ROWS.items():
        cells = [cell for bench in benches for cell in _cells(found[bench], row)]
        seconds = costs.get(COSTS.get(row, ""))
        yield f"| {title} | {' | '.join(cells)} | {f'{seconds} s' if seconds else '–'} |"


def _cells(figures: Mapping[tuple[str, str], Figure], row: str) -> Iterator[str]:
    first = figures.get((row, FIRST))
    said = PRECISION.match(first.why) if first else None
    yield f"{float(said[1]):.2f}" if said else "–"
    area = figures.get((row, AREA))
    yield f"{area.value:.2f} [{area.low:.2f}, {area.high:.2f}]" if area else "–"
