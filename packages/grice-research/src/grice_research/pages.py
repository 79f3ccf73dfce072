"""Pages on bench runs, written from their records."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from grice_research.outdated import MARK, notice, outdated
from grice_research.rows import VERDICTS, legend
from grice_research.runs import NOT_MEASURED, counted

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from grice_research.figures import Figure
    from grice_research.runs import Run

OTHER = "other versions"


def index_page(runs: Sequence[Run], folder: str) -> str:
    """Return the index of all benches, as Markdown."""
    return "\n".join(_index(runs, folder)) + "\n"


def bench_page(run: Run, index: str) -> str:
    """Return the page of one bench, as Markdown."""
    return "\n".join(_section(run, index)) + "\n"


def _index(runs: Sequence[Run], folder: str) -> Iterator[str]:
    yield "# Results"
    yield ""
    yield (
        "Published tables beside what is measured here, a page for each bench. Written by `grice "
        "bench --page` from the records beside the pages; no figure is typed."
    )
    yield ""
    old = [each for run in runs for each in outdated(run.figures).values()]
    if old:
        figures = f"Figures under *{OTHER}* ({len(old)})"
        yield notice((change for each in old for change in each), ["grice bench NAME"], figures)
        yield ""
    yield "Verdicts on a printed figure:"
    yield ""
    yield from legend()
    yield (
        f"- *{OTHER}*: figures recorded for a version of a metric or a model that does not "
        f"ship now. The pages mark them {MARK}; no other column counts them."
    )
    yield ""
    yield from _overview(runs, folder)


def _overview(runs: Sequence[Run], folder: str) -> Iterator[str]:
    yield (
        "| bench | recomputed | reproduced | beside: above | level | below | cannot be checked "
        f"| {NOT_MEASURED} | {OTHER} | date |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
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
    """Yield the cells of the counts; of what was tried, how many were."""
    for name in ("recomputed", "reproduced"):
        done, not_done = counts.get(name, 0), counts.get(f"not {name}", 0)
        yield f"{done} of {done + not_done}" if done + not_done else "–"
    beside = (verdict for verdict in VERDICTS if verdict.startswith("beside"))
    for name in (*beside, VERDICTS[-1], NOT_MEASURED, OTHER):
        yield str(counts.get(name, 0))


def _section(run: Run, index: str) -> Iterator[str]:
    yield f"# {run.bench}"
    yield ""
    yield f"{run.title}. {run.paper}."
    yield ""
    yield f"`{run.command}`, {run.date}, grice {run.version}. [All benches and verdicts]({index})."
    yield ""
    old = outdated(run.figures)
    if old:
        differ = (change for each in old.values() for change in each)
        yield notice(differ, [run.command], f"Rows with {MARK} ({len(old)})")
        yield ""
    yield (
        "Intervals are 95 %. *Printed* is the figure of the source, of our metrics that of the row "
        "they are set beside. Rows in italics are trivial baselines."
    )
    yield ""
    for table in dict.fromkeys(figure.table for figure in run.figures):
        yield from _table(run, table, old)


def _table(run: Run, table: str, old: Container[Figure]) -> Iterator[str]:
    yield f"## {table or 'Measured on the task'}"
    yield ""
    if run.notes.get(table):
        note = run.notes[table]
        yield f"{note[0].upper()}{note[1:]}."
        yield ""
    yield "| row | measure | value | interval | n | printed | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for figure in run.figures:
        if figure.table == table:
            yield _line(figure, f" {MARK}" if figure in old else "")
    yield ""


def _line(figure: Figure, mark: str) -> str:
    name = _cell(figure.row)
    name = f"*{name}*" if figure.kind == "baseline" else name
    name = f"**{name}**" if figure.kind == "ours" else name
    name += mark
    if figure.beside:
        name += f" beside {_cell(figure.beside)}"
    bounds = (
        ""
        if figure.low is None or figure.high is None
        else (f"{_number(figure.low)} to {_number(figure.high)}")
    )
    value = "" if figure.value is None else _number(figure.value)
    printed = "" if figure.published is None else f"{figure.published:g}"
    what = f"{figure.measure} on {_cell(figure.on)}" if figure.on else figure.measure
    remarks = [_difference(figure), _cell(figure.why) if figure.kind == "ours" else ""]
    remark = "; ".join(filter(None, remarks)) if figure.verdict else ""
    verdict = (figure.verdict or "") + (f" ({remark})" if remark else "")
    if figure.date:
        verdict = f"{verdict}; measured {figure.date}".removeprefix("; ")
    return f"| {name} | {what} | {value} | {bounds} | {figure.n or ''} | {printed} | {verdict} |"


def _difference(figure: Figure) -> str:
    if figure.difference is None:
        return ""
    value, low, high = map(_number, figure.difference)
    return f"difference to the released scores {value}, {low} to {high}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
