"""Pages on bench runs, written from their records.

The signature of a figure names the version of each metric and the digest of each model it was
computed with. A figure is outdated if one of them is not what ships now. Pages mark such figures
and say which versions they are of; their counts leave them out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from grice.metrics.declaration import find_metrics
from grice.models.folder import open_folder, shipped_models
from grice_research.figures import RANDOM, VERDICTS, Figure, legend
from grice_research.runs import NOT_MEASURED, Run, counted

MARK = "†"  # stands behind the name of a row that is outdated
UNKNOWN = "of an unknown version"
METRIC = re.compile(r"(?:^|\+)([a-z_]+):(\d+)(?=[|+]|$)")
"""A metric with its version, as a signature, or one of several joined by +, begins."""
FOLDER = re.compile(r"(?<![\w.-])([a-z0-9][\w.-]*)@([0-9a-f]{8})(?![0-9a-f])")
DATA = re.compile(r"\|on:[^|+]*")
ON = re.compile(r"\|on:(\w+)(@[0-9a-f]{8})?(?![\w@])")
"""A set, and the hash of its content if it was recorded."""
FIRST = re.compile(r"[a-z_]+")


class Shipped(NamedTuple):
    """Version by metric, digest by model, and the options of metrics as signatures state them."""

    versions: Mapping[str, str]
    folders: Mapping[str, str]
    options: Mapping[str, Mapping[str, str]] = {}


class Change(NamedTuple):
    """A metric or model that was recorded as one thing and ships as another."""

    recorded: str
    ships: str


@cache
def shipped() -> Shipped:
    """Return the versions of metrics and the digests of shipped models."""
    known = find_metrics().metrics
    return Shipped(
        {name: metric.version for name, metric in known.items()},
        {name: open_folder(name).digest for name in shipped_models()},
        {name: {each.name: str(each.default) for each in known[name].options} for name in known},
    )


def changes(signature: str, ships: Shipped | None = None) -> list[Change]:
    """Return what a signature names that does not ship: metrics, or models if there are none.

    A metric whose version moved is enough to say so; its models have often moved with it.

    >>> changes("relevance:3|history:4", Shipped({"relevance": "4"}, {}))
    [Change(recorded='relevance 3', ships='relevance 4')]
    """
    versions, folders, options = ships or shipped()
    metrics = [
        Change(f"{name} {version}", f"{name} {versions[name]}" if name in versions else "")
        for name, version in METRIC.findall(signature)
        if versions.get(name) != version
    ] + [
        Change(f"{name} with {option} {value}", f"{name} with {option} {default}")
        for name, _ in METRIC.findall(signature)
        for option, default in options.get(name, {}).items()
        for value in re.findall(rf"\|{option}:([^|+]*)", signature)
        if value != default
    ]
    return metrics or [
        Change(f"{name}@{digest}", f"{name}@{folders[name]}")
        for name, digest in FOLDER.findall(DATA.sub("", signature))
        if folders.get(name, digest) != digest
    ]


def outdated(
    figures: Sequence[Figure], ships: Shipped | None = None
) -> dict[Figure, tuple[Change, ...]]:
    """Return the outdated figures of a run, each with what differs from what ships.

    One of ours without a signature, though its row names a metric, is of an unknown version. One
    of an earlier run, whose set had other content than that of the last run, is outdated as well.
    """
    versions = (ships or shipped()).versions
    last = [each.signature for each in figures if not each.date]
    sets = {name: digest for text in last for name, digest in ON.findall(text) if digest}
    found = {}
    for figure in figures:
        differ = dict.fromkeys(changes(figure.signature, ships))
        for name, digest in ON.findall(figure.signature):
            if figure.date and sets.get(name, digest) != digest:
                differ[Change(f"{name}{digest}", f"{name}{sets[name]}")] = None
        named = FIRST.match(figure.metric or figure.row)
        if not figure.signature and figure.kind == "ours" and named and named[0] in versions:
            differ[Change(f"{named[0]} {UNKNOWN}", f"{named[0]} {versions[named[0]]}")] = None
        if differ:
            found[figure] = tuple(differ)
    return found


def due(runs: Sequence[Run], at_hand: Container[str], *, complete: bool) -> list[str]:
    """Return the benches with outdated figures, the cheapest first.

    A figure with a day of its own was not measured in the last run. It counts if its row is of a
    metric ``at_hand``; others need a model or a data set, and count if all models are there.
    """

    def is_due(figure: Figure) -> bool:
        return complete or not figure.date or figure.row in at_hand

    old = [run for run in runs if any(map(is_due, outdated(run.figures)))]
    return [run.bench for run in sorted(old, key=lambda run: (run.seconds, len(run.figures)))]


def notice(differ: Iterable[Change], commands: Iterable[str], figures: str) -> str:
    """Return in Markdown which versions figures are of, and what measures them again."""
    given = sorted(dict.fromkeys(differ))
    if not given:
        return ""
    ships = dict.fromkeys(each.ships for each in given if each.ships)
    now = f"what ships is {_listed(ships)}" if ships else "none of them ships"
    recorded = _listed(each.recorded for each in given)
    again = _listed(f"`{command}`" for command in dict.fromkeys(commands))
    return (
        f"**Recorded for {recorded}; {now}.** {figures} are *not recorded for this version*; "
        f"record them again with {again}."
    )


def _listed(items: Iterable[str]) -> str:
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


ABOVE = "▲"


class Records:
    """Recorded figures by bench, row, measure and set, and those that are outdated."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.figures = {
            (run.bench, each.row, each.measure, each.on): each
            for run in runs
            for each in run.figures
        }
        self.old = {each: c for run in runs for each, c in outdated(run.figures).items()}
        self.shown: list[Figure] = []

    def get(self, bench: str, rows: Sequence[str], measure: str, on: str) -> Figure | None:
        """Return the figure of the first of some rows that is recorded."""
        keys = ((bench, row, measure, on) for row in rows)
        return next((self.figures[key] for key in keys if key in self.figures), None)

    def best(self, bench: str, measure: str, on: str) -> Figure | None:
        """Return the best trivial baseline, of which an oracle is none."""
        found = (
            each
            for (name, row, what, where), each in self.figures.items()
            if (name, what, where) == (bench, measure, on)
            and each.kind == "baseline"
            and row != RANDOM
            and not row.startswith("oracle")
        )
        return max(found, key=lambda each: each.value or 0.0, default=None)

    def cell(self, figure: Figure | None, *, scale: float = 1.0, gap: str = " ") -> str:
        """Return a value with its interval, and how it stands to the best trivial baseline."""
        if figure is None or figure.value is None:
            return "–"
        self.shown.append(figure)
        low, high = (scale * (each or 0.0) for each in (figure.low, figure.high))
        value = f"{scale * figure.value:.2f}"
        if figure.gaps:
            sign = _sign(figure)
            value = f"**{value}** {sign}" if sign == ABOVE else f"{value} {sign}"
        mark = f" {MARK}" if figure in self.old else ""
        return f"{value}{mark}{gap}<small>{low:.2f} – {min(high, 1):.2f}</small>"

    def notice(self) -> Iterator[str]:
        """Yield which versions that do not ship the figures shown are of, if any are."""
        used = [figure for figure in self.shown if figure in self.old]
        changed = [change for figure in used for change in self.old[figure]]
        commands = [f"grice bench {figure.bench}" for figure in used]
        if said := notice(changed, commands, f"Figures with {MARK}"):
            yield f"{said}\n\n"


def _sign(figure: Figure) -> str:
    best = min(figure.gaps, key=lambda each: each.value)
    return ABOVE if best.low > 0 else "▼" if best.high < 0 else "="


OTHER = "other versions"


def index_page(runs: Sequence[Run], folder: str) -> str:
    """Return the index of all benches, as Markdown."""
    old = [each for run in runs for each in outdated(run.figures).values()]
    changed, figures = (change for each in old for change in each), f"Figures under *{OTHER}*"
    said = [notice(changed, ["make results"], f"{figures} ({len(old)})"), ""] if old else []
    lines = [
        "# Results",
        "",
        "Published tables compared with our measurements, a page for each bench. Written by `grice "
        "bench --page` from the records beside the pages; no figure is typed.",
        "",
        *said,
        "Verdicts on a printed figure:",
        "",
        *legend(),
        f"- *{OTHER}*: figures recorded for a version of a metric or a model that does not "
        f"ship now. The pages mark them {MARK}; no other column counts them.",
        "",
        *_overview(runs, folder),
    ]
    return "\n".join(lines) + "\n"


def _overview(runs: Sequence[Run], folder: str) -> Iterator[str]:
    yield (
        "| bench | recomputed | beside: above | level | below | cannot be checked "
        f"| {NOT_MEASURED} | {OTHER} | date |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    total: Counter[str] = Counter()
    for run in runs:
        counts = _current(run)
        total.update(counts)
        link = f"[{run.bench}]({folder}/{run.bench}.md)"
        yield f"| {link} | {' | '.join(_counts(counts))} | {run.date} |"
    yield f"| all | {' | '.join(_counts(total))} | |"


def _current(run: Run) -> Counter[str]:
    """Return the counts of a run without outdated figures, and how many these are."""
    old = outdated(run.figures)
    counts = Counter(run.counts)
    counts.subtract(counted(list(old)))
    counts[OTHER] = len(old)
    return counts


def _counts(counts: Mapping[str, int]) -> Iterator[str]:
    done, not_done = counts.get("recomputed", 0), counts.get("not recomputed", 0)
    yield f"{done} of {done + not_done}" if done + not_done else "–"
    beside = (verdict for verdict in VERDICTS if verdict.startswith("beside"))
    for name in (*beside, VERDICTS[-1], NOT_MEASURED, OTHER):
        yield str(counts.get(name, 0))


def bench_page(run: Run, index: str) -> str:
    """Return the page of one bench, as Markdown."""
    old = outdated(run.figures)
    changed = (change for each in old.values() for change in each)
    again = f"{run.command} --record docs/results"
    said = [notice(changed, [again], f"Rows with {MARK} ({len(old)})"), ""] if old else []
    tables = dict.fromkeys(figure.table for figure in run.figures)
    lines = [
        f"# {run.bench}",
        "",
        f"{run.title}. {run.paper}.",
        "",
        f"`{run.command}`, {run.date}, grice {run.version}. [All benches and verdicts]({index}).",
        "",
        *said,
        "Intervals are 95 %. *Printed* is the figure of the source, of our metrics that of the row "
        "they are set beside. Rows in italics are trivial baselines; the best one of a row is that "
        "of the highest value on the same items.",
        "",
        *(line for table in tables for line in _table(run, table, old)),
    ]
    return "\n".join(lines) + "\n"


def _table(run: Run, table: str, old: Container[Figure]) -> Iterator[str]:
    yield f"## {table or 'Measured on the task'}"
    yield ""
    if run.notes.get(table):
        note = run.notes[table]
        yield f"{note[0].upper()}{note[1:]}."
        yield ""
    rows = [figure for figure in run.figures if figure.table == table]
    # A column that would be empty is left out.
    heads = {
        "n": True,
        "less the best trivial baseline": any(figure.gaps for figure in rows),
        "printed": any(figure.published is not None for figure in rows),
        "remarks": True,
    }
    shown = [head for head, filled in heads.items() if filled]
    yield f"| row | measure | value | interval | {' | '.join(shown)} |"
    yield "|---" * (4 + len(shown)) + "|"
    for figure in rows:
        first, *cells = _cells(figure, f" {MARK}" if figure in old else "")
        kept = (cell for cell, filled in zip(cells[3:], heads.values(), strict=True) if filled)
        yield f"| {' | '.join((first, *cells[:3], *kept))} |"
    yield ""


def _cells(figure: Figure, mark: str) -> list[str]:
    stars = {"baseline": "*", "ours": "**"}.get(figure.kind, "")
    name = f"{stars}{_cell(figure.row)}{stars}{mark}"
    if figure.beside:
        name += f" beside {_cell(figure.beside)}"
    low, high = figure.low, figure.high
    bounds = "" if low is None or high is None else f"{_number(low)} to {_number(high)}"
    value = "" if figure.value is None else _number(figure.value)
    printed = "" if figure.published is None else f"{figure.published:g}"
    what = f"{figure.measure} on {_cell(figure.on)}" if figure.on else figure.measure
    remarks = [_difference(figure), _cell(figure.why) if figure.kind == "ours" else ""]
    remark = "; ".join(filter(None, remarks)) if figure.verdict else ""
    share = f"{100 * figure.trained:.1f} % of the texts seen in training"
    parts = [(figure.verdict or "") + (f" ({remark})" if remark else "")]
    parts += [share] * (figure.trained >= 0.0005) + [f"measured {figure.date}"] * bool(figure.date)
    gap = ""
    if figure.gaps:
        best = min(figure.gaps, key=lambda each: each.value)
        gap = f"{_number(best.value)}, {_number(best.low)} to {_number(best.high)} "
        gap += f"({_cell(best.baseline)})"
    verdict = "; ".join(filter(None, parts))
    return [name, what, value, bounds, str(figure.n or ""), gap, printed, verdict]


def _difference(figure: Figure) -> str:
    if figure.difference is None:
        return ""
    value, low, high = map(_number, figure.difference)
    return f"difference to the released scores {value}, {low} to {high}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def with_finds(preset: str, runs: Sequence[Run]) -> str:
    """Return the file of the preset ``large`` with what it finds beside ``small``."""
    pairs = next(run.figures for run in runs if run.bench == "minimal-pairs")
    figures = {each.row: each for each in pairs if each.on == "all kinds"}
    rows = [figures[row] for row in ("quality (large)", "quality")]
    large, small = (f"{row.value:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in rows)
    count = f"of {rows[0].n} pairs of a good and a flawed reply"
    said = f"large finds more: {count}, {large} are in the right order, and with small {small}"
    return re.sub("^finds = .*$", f'finds = "{said}"', preset, count=1, flags=re.MULTILINE)
