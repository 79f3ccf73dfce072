"""Writes ``docs/beside-others.md``: grice beside floors, people and other metrics, from records.

Every figure is one of ``docs/results``; what a preset costs is read from ``docs/presets.md``. Which
row stands for a preset is fixed here, and not by which is best.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from grice_research.outdated import notice, outdated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice_research.figures import Figure
    from grice_research.runs import Run

PRESETS = ("small", "medium", "large")
FLAWS = (
    ("abc-eval", "AUC", {name: f"review-{name}" for name in PRESETS}),
    ("breakdowns", "AUC", {name: f"review-{name}" for name in PRESETS}),
    (
        "minimal-pairs",
        "share right",
        {"small": "sense", "medium": "sense (medium)", "large": "sense (large)"},
    ),
)
"""Bench, measure, and the row that stands for each preset: its order of review, or on pairs of
which good and bad are nearly equal in words the metric of sense, where it has one."""
WITHOUT = ("incorrect fact", "lack of empathy")
"""Flaws that no metric claims to see."""
RATED = {"small": "relevance (ours)"}
RATINGS = ("best_known", "trivial-baselines")
"""Benches of rated sets: figures, and differences to the floors."""
ORACLE = "oracle"
PEOPLE = "one judge against the others"
JUDGES = "judge_"
CHANCE = 0.5
CORE_HOUR = 0.05
"""What a core costs for an hour, in USD; an assumption, stated on the page."""
COST = re.compile(r"^## (\w+)$.*?^\*\*Cost\.\*\* (\d+) s of one core", re.DOTALL | re.MULTILINE)
VERDICTS = ("wins", "ties", "losses")


class Compared(NamedTuple):
    """A figure of a preset beside another's."""

    preset: str
    against: str
    verdict: str


def page(runs: Sequence[Run], presets: str) -> str:
    """Return the page."""
    by_bench = {run.bench: run for run in runs}
    compared: list[Compared] = []
    flaws = [
        line
        for bench, measure, rows in FLAWS
        for line in _flaws(by_bench[bench], measure, rows, compared)
    ]
    rated = [*_rated(*(by_bench[bench] for bench in RATINGS), compared)]
    costs = {name: int(seconds) for name, seconds in COST.findall(presets)}
    return "\n".join(
        [
            TITLE,
            *_outdated(by_bench),
            HEAD.format(n=len(compared)),
            *_counts(compared),
            FLAW_HEAD,
            *flaws,
            RATED_HEAD,
            *rated,
            COST_HEAD.format(price=CORE_HOUR),
            *_costs(by_bench["abc-eval"], costs),
            FOOT,
        ]
    )


def _outdated(by_bench: Mapping[str, Run]) -> Iterator[str]:
    """Yield which versions that do not ship the figures of the page are of, if any are."""
    shown = {bench: {*rows.values()} for bench, _, rows in FLAWS}
    rated = {name for row in RATED.values() for name in (row, row.removesuffix(" (ours)"))}
    shown |= dict.fromkeys(RATINGS, rated)
    old = [
        (change, by_bench[bench].command)
        for bench, rows in shown.items()
        for figure, each in outdated(by_bench[bench].figures).items()
        if figure.row.partition(" less ")[0] in rows or _is_floor(figure)
        for change in each
    ]
    if old:
        yield notice(*zip(*old, strict=True), "Figures of these") + "\n"


def _flaws(
    run: Run, measure: str, rows: Mapping[str, str], compared: list[Compared]
) -> Iterator[str]:
    """Yield a table of one bench, a flaw a row."""
    figures = [figure for figure in run.figures if figure.measure == measure]
    names = [on for on in dict.fromkeys(f.on for f in figures) if on not in WITHOUT]
    others = [*dict.fromkeys(f.row for f in figures if f.kind == "printed")]
    yield f"\n### {run.title}\n"
    yield (
        f"{measure}; `{run.command}`, {run.date} ([all of it](results/{run.bench}.md)). On each row "
        "the best floor is the best of all trivial baselines on that row.\n"
    )
    columns = ["", "n", *(f"grice {name}" for name in rows), "best floor", *others, "LLM judge"]
    yield _line(columns)
    yield "|---" * len(columns) + "|"
    for on in names:
        here = {figure.row: figure for figure in figures if figure.on == on}
        floor = max((f for f in here.values() if _is_floor(f)), key=lambda figure: figure.value)
        marks = {}
        for preset, row in rows.items():
            difference = next(
                (f for f in run.figures if f.on == on and f.measure == f"difference of {measure}"
                 and f.row == f"{row} less {floor.row}"), None,
            )  # fmt: skip
            marks[preset] = _verdict(here[row], floor, difference)
            compared.append(Compared(preset, "the best floor", marks[preset]))
            for other in others:
                if other in here:
                    verdict = _verdict(here[row], here[other])
                    compared.append(Compared(preset, other, verdict))
        yield _line(
            [
                on,
                str(floor.n),
                *(f"{_value(here[row])} {SIGNS[marks[preset]]}" for preset, row in rows.items()),
                f"{_value(floor)} `{floor.row}`",
                *(_value(here[other]) if other in here else "–" for other in others),
                _judges(here.values()),
            ]
        )
    oracle = [f for f in figures if f.row.startswith(ORACLE) and f.on in names]
    if oracle:
        shown = ", ".join(f"{figure.on} {figure.value:.2f}" for figure in oracle)
        yield f"\nWho knows only which chatbot speaks has: {shown}."


def _rated(run: Run, paired: Run, compared: list[Compared]) -> Iterator[str]:
    """Yield a table of the rated sets, one a row."""
    differences = {
        (f.on, f.row): f for f in paired.figures if f.measure == "difference of spearman"
    }
    columns = ["set", "n", "grice small (relevance)", "best floor", "others by released scores"]
    columns += ["best printed", "one person", "LLM judge"]
    yield _line(columns)
    yield "|---" * len(columns) + "|"
    best = {win.table: win for win in run.wins if win.measure == "spearman"}
    for table in dict.fromkeys(figure.table for figure in run.figures):
        here = {f.row: f for f in run.figures if f.table == table and f.measure == "spearman"}
        own = here.get(RATED["small"])
        floors = [figure for figure in here.values() if _is_floor(figure)]
        if own is None or not floors:
            continue
        floor = max(floors, key=lambda figure: figure.value)
        mark = _verdict(own, floor, differences.get((own.on, f"relevance less {floor.row}")))
        compared.append(Compared("small", "the best floor", mark))
        released = [f for f in here.values() if f.kind == "printed" and f.row != PEOPLE]
        for other in released:
            compared.append(Compared("small", "released scores", _verdict(own, other)))
        people, printed = here.get(PEOPLE), best.get(table)
        yield _line(
            [
                table,
                str(own.n),
                f"{_value(own)} {SIGNS[mark]}",
                f"{_value(floor)} `{floor.row}`",
                "; ".join(f"{f.row} {_value(f)} {SIGNS[_verdict(own, f)]}" for f in released)
                or "–",
                f"{printed.best} {printed.published:.2f}" if printed else "–",
                _value(people) if people else "–",
                _judges(here.values()),
            ]
        )


def _verdict(own: Figure, other: Figure, difference: Figure | None = None) -> str:
    """Return which is above: by the interval of the difference, else by intervals apart."""
    if difference is not None:
        low, high = difference.low, difference.high
    else:
        low, high = own.low - other.high, own.high - other.low
    return "wins" if low > 0 else "losses" if high < 0 else "ties"


def _counts(compared: Iterable[Compared]) -> Iterator[str]:
    counts = Counter(compared)
    pairs = dict.fromkeys((each.preset, each.against) for each in counts)
    yield _line(["", "against", *VERDICTS])
    yield "|---|---|---|---|---|"
    for preset, against in sorted(pairs, key=lambda pair: (PRESETS.index(pair[0]), pair[1])):
        numbers = [str(counts[Compared(preset, against, verdict)]) for verdict in VERDICTS]
        yield _line([f"grice {preset}", against, *numbers])


def _costs(run: Run, costs: Mapping[str, int]) -> Iterator[str]:
    yield _line(
        ["", "AUC, any of six flaws", "core seconds for 1,000 replies", "USD for 1,000",
         "above chance per core second", "above chance per US cent"]
    )  # fmt: skip
    yield "|---|---|---|---|---|---|"
    for preset in PRESETS:
        figure = next(
            f for f in run.figures
            if f.row == f"review-{preset}" and f.on == "any of six flaws" and f.measure == "AUC"
        )  # fmt: skip
        if preset not in costs:
            yield _line([f"grice {preset}", _value(figure), *["not measured"] * 4])
            continue
        seconds, gain = costs[preset], figure.value - CHANCE
        dollars = seconds * CORE_HOUR / 3600
        cells = (
            str(seconds),
            f"{dollars:.5f}",
            f"{gain / seconds:.4f}",
            f"{gain / dollars / 100:.2f}",
        )
        yield _line([f"grice {preset}", _value(figure), *cells])
    judges = [f for f in run.figures if f.row.startswith(JUDGES) and f.measure == "AUC"]
    if not judges:
        yield _line(["LLM judge", *["not measured"] * 5])


def _judges(figures: Iterable[Figure]) -> str:
    """Return the figures of judges by an endpoint, where a recorded run had one."""
    shown = [f"{f.row} {_value(f)}" for f in figures if f.row.startswith(JUDGES)]
    return "; ".join(shown) or "not measured"


def _is_floor(figure: Figure) -> bool:
    return figure.kind == "baseline" and not figure.row.startswith(ORACLE)


def _value(figure: Figure) -> str:
    return f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


SIGNS = {"wins": "▲", "ties": "=", "losses": "▼"}
TITLE = """\
# grice beside others

<!-- Written by docs/beside.py (make docs) from docs/results and docs/presets.md. -->
"""
HEAD = """\
Does it agree with people better than something trivial, and than what others published? {n}
comparisons, ties and losses counted as wins are. In brackets 95 % intervals. ▲ above, = not told
apart, ▼ below: by the interval of the difference where it was recorded, else a win or a loss is two
intervals that do not meet, which is strict, so that some ties hide a difference.

Which row stands for a preset is fixed in the script: its order of review on flaws, its metric of sense
on minimal pairs, relevance on rated sets. No rating on this page trained what ships; where some of a
set's texts did, its page says how many. On sets that were looked at several times while models were
chosen grice is a little flattered. GPT-3.5 and GPT-4 are judges whose votes others released.
"""
FLAW_HEAD = """
## Flaws of replies
"""
RATED_HEAD = """
## Rated sets

Spearman with people's ratings ([all of it](results/best_known.md)). The best floor is chosen on the
set itself, after the fact, and so is hard to beat. What `medium` and `large` add has no recorded
figure on these sets: not measured. *Best printed* has no interval, as its scores were not released.
"""
COST_HEAD = """
## What it costs

On the flaws of ABC-Eval; seconds as [presets](presets.md) has them, a core at {price} USD an hour (an
assumption: scale it to yours). Those of small are of its default metrics: its order of review reads
five more, `sense` among them, so that it costs more than its row says. The floors cost next to
nothing, and were not measured.
"""
FOOT = """
An LLM judge stands here where a bench was run with one (`grice bench abc-eval --models
openai:MODEL@URL`); [judges](judges.md) says what 1,000 replies cost beforehand, `--dry-run`.
"""
