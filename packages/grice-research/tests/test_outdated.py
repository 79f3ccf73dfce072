import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from fake_metrics import made_figure as figure
from fake_metrics import made_run as run
from grice.metrics.declaration import find_metrics
from grice.models.folder import open_folder
from grice_research.comparisons import limits_of
from grice_research.figures import Gap
from grice_research.pages import (
    MARK,
    METRIC,
    UNKNOWN,
    Change,
    Shipped,
    bench_page,
    changes,
    due,
    index_page,
    notice,
    outdated,
)  # fmt: skip
from grice_research.runs import read_runs

SHIPS = Shipped({"relevance": "4", "sensibleness": "1"}, {"encoder": "0123abcd"},
                {"relevance": {"history": "3"}})  # fmt: skip
RESULTS = Path(__file__).parents[3] / "docs" / "results"
RUNS = read_runs(RESULTS)


@pytest.mark.parametrize(("signature", "expected"), [
    ("relevance:4|history:3|model:a@99999999+encoder@0123abcd|on:set@99999999", []),
    ("relevance:3|model:encoder@99999999", [Change("relevance 3", "relevance 4")]),
    ("relevance:4|history:2", [Change("relevance with history 2", "relevance with history 3")]),
    ("relevance:4|mode:fast+sensibleness:2", [Change("sensibleness 2", "sensibleness 1")]),
    ("sensibleness:1|model:encoder@99999999", [Change("encoder@99999999", "encoder@0123abcd")]),
    ("encoder@99999999|on:x", [Change("encoder@99999999", "encoder@0123abcd")]),
    ("sensibleness:1|on:encoder@99999999:overall", []),
    ("dropped:2|mode:fast", [Change("dropped 2", "")]), ("released:deam|on:set", []), ("", []),
])  # fmt: skip
def test_a_signature_says_what_does_not_ship(signature, expected):
    assert changes(signature, SHIPS) == expected


def test_a_row_of_another_version_or_set_is_outdated():
    new, old = "relevance:4|mode:fast", "relevance:3|mode:fast"
    figures = (
        figure("relevance", new), figure("relevance", old, on="other"),
        figure("people", "votes|on:people@0000000a", on="votes"),
        figure("people", "votes|on:people@0000000b", on="before", date="2026-01-01"),
        figure("sensibleness of replies"),
        figure("sensibleness of replies", kind="baseline", on="other"),
        figure("length", kind="baseline"), figure("people, mean"),
    )  # fmt: skip
    found = {(each.row, each.on): changed for each, changed in outdated(figures, SHIPS).items()}
    assert found == {
        ("relevance", "other"): (Change("relevance 3", "relevance 4"),),
        ("people", "before"): (Change("people@0000000b", "people@0000000a"),),
        ("sensibleness of replies", "set"): (Change(f"sensibleness {UNKNOWN}", "sensibleness 1"),),
    }


def test_a_notice_says_what_was_recorded_what_ships_and_the_command():
    given = [Change("b 1", "b 2"), Change("a 1", "a 3"), Change("a 2", "a 3"), Change("a 1", "a 3")]
    said = notice(given, ["grice bench x", "grice bench x"], "Rows")
    assert said.startswith(
        "**Recorded for a 1, a 2 and b 1; what ships is a 3 and b 2.** Rows are *not"
    )
    assert said.endswith("record them again with `grice bench x`.")
    assert "none of them ships" in notice([Change("c 1", "")], ["x"], "Rows")
    assert notice([], ["x"], "Rows") == ""


@pytest.mark.parametrize("old", [True, False])
def test_pages_mark_and_do_not_count_what_does_not_ship(old):
    metric, folder = find_metrics().named("relevance"), open_folder("quality-small")
    version = f"{metric.version}0" if old else metric.version
    digest = "0" * 8 if old else folder.digest
    given = run(
        figure("relevance", f"relevance:{version}|on:set", verdict="beside: above", published=0.3),
        figure("quality", f"quality-small@{digest}|on:set"),
        figure("length", kind="baseline"),
        counts={"beside: above": 1, "none": 2},
    )
    page, index = bench_page(given, "../results.md"), index_page([given], "results")
    assert ("**Recorded for " in page) is ("**Recorded for " in index) is old
    assert page.count(f"** {MARK} |") == 2 * old
    assert (f"what ships is {folder.identity} and relevance {metric.version}.**" in page) is old
    assert "| *length* | spearman on set |" in page
    counted = "| 0 | 0 | 0 | 0 | 0 | 2 |" if old else "| 1 | 0 | 0 | 0 | 0 | 0 |"
    assert f"| all | – {counted}" in index


@pytest.mark.parametrize("given", RUNS, ids=lambda given: given.bench)
def test_a_recorded_row_is_of_what_ships_or_its_page_says_that_it_is_not(given):
    page, again = (RESULTS / f"{given.bench}.md").read_text("utf-8"), f"{given.command} --record"
    assert page == bench_page(given, "../results.md"), f"run make results, or {again} docs/results"
    for fresh in [each for each in given.figures if METRIC.search(each.signature)][:1]:
        stale = replace(fresh, signature=re.sub(r":\d+", ":0", fresh.signature))
        figures = tuple(stale if each is fresh else each for each in given.figures)
        found = bench_page(replace(given, figures=figures), "../results.md")
        assert fresh in outdated(given.figures) or found.count(MARK) > page.count(MARK)
        assert f"are *not recorded for this version*; record them again with `{again}" in found


def test_benches_that_are_due_are_those_with_other_versions_the_cheapest_first():
    old = [
        run(figure("relevance", "relevance:0|on:set", date=date), bench=name, seconds=seconds)
        for name, seconds, date in (("slow", 9, ""), ("left", 2, "2026"), ("quick", 1, ""))
    ]
    runs = [*old, run(figure("length"), bench="new")]
    assert due(runs, (), complete=False) == ["quick", "slow"]
    assert due(runs, (), complete=True) == ["quick", "left", "slow"]
    assert due(runs, ("relevance",), complete=False) == ["quick", "left", "slow"]


def test_limits_keep_the_signature_of_what_does_not_ship():
    version = find_metrics().named("relevance").version

    def compared(number):
        return run(
            figure("relevance", f"relevance:{number}|on:set", metric="relevance",
                   gaps=(Gap("length", -0.1, -0.2, 0.0),)),
            figure("length", kind="baseline"),
        )  # fmt: skip

    runs = [compared(version), compared(f"{version}0")]
    assert limits_of(runs).metrics["relevance"].signature == f"relevance:{version}0"
    assert limits_of(runs[:1]).metrics["relevance"].signature == f"relevance:{version}"
