"""Results as files: pages of a comparison and a meta-evaluation, JSON, CSV, LaTeX, JUnit XML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

import grice
from grice.data import to_json
from grice.files import write_text
from grice.report.findings import explained
from grice.report.html import asset, environment, head, rendered
from grice.report.svg import WIDTH
from grice.tables import bracketed

if TYPE_CHECKING:
    from grice.evaluation.compare import CompareResult
    from grice.evaluation.gate import GateResult
    from grice.evaluation.meta import Block
    from grice.stats.estimate import Estimate

LEVEL = 0.05  # below it a p-value is significant
SIDES = ("", "_low", "_high")
SAME = ("metric", "n", "abstained", "failed", "missing", "why", "signature")
"""Fields of the CSV that a row of a table has by the same name."""
FIGURES = ("spearman", "pearson", "kendall", "accuracy")
FIELDS = (
    "data", "aspect", "level", "metric", "trivial", "n", "groups", "abstained", "failed", "missing",
    *(f"{figure}{side}" for figure in FIGURES for side in SIDES),
    "baseline", *(f"difference{side}" for side in SIDES),
    "p_value", "cluster", "kept_given", "ceiling", "why", "caveats", "signature",
)  # fmt: skip
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def write_results(
    blocks: Sequence[Block],
    *,
    csv: Path | None = None,
    latex: Path | None = None,
    html: Path | None = None,
    command: str = "",
) -> None:
    """Write a meta-evaluation to files."""
    if csv is not None:
        write_text(csv, as_csv(blocks))
    if latex is not None:
        write_text(latex, as_latex(blocks))
    if html is not None:
        title = "Metrics against human ratings"
        made = f"{datetime.now(UTC):%Y-%m-%d}, grice {grice.__version__}"
        page = evaluation_page(blocks, title=title, command=command, made=made)
        write_text(html, page)


def as_json(blocks: Sequence[Block]) -> str:
    """Return the tables as a JSON array, without the single values, which scores hold."""
    return to_json(
        [
            replace(block, rows=tuple(replace(row, points=()) for row in block.rows))
            for block in blocks
        ]
    )


def as_csv(blocks: Sequence[Block]) -> str:
    """Return one line per metric and set, and one per metric and set at the level of systems."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    for record in _records(blocks):
        writer.writerow({name: _no_formula(cell) for name, cell in record.items()})
    return text.getvalue()


def _records(blocks: Sequence[Block]) -> Iterator[dict[str, object]]:
    for block in blocks:
        about = {"data": block.data, "aspect": block.aspect}
        for row in block.rows:
            kept = (
                f"{each.given} {each.kept:.3f}" for each in row.confounds if each.kept is not None
            )
            yield about | {
                "level": block.level,
                **{name: getattr(row, name) for name in SAME},
                "trivial": "yes" if row.trivial else "no",
                "groups": block.groups or "",
                "baseline": block.baseline,
                "p_value": "" if row.p_value is None else f"{row.p_value:.6g}",
                "cluster": row.cluster or "",
                "kept_given": "; ".join(kept),
                "ceiling": f"{block.ceiling.value:.6f}" if block.ceiling else "",
                "caveats": "; ".join(row.caveats),
                **_bounds(**{name: getattr(row, name) for name in FIGURES[:3]}),
                **_bounds(difference=row.versus),
            }
        for row in block.systems:
            figures = {"spearman": row.system_spearman, "pearson": row.system_pearson}
            system = {"level": "system", "metric": row.metric, "n": block.system_count}
            system["why"] = row.system_why
            yield about | system | _bounds(accuracy=row.accuracy, **figures)


def _bounds(**estimates: Estimate | None) -> dict[str, str]:
    return {
        f"{name}{side}": "" if figure is None else f"{figure:.6f}"
        for name, each in estimates.items()
        if each is not None
        for side, figure in zip(SIDES, (each.value, each.low, each.high), strict=True)
    }


def _no_formula(cell: object) -> object:
    """Escape a cell that a spreadsheet would run as a formula, with a leading quote."""
    if not isinstance(cell, str) or NUMBER.fullmatch(cell) or not FORMULA.match(cell):
        return cell
    return f"'{cell}"


def as_latex(blocks: Sequence[Block]) -> str:
    """Return one table of all sets for the package ``booktabs``: a line a metric, a column a set.

    A cell is Spearman's correlation with its interval. Bold are the best metric of a column and
    those that do not differ significantly from it, a dagger marks a significant difference to the
    baseline. Metrics without a figure are left out, and named in a comment.
    """
    cells: dict[str, dict[int, dict[str, object]]] = {}
    left_out = {}
    for column, block in enumerate(blocks):
        best = next((row.metric for row in block.rows if row.spearman), "")
        apart = {
            name: pair.p_value < LEVEL
            for pair in block.comparisons
            if best in (pair.first, pair.second)
            for name in (pair.first, pair.second)
        }
        for row in block.rows:
            if row.spearman is None:
                left_out[row.metric] = row.why
                continue
            differs = row.versus is not None and (row.p_value or 0.0) < LEVEL
            mark = "" if row.versus is None or not differs else "+" if row.versus.value > 0 else "-"
            is_best = row.metric == best or not apart.get(row.metric, True)
            cell = {"figure": row.spearman, "mark": mark, "is_best": is_best}
            cells.setdefault(row.metric, {})[column] = cell
    trivial = {row.metric for block in blocks for row in block.rows if row.trivial}
    tables = [{n: c for n, c in cells.items() if (n in trivial) is k} for k in (False, True)]
    left_out = {name: why for name, why in left_out.items() if name not in cells}
    return rendered(
        "meta.tex.j2", blocks=blocks, tables=[table for table in tables if table],
        left_out=left_out, bracketed=bracketed, level=LEVEL,
    )  # fmt: skip


def junit(result: GateResult, source: str) -> str:
    """Return the checks as test cases of one suite; an uncertain one that counts is a failure."""
    passing = ("passed", "uncertain") if result.allow_uncertain else ("passed",)
    failing = [check for check in result.checks if check.verdict not in passing]
    return rendered("junit.xml.j2", checks=result.checks, failing=failing, source=source)


def markdown(result: GateResult, source: str) -> str:
    """Return the checks as a Markdown table under the overall result."""
    return rendered("gate.md.j2", result=result, source=source)


def difference_page(result: CompareResult) -> str:
    """Return the page of a comparison: one file in the style of the report, no script."""
    style = asset("report.css") + asset("difference.css")
    title = f"{result.other} against {result.baseline}"
    templates = environment()
    templates.filters["explained"] = explained
    template = templates.get_template("difference.html.j2")
    return template.render(result=result, head=head(title, style=style), width=WIDTH)


def evaluation_page(blocks: Sequence[Block], *, title: str, command: str, made: str) -> str:
    """Return the page of a meta-evaluation, likewise."""
    signatures = [(row.metric, row.signature) for block in blocks for row in block.rows]
    template = environment().get_template("meta.html.j2")
    return template.render(
        title=title, command=command, made=made, blocks=blocks,
        head=head(title, style=asset("meta.css")), signatures=list(dict.fromkeys(signatures)),
    )  # fmt: skip
