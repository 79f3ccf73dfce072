"""``grice bench``: published tables and tasks beside what is measured here."""

from __future__ import annotations

from contextlib import ExitStack
from copy import copy
from datetime import UTC, datetime
from functools import cache
from os.path import relpath
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from grice.cli.options import load_grader, opened_models, options_of_others
from grice.cli.output import DONE, Output, emit, warn
from grice.tables import Lines, Table, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.cli.derive import OutputPath, Scoring
    from grice.models.loader import ModelLoader
    from grice.scoring.api import Grader
    from grice.tables import View
    from grice_research.context import BenchContext
    from grice_research.figures import Figure
    from grice_research.published import Bench


def run(
    names: Sequence[str] = (),
    *,
    data: Path | None = None,
    without: Sequence[str] = (),
    record: Path | None = None,
    page: OutputPath | None = None,
    scoring: Scoring,
    json: bool,
) -> Output | int:
    """Measure published tables again, beside our metrics and trivial baselines.

    Args:
        names (NAME): benches, or all; outdated: those in --record with figures that are not of what
            ships, the cheapest first; list, or none, lists them
        without (SET): leave a large set out
        record (DIR): keep the run here
        page (FILE.md): write an index of all runs kept in --record, and a page for each beside its
            record; without NAME nothing is measured
    """
    from grice.errors import InputError
    from grice_research.benches._turns import FETCHED, metrics_at_hand
    from grice_research.pages import due, outdated
    from grice_research.published import bench_names, load_bench
    from grice_research.runs import read_runs

    known = bench_names()
    asked = [name for name in names if name != "list"]
    if scoring.metrics:
        raise InputError("a bench computes the metrics of its tables: leave out -m")
    if not record and (page or "outdated" in asked):
        raise InputError("--page and outdated read what is kept in --record DIR; name the folder")
    if not asked and not page:
        listed = [load_bench(name) for name in known]
        rows = [{"bench": bench.name, "about": bench.title} for bench in listed]
        cells = [tuple(row.values()) for row in rows]
        return Output(rows, [Table(("bench", "about"), cells, words=2)])
    computed: set[str] = set()
    with ExitStack() as stack:
        context = _bench_context(scoring, data, without, stack, computed)
        asked = known if "all" in asked else list(dict.fromkeys(asked))
        if record and "outdated" in asked:
            at_hand = metrics_at_hand(context)
            complete = set(FETCHED) <= set(at_hand)
            asked = due(read_runs(record), at_hand, complete=complete)
        benches = [load_bench(name) for name in asked]
        counts = [_run_bench(bench, context, record, as_json=json) for bench in benches]
        if len(benches) == 1 and not counts[0] and context.missing:
            raise InputError(next(iter(context.missing.values())))
        for problem in context.missing.values():
            warn(problem)
    # Which metrics the tables have is known once they are computed.
    for flag, metric in options_of_others(scoring, computed):
        raise InputError(f"{flag} had no part in this: no table of {', '.join(asked)} has {metric}")
    for kept in read_runs(record) if record and "outdated" in names else ():
        if left := dict.fromkeys(each.row for each in outdated(kept.figures) if each.date):
            needed = "needs a model or a data set (grice models get large, grice data)"
            warn(f"{kept.bench}: {needed}: {', '.join(left)}")
    if page and record:
        _write_page(record, page)
    return DONE


def _bench_context(
    scoring: Scoring,
    data: Path | None,
    without: Sequence[str],
    stack: ExitStack,
    computed: set[str],
) -> BenchContext:
    from grice.evaluation.datasets import data_folder
    from grice_research.context import BenchContext, metric_and_preset

    def loaded(columns: Sequence[str]) -> tuple[Grader, Mapping[str, str]]:
        parts = [metric_and_preset(column) for column in columns]
        names = [metric for metric, _ in parts]
        computed.update(names)
        chosen = copy(scoring)
        chosen.metrics = ",".join(names)
        chosen.models = next((preset for _, preset in parts if preset), scoring.models)
        grader = stack.enter_context(load_grader(chosen))
        signatures = [grader.signatures[name] for name in names]
        return grader, dict(zip(columns, signatures, strict=True))

    @cache
    def models() -> ModelLoader:
        opened = opened_models(scoring)
        stack.callback(opened.close)
        return opened

    return BenchContext(data_folder(data), loaded, scoring.registry.metrics, without, models)


def _run_bench(bench: Bench, context: BenchContext, record: Path | None, *, as_json: bool) -> int:
    import grice
    from grice_research.figures import figures
    from grice_research.runs import Run, counted, merged, write_run

    start = perf_counter()
    measured = list(figures(bench, context))
    emit((figure.public() for figure in measured), _view(bench, measured), as_json=as_json)
    if record:
        together = merged(measured, record, bench.name)
        write_run(
            Run(
                bench=bench.name,
                title=bench.title,
                paper=bench.paper,
                date=f"{datetime.now(UTC):%Y-%m-%d}",
                version=grice.__version__,
                command=f"grice bench {bench.name}",
                counts=counted(together),
                figures=tuple(figure for figure in together if figure.value is not None),
                notes={table.id: table.note for table in bench.tables if table.note},
                seconds=round(perf_counter() - start, 1),
            ),
            record,
        )
    return len(measured)


def _write_page(folder: Path, page: Path) -> None:
    from grice.files import write_text
    from grice_research.pages import bench_page, index_page
    from grice_research.runs import read_runs

    runs = read_runs(folder)
    write_text(page, index_page(runs, relpath(folder, page.parent)))
    for run in runs:
        write_text(folder / f"{run.bench}.md", bench_page(run, relpath(page, folder)))


def _view(bench: Bench, figures: Sequence[Figure]) -> View:
    from grice_research.runs import counted

    yield Lines([bench.title], style="bold")
    yield Lines([bench.paper], style="dim")
    notes = {table.id: f"{table.id} ({table.note})" for table in bench.tables if table.note}
    parts: dict[tuple[str, str], list[Figure]] = {}
    for name in (*(table.id for table in bench.tables), ""):
        for figure in figures:
            told = figure.value is not None or (not name and figure.published is not None)
            if figure.table == name and told:
                on = f"{figure.measure} on {figure.on}" if figure.on else figure.measure
                parts.setdefault((name, on), []).append(figure)
    last = ""
    for (name, title), rows in parts.items():
        if name != last:
            yield Lines(["", notes.get(name, name)], style="italic")
            last = name
        yield Table((title, "value", "95 %", "n", "printed", "verdict"), map(_row, rows))
    counts = counted(figures)
    counts.pop("none", None)
    yield Lines(["", "; ".join(f"{count} {verdict}" for verdict, count in counts.items())])


def _row(figure: Figure) -> tuple[str, ...]:
    value, low, high = figure.value, figure.low, figure.high
    return (
        figure.row,
        number(value, ".3f" if value is None or abs(value) < 10 else ".1f"),
        "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]",
        str(figure.n or ""),
        "" if figure.published is None else f"{figure.published:g}",
        figure.verdict or "",
    )
