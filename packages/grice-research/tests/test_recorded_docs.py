"""Pages of docs/ that are written from recorded figures say which versions these are of."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import msgspec
import pytest

from grice.metrics.registry import find_metrics
from grice_research.comparisons import limits_of
from grice_research.figures import Figure
from grice_research.runs import Run, read_runs

DOCS = Path(__file__).parents[3] / "docs"


def tool(name):
    """A module of docs/, which is no package."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS))


def test_what_cannot_be_seen_has_words_for_every_flaw_and_rule():
    words = tool("blind_spots")
    known = limits_of(read_runs(DOCS / "results"))
    marked = [each for limits in known.metrics.values() for each in limits.marked()]
    flaws = {comparison.on for comparison in marked if comparison.measure == "AUC"}
    assert flaws <= words.FLAWS.keys()
    assert set(known.baselines) <= words.RULES.keys()


def test_what_cannot_be_seen_follows_from_the_figures():
    known = limits_of(read_runs(DOCS / "results"))
    registry = find_metrics()
    metrics = {name: registry.named(name) for name in registry.metrics}
    page = tool("blind_spots").blind_spots(known, metrics)
    row = next(line for line in page.splitlines() if line.startswith("| states something false"))
    for name, limits in known.metrics.items():
        figure = next(each for each in limits.marked() if each.on == "incorrect fact")
        sees, fooled = figure.low > figure.chance, figure.high < figure.chance
        column = 2 if sees and figure.is_above else 3 if sees else 5 if fooled else 4
        assert f"`{name}`&nbsp;{100 * figure.value:.0f}" in row.split("|")[column]


def test_what_cannot_be_seen_says_which_versions_were_recorded():
    registry = find_metrics()
    metrics = {name: registry.named(name) for name in registry.metrics}
    version = registry.named("relevance").version

    content = limits_of(read_runs(DOCS / "results"))

    def page(recorded_version):
        limits = msgspec.structs.replace(
            content.metrics["relevance"], signature=f"relevance:{recorded_version}|mode:fast"
        )
        known = msgspec.structs.replace(content, metrics={"relevance": limits})
        return tool("blind_spots").blind_spots(known, metrics)

    said = f"**Recorded for relevance {version}0; what ships is relevance {version}.**"
    assert said in page(f"{version}0")
    assert "Recorded for" not in page(version)


@pytest.mark.parametrize("old", [True, False])
def test_presets_mark_figures_of_versions_that_do_not_ship(old):
    written = tool("agreement")
    bench, (measure, on) = next(iter(written.SETS.items()))
    version = find_metrics().named("relevance").version
    figure = Figure(
        bench=bench, table="", row="relevance", kind="ours", on=on, measure=measure, value=0.56,
        low=0.51, high=0.61, n=9, signature=f"relevance:{version}{'0' * old}|mode:fast",
    )  # fmt: skip
    run = Run(bench=bench, title="", paper="", date="", version="", command="", counts={},
              figures=(figure,), notes={})  # fmt: skip
    runs = [run, *(msgspec.structs.replace(run, bench=name, figures=())
                   for name in written.SETS if name != bench)]  # fmt: skip
    before = "# Presets\n\n## small\n\n**Cost.** 7 s.\n\n**Agreement**, of old.\n\n| a |\n\n**What"
    page = written.with_agreement(before, runs)
    assert page.startswith("# Presets\n\n## small\n\n**Cost.** 7 s.\n\n**Agreement**, with")
    assert page.endswith("\n\n**What")
    assert "| a |" not in page
    assert f"| `relevance` | 0.56 [0.51, 0.61]{' †' * old} | – | – |" in page
    assert ("**Recorded for relevance" in page) is old
    assert ("measure them again with `grice bench minimal-pairs`." in page) is old
