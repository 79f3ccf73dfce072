"""Write what is generated: pages of metrics and commands, results, the limits of metrics.

What metrics do not see comes from the recorded runs of the benches
in ``docs/results``, whose pages say which figures are of versions that no longer ship. Tests hold
all of it up to date; see :mod:`console` for what the output of a command may differ by.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path

import console
from blind_spots import blind_spots
from command_pages import command_pages
from metric_pages import metric_page, model_cards
from papers_page import papers_page
from quality_page import quality_page, with_table

from grice.detectors import ALL
from grice.detectors.rules import figures
from grice.evaluation.ranking import scored_rules
from grice.metrics.declaration import Metric, find_metrics
from grice.scoring.api import find_presets
from grice.stats.estimate import wilson_interval
from grice_research.comparisons import Recorded, limits_of
from grice_research.pages import bench_page, changes, index_page, notice, with_finds
from grice_research.runs import read_runs

HERE = Path(__file__).parent
LARGE = find_presets()["large"]
RULES = HERE / "rules.md"
BEGIN, END = "<!-- rules -->\n", "<!-- end of rules -->"
README = HERE.parent / "README.md"
UNSEEN = "## What it does not see\n\n"


@cache
def pages() -> dict[Path, str]:
    """Return the content of every generated page by its path."""
    registry = find_metrics()
    built_in = [name for name, origin in registry.origins.items() if origin == "grice"]
    runs = read_runs(HERE / "results")
    known = limits_of(runs)
    metrics = {name: registry.named(name) for name in built_in}
    return {
        **{HERE / f"metrics/{name}.md": _with_cards(each, known) for name, each in metrics.items()},
        **command_pages(),
        HERE / "what-it-cannot-see.md": blind_spots(known, metrics),
        HERE / "results.md": index_page(runs, "results"),
        **{HERE / "results" / f"{run.bench}.md": bench_page(run, "../results.md") for run in runs},
        RULES: _with_rules(RULES.read_text("utf-8")),
        LARGE: with_finds(LARGE.read_text("utf-8"), runs),
        HERE / "quality.md": quality_page(runs),
        HERE / "papers.md": papers_page(runs),
        README: with_table(README.read_text("utf-8"), runs),
    }


def _with_rules(page: str) -> str:
    """Return the page of rules with what each finds and its recorded figures between the marks."""
    head = "rule|finds|precision|95 %|random|n|natural: right of read|recall|95 %|by default"
    rows = [f"| {head.replace('|', ' | ')} |", "|---|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    by_score = [
        (rule, f", `{p}`") for p in find_presets() for rule in scored_rules(p) if rule.of_preset
    ]
    for rule, preset in [*((rule, "") for rule in ALL), *by_score]:
        seen = rule.of_preset or figures()[rule.code]
        source = rule.detect or rule.scan
        finds = (inspect.getdoc(source) if source else rule.title).partition("\n")[0]
        cells = [f"{rule.code} `{rule.name}`{preset}", finds.removeprefix("Find ").rstrip(".")]
        low, high = wilson_interval(seen.found / max(seen.planted, 1), max(seen.planted, 1))
        shown = [f"{seen.precision:.3f}", f"{seen.low:.3f} – {seen.high:.3f}"]
        shown += [f"{seen.floor:.2f}", f"{seen.n:,}"]
        cells += [*(shown if seen.n else "–––0"), f"{seen.right:,} of {seen.natural:,}"]
        recall = [f"{seen.found} of {seen.planted}", f"{low:.2f} – {high:.2f}"]
        cells += recall if seen.planted else "––"
        rows.append(f"| {' | '.join([*cells, 'yes' if rule.is_default else 'no'])} |")
    before, _, rest = page.partition(BEGIN)
    return "\n".join([before + BEGIN, *rows, "", END]) + rest.partition(END)[2]


def _with_cards(metric: Metric, known: Recorded) -> str:
    """Return the page of a metric with the cards of its models folded below."""
    folded = (
        f"\n<details>\n<summary>{_html(title)}</summary>\n\n{card}\n</details>\n"
        for title, card in model_cards(metric)
    )
    page = metric_page(metric, known)
    if metric.name in known.metrics:
        limits = known.metrics[metric.name]
        commands = [each.command for each in limits.comparisons if each.command]
        said = notice(changes(limits.signature), commands, "Its figures")
        page = page.replace(UNSEEN, f"{UNSEEN}{said}\n\n" if said else UNSEEN)
    return page + "".join(folded)


def _html(title: str) -> str:
    """Return a title whose code is marked as HTML, which Markdown leaves alone in a summary."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", title)


def main() -> None:
    """Write the pages."""
    for path, content in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, "utf-8")
    for path in console.shown_pages():
        path.write_text(console.refreshed(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
