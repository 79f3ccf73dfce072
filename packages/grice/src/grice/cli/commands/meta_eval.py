"""``grice meta-eval``: agreement of metrics with people, beside trivial baselines."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli.derive import names
from grice.cli.options import check_options, loader
from grice.cli.output import DONE, INVOCATION, PARTIAL, Output, listing, show, warn
from grice.errors import LONGEST, InputError, plural
from grice.tables import Lines, Table, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Many, OutputPath, Scoring
    from grice.evaluation.meta import Block, Row
    from grice.stats.estimate import Estimate
    from grice.tables import View


def run(
    names_: Sequence[str] = (),
    *,
    on: Many | None = None,
    data: Path | None = None,
    scores: Sequence[str] = (),
    baseline: str | None = None,
    kendall: bool = False,
    seed: int = 0,
    csv: OutputPath | None = None,
    latex: OutputPath | None = None,
    report: OutputPath | None = None,
    scoring: Scoring,
    json: bool,
) -> Output | int:
    """Correlate metrics with human ratings, beside trivial baselines.

    Args:
        names_ (METRIC): metrics to judge, by default those of grice score; the trivial baselines
            are always included; list alone lists the rated sets
        on (SET[:ASPECT]): rated sets, files of your own, or all; aspects after a colon:
            fed_turn:relevant,fluent or fed_turn:all
        scores ([SET=]FILE): take scores from this file of grice score (of another tool:
            FILE#COLUMN) instead of computing them
        baseline (METRIC): the trivial baseline to compare with
        kendall: Kendall's tau-b too
        seed: resamples
        csv (FILE): write CSV
        latex (FILE): write LaTeX
    """
    from grice.evaluation.meta import meta_evaluate, shared_evidence
    from grice.report.exports import as_json, write_results

    if names_ == ["list"]:
        return _sets()
    if not on:
        files = [name for name in names_ if Path(name).is_file()]
        given = f"--on {shlex.join(files)}" if files else "--on SET …, --on FILE or --on all"
        raise InputError(f"say what to judge on: {given}; grice meta-eval list names the sets")
    judged = [*dict.fromkeys([*names(",".join(names_)), *names(scoring.metrics)])]
    if not judged and not scores:
        judged = list(scoring.registry.defaults())
    check_options(scoring, judged)
    blocks = []
    for block in meta_evaluate(
        judged,
        on,
        load=loader(scoring),
        data=data,
        scores=scores,
        baseline=baseline,
        kendall=kendall,
        seed=seed,
    ):
        blocks.append(block)
        for problem in block.problems[:3]:
            warn(problem)
        if not json:
            show(_view(block))
    shared = shared_evidence([block.data for block in blocks])
    for line in shared:
        warn(line)
    if json:
        sys.stdout.write(as_json(blocks) + "\n")
    command = INVOCATION.get().command()
    write_results(blocks, csv=csv, latex=latex, html=report, command=command, shared=shared)
    return PARTIAL if any(row.failed for block in blocks for row in block.rows) else DONE


def _sets() -> Output:
    """List the rated sets."""
    from grice.evaluation.datasets import known_sets

    return listing(
        {
            "set": entry.name,
            "level": entry.level,
            "aspects": list(entry.all_aspects),
            "default": entry.default,
            "licence": entry.licence,
        }
        for entry in known_sets().values()
    )


def _view(block: Block) -> View:
    """Show one set and aspect: correlations, partial ones, systems."""
    yield Lines([f"{block.data} · {block.aspect}"], style="bold")
    about = f"{block.level} level, {plural(block.items, 'item')}"
    if block.groups:
        about += f" in {plural(block.groups, 'group')}"
    if block.ceiling is not None:
        about += f"; ceiling (Pearson) {block.ceiling.value:.2f}{_bounds(block.ceiling)}"
    if block.judge is not None:
        about += f"; one judge (Spearman) {block.judge.value:.2f}"
    about += f"; baseline: {block.baseline}; in brackets 95 % intervals"
    yield Lines([about, *([block.note] if block.note else [])], "dim", longest=LONGEST)
    columns = ("metric (trivial dim)", "Spearman", "Pearson", "to baseline", "rank", "abst.")
    dim = frozenset(place for place, row in enumerate(block.rows) if row.trivial)
    yield Table(columns, map(_cells, block.rows), dim=dim)
    yield Lines([""])
    yield Lines(_notes(block), indent=2, longest=LONGEST)
    rows = [row for row in block.rows if row.confounds and not row.trivial]
    if rows:
        given = (confound.given for confound in rows[0].confounds)
        retained = (
            (
                row.metric,
                *(
                    number(each.partial.value if each.partial else None, ".2f")
                    + ("" if each.kept is None else f" {100 * each.kept:.0f} %")
                    for each in row.confounds
                ),
            )
            for row in rows
        )
        yield Table(("controlling for", *given), retained)
    systems = [row for row in block.rows if row.system_spearman is not None]
    if systems and block.system_count < 4:
        yield Lines(["no correlation of systems: at least 4 are needed"], indent=2)
    elif systems:
        title = f"between {block.system_count} systems"
        cells = (
            (row.metric, *map(figure, (row.system_spearman, row.system_pearson, row.accuracy)))
            for row in systems
        )
        yield Table((title, "Spearman", "Pearson", "pairs in order"), cells)
    yield Lines([""])


def _cells(row: Row) -> tuple[str, ...]:
    if row.spearman is None or row.pearson is None:
        return (row.metric, "–", "–", "", "", str(row.abstained))
    return (
        row.metric,
        figure(row.spearman),
        f"{row.pearson.value:.3f}",
        "" if row.versus is None else f"{row.versus.value:+.3f}{_bounds(row.versus)}",
        str(row.cluster or ""),
        str(row.abstained or ""),
    )


def _notes(block: Block) -> Iterator[str]:
    for row in block.rows:
        counts = ((row.failed, "failed"), (row.missing, "without a score"))
        left = [f"{count} {what}" for count, what in counts if count]
        if left or row.why:
            yield f"{row.metric}: " + "; ".join([*left, *([row.why] if row.why else [])])
    yield from (f"{row.metric}: {caveat}" for row in block.rows for caveat in row.caveats)
    how = {row.reduced for row in block.rows if row.reduced}
    if how:
        yield f"scores of single replies: {', '.join(how)} per conversation"
    if block.unrated:
        yield f"no rating of {block.aspect}: {plural(block.unrated, 'item')}"
    if block.problems:
        yield f"{plural(len(block.problems), 'record')} could not be read"


def figure(estimate: Estimate | None) -> str:
    """Format an estimate with its interval."""
    return "–" if estimate is None else f"{estimate.value:.3f}{_bounds(estimate)}"


def _bounds(estimate: Estimate) -> str:
    """Return an interval without leading zeros, as tables of the field write it."""
    if not estimate.interval:
        return ""
    low, high = (
        f"{bound:.2f}".replace("0.", ".", 1) if abs(bound) < 1 else f"{bound:.2f}"
        for bound in estimate.interval
    )
    return f" [{low}, {high}]"
