"""Writes the tables of agreement in ``docs/presets.md`` from the records in ``docs/results``.

What a preset costs is measured by ``bench/presets.py``, which writes the rest of that page.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from grice.metrics.declaration import find_metrics
from grice.scoring.api import Preset, named_preset
from grice_research.figures import Figure
from grice_research.pages import MARK, notice, outdated
from grice_research.runs import Run

SETS = {
    "minimal-pairs": ("share right", "all kinds"),
    "breakdowns": ("AUC", "breakdown"),
    "abc-eval": ("AUC", "any of six flaws"),
}
"""Benches that hold every metric of the presets, and what the page takes of them."""
SECTION = re.compile(
    r"(^## (\w+)\n(?:(?!## ).*\n)*?\*\*Agreement\*\*)(?:(?!## ).*\n)*?(?=\*\*What)", re.MULTILINE
)


def with_agreement(page: str, runs: Sequence[Run]) -> str:
    """Return the page with the tables of its sections written anew."""
    return SECTION.sub(lambda found: found[1] + agreement(named_preset(found[2]), runs), page)


def agreement(preset: Preset, runs: Sequence[Run]) -> str:
    """Return the table of a preset with its title, and which versions that do not ship it is of."""
    names = (*find_metrics().defaults(), *preset.metrics)
    rows = {
        f"`{name}`": f"{name} ({preset.name})" if name in preset.options else name for name in names
    } | {"*order of review*": f"review-{preset.name}"}
    columns = {run.bench: _figures(run, *SETS[run.bench]) for run in runs if run.bench in SETS}
    old = {figure: each for run in runs if run.bench in SETS
           for figure, each in outdated(run.figures).items()}  # fmt: skip
    best = {
        bench: max((each for each in figures.values() if each.kind == "baseline"),
                   key=lambda figure: figure.value or 0.0, default=None)
        for bench, figures in columns.items()
    }  # fmt: skip
    shown = [figures.get(row) for row in rows.values() for figures in columns.values()]
    used = [figure for figure in (*shown, *best.values()) if figure in old]
    changed = [change for figure in used for change in old[figure]]
    commands = [f"grice bench {figure.bench}" for figure in used]
    said = notice(changed, commands, f"Figures with {MARK}")
    title = " | ".join(f"{bench}: {', '.join(SETS[bench])}" for bench in SETS)
    lines = [
        ", with 95 % intervals; the last row is the best trivial baseline of each column.",
        "",
        *([said, ""] if said else []),
        f"| metric | {title} |",
        "|---" * (len(SETS) + 1) + "|",
        *(f"| {label} | {' | '.join(_cell(columns[bench].get(row), old) for bench in SETS)} |"
          for label, row in rows.items()),
        f"| *baseline* | {' | '.join(_best(best[bench], old) for bench in SETS)} |",
    ]  # fmt: skip
    return "\n".join(lines) + "\n\n"


def _figures(run: Run, measure: str, on: str) -> Mapping[str, Figure]:
    return {each.row: each for each in run.figures if (each.measure, each.on) == (measure, on)}


def _best(figure: Figure | None, old: Container[Figure]) -> str:
    return "–" if figure is None else f"{_cell(figure, old)} ({figure.row})"


def _cell(figure: Figure | None, old: Container[Figure]) -> str:
    if figure is None or figure.value is None:
        return "–"
    mark = f" {MARK}" if figure in old else ""
    return f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]{mark}"
