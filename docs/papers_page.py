"""Write ``docs/papers.md``: components of the source papers, what runs them, and figures.

Components stand in ``papers.toml``; every figure is read from ``docs/results``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from grice.stats.estimate import wilson_interval
from grice_research.pages import Records
from grice_research.runs import Run

COMPONENTS = Path(__file__).parent / "papers.toml"
HEAD = """\
# The papers

Each component of the source papers with its command and state: it *works* as the paper has it, is
*weak* (it runs, but not as the paper's system does), *missing* (it could be built), *cannot be had*
(data, weights or programs that were not released or are out of reach), or *not in the paper* (left
out on purpose). {counts}. If a bench measures it, *ours* is the recorded figure of the row with its 95 %
interval, *printed* the figure that the paper states for it, *floor* a trivial baseline on the same
items. `make docs` writes this page from [papers.toml](papers.toml) and the [records](results.md).

To run the commands in a clone: `pip install ./packages/grice-models ./packages/grice ./packages/grice-tasks
./packages/grice-annotate ./packages/grice-research`. `grice bench` also needs [data sets](commands/data.md).

"""
READ = Path(__file__).parent / "research/student/read.jsonl"
READING = """
## Read by a person

Outputs for [sixty inputs and more](research/student/README.md), judged by what was written before.

| outputs | preset | read | sensible | weak | nonsense |
|---|---|---:|---|---:|---:|
"""
TITLES = "component|command|ours|printed|floor"
NONE = "–"
STATES = ("works", "weak", "missing", "cannot be had", "not in the paper")


class Component(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A component; ``figure`` names bench, row, measure and set of its record."""

    name: str
    run: str
    figure: tuple[str, str, str, str] | None = None
    floor: str = ""  # row of the trivial baseline; the best one if empty, none if ``-``


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A paper with its components: those with figures, and the state of each."""

    title: str
    components: tuple[Component, ...]
    states: str  # lines of component, state, command and reason


def papers_page(runs: Sequence[Run]) -> str:
    """Return the page as Markdown."""
    records = Records(runs)
    papers = msgspec.toml.decode(COMPONENTS.read_bytes(), type=dict[str, tuple[Paper, ...]])
    parts = ["\n".join(_section(paper, records)) for paper in papers["paper"]]
    counts = Counter(cells[1] for paper in papers["paper"] for cells in _states(paper))
    told = ", ".join(f"{state} {counts[state]}" for state in STATES)
    head = HEAD.format(counts=f"Of {counts.total()} components: {told}")
    return "".join([head, *records.notice(), "\n".join(parts), READING, *_read()])


def _read() -> Iterator[str]:
    """Yield a row for each run that was read, with the share that is sensible."""
    rows = [msgspec.json.decode(line) for line in READ.read_text("utf-8").splitlines()]
    counts = Counter((row["run"], row["preset"], row["verdict"]) for row in rows)
    for run, preset in dict.fromkeys((row["run"], row["preset"]) for row in rows):
        good, weak, bad = (counts[run, preset, each] for each in ("sensible", "weak", "nonsense"))
        low, high = wilson_interval(good / (n := good + weak + bad), n)
        share = f"{good}, {good / n:.2f} <small>{low:.2f} – {high:.2f}</small>"
        yield f"| {run} | {preset} | {n} | {share} | {weak} | {bad} |\n"


def _section(paper: Paper, records: Records) -> Iterator[str]:
    yield f"## {paper.title}\n"
    yield f"| {TITLES.replace('|', ' | ')} |\n|---|---|---|---:|---|"
    for each in paper.components:
        commands = " <br> ".join(f"`{command}`" for command in each.run.split("; "))
        yield f"| {each.name} | {commands} | {' | '.join(_figures(each, records))} |"
    yield "\n| component | state | command | notes |\n|---|---|---|---|"
    for name, state, run, note in _states(paper):
        commands = " <br> ".join(f"`{command}`" for command in filter(None, run.split("; ")))
        yield f"| {name} | {state} | {commands} | {note} |"
    yield ""


def _states(paper: Paper) -> Iterator[list[str]]:
    for line in paper.states.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 4 or cells[1] not in STATES or not any(cells[2:]):
            raise ValueError(f"{COMPONENTS}: {line}: component, state, command and note")
        yield cells


def _figures(component: Component, records: Records) -> list[str]:
    if component.figure is None:
        return [NONE] * 3
    bench, row, measure, on = component.figure
    ours = records.get(bench, [row], measure, on)
    if ours is None:
        raise ValueError(f"{COMPONENTS}: {component.name}: no record of {component.figure}")
    floor = records.best(bench, measure, on)
    if component.floor:
        rows = [] if component.floor == "-" else [component.floor]
        floor = records.get(bench, rows, measure, on)
    printed = NONE if ours.published is None else f"{ours.published:g}"
    return [records.cell(ours), printed, records.cell(floor)]
