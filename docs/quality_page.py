"""Write ``docs/quality.md`` and the table of the README: what each preset finds, from records.

Every figure is one of ``docs/results``: this module chooses rows, and names them for readers. A
bench or a row without a record leaves its cells empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grice_research.figures import RANDOM, Figure
from grice_research.orders import (
    AREA,
    FIRST,
    GPT,
    HEADS,
    PRESETS,
    SETS,
    flawed_share,
    orders_table,
    table_row,
)
from grice_research.pages import Records
from grice_research.runs import Run

BEGIN, END = "<!-- quality -->", "<!-- end of quality -->"
FLAWS = {
    "redundant": "repeats itself", "self contradiction": "contradicts itself",
    "partner contradiction": "contradicts the partner", "ignore": "ignores the partner",
    "commonsense contradiction": "contradicts common sense", "irrelevant": "is off topic",
    "incorrect fact": "states something false", "lack of empathy": "lacks empathy",
}  # fmt: skip
JUDGES = ("llm_judges", "deam")  # benches of released scores on rated sets
ASPECT_METRICS = ("coherence", "relevance")  # of a conversation and of a reply
HEAD = """\
# Quality

Each preset orders replies, the worst first; the tables compare these orders with what people marked.
*First 10 %* is the share of flawed replies in the tenth that is read first. AUC is 0.5 by chance, 1 at
best. Small figures are 95 % intervals. **▲** is significantly above the best trivial order of the
column, ▼ below it, = no significant difference. No model was trained on these replies, but the parts
of the order were chosen by looks at all three sets, ABC-Eval the most: other logs may be harder. `make
docs` writes this page from the [records](results.md).

"""
FOOT = """\
**Not found:** false facts, most contradictions with `small`, incomplete answers, other languages than
English. [What each metric misses](what-it-cannot-see.md), flaw by flaw; [what each preset
needs](concepts/models.md#presets); [every row](results.md).
"""


def quality_page(runs: Sequence[Run]) -> str:
    """Return the page as Markdown."""
    records = Records(runs)
    parts = [*_reading(records), *_flaws(records), *_ratings(records)]
    return "".join([HEAD, *records.notice(), *parts, FOOT])


def with_table(page: str, runs: Sequence[Run]) -> str:
    """Return the README with a fresh table between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md: the table stands between {BEGIN} and {END}: add both")
    table = orders_table(Records(runs), SETS[:2], (FIRST, AREA))
    return before + "\n".join([begin, *table, end]) + after


def _reading(records: Records) -> Iterator[str]:
    yield "## Reading the worst replies first\n\n"
    for each in SETS:
        if chance := records.get(each.bench, (RANDOM,), FIRST, each.on):
            title = each.title[0].upper() + each.title[1:]
            share = f"{100 * flawed_share(records, each, FIRST):.0f} % are flawed"
            link = f"[{each.bench}](results/{each.bench}.md)"
            yield f"- **{title}**: {chance.n:,} replies {each.about}; {share} ({link}).\n"
    yield "\n" + "\n".join(orders_table(records, SETS, tuple(HEADS))) + "\n\n"


def _flaws(records: Records) -> Iterator[str]:
    yield "## Kinds of flaws\n\nAUC on the chats with bots.\n\n"
    heads = ["the reply …", *(f"`{name}`" for name in PRESETS), "best trivial order", GPT]
    yield f"{table_row(heads)}\n{'|---' * len(heads)}|\n"
    for flaw, words in FLAWS.items():
        ours = (
            records.cell(records.get("abc-eval", rows, AREA, flaw)) for rows in PRESETS.values()
        )
        best, judge = (
            records.best("abc-eval", AREA, flaw),
            records.get("abc-eval", (GPT,), AREA, flaw),
        )
        yield table_row([words, *ours, records.cell(best), records.cell(judge)]) + "\n"
    yield "\n"


def _ratings(records: Records) -> Iterator[str]:
    yield (
        "## Agreement with ratings\n\nSpearman correlation with people's ratings where scores of "
        "others were released; [all sets](results/trivial-baselines.md).\n\n"
    )
    heads = ["rated set", "n", "grice `small`", "best trivial baseline", "released scores"]
    yield f"{table_row(heads)}\n{'|---' * len(heads)}|\n"
    floors, measure = "trivial-baselines", "spearman"
    others: dict[str, list[Figure]] = {}
    for (bench, *_), each in records.figures.items():
        if bench in JUDGES and each.kind == "printed" and each.measure == measure:
            others.setdefault(each.on, []).append(each)
    for on, released in sorted(others.items()):
        ours = records.get(floors, ASPECT_METRICS, measure, on)
        whole = f"{on.partition(':')[0]}:overall"
        if ours is None or (on != whole and whole in others):
            continue  # one aspect of a set, the overall one if it has scores
        metric = f"{records.cell(ours)} `{ours.row}`"
        best = max(released, key=lambda each: each.value or 0.0)
        floor = records.best(floors, measure, on)
        name = "" if floor is None else f" `{floor.row}`"
        fewer = "" if best.n == ours.n else f", n {best.n}"
        theirs = f"{records.cell(best)} {best.row.split(',')[0]}{fewer}"
        yield table_row([f"`{on}`", str(ours.n), metric, records.cell(floor) + name, theirs]) + "\n"
    yield "\n"
