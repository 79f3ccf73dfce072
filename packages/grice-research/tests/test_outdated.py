import pytest

from fake_metrics import made_figure as figure
from fake_metrics import made_run as run
from grice.metrics.registry import find_metrics
from grice.models.folder import open_folder
from grice_research.comparisons import limits_of
from grice_research.pages import (
    MARK,
    UNKNOWN,
    Change,
    Shipped,
    bench_page,
    changes,
    index_page,
    notice,
    outdated,
)  # fmt: skip

SHIPS = Shipped({"relevance": "4", "sensibleness": "1"}, {"encoder": "0123abcd"})


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("relevance:4|history:3|model:a@99999999+encoder@0123abcd|on:set@99999999", []),
        ("relevance:3|model:encoder@99999999", [Change("relevance 3", "relevance 4")]),
        ("relevance:4|mode:fast+sensibleness:2", [Change("sensibleness 2", "sensibleness 1")]),
        ("sensibleness:1|model:encoder@99999999", [Change("encoder@99999999", "encoder@0123abcd")]),
        ("encoder@99999999|on:x", [Change("encoder@99999999", "encoder@0123abcd")]),
        ("sensibleness:1|on:encoder@99999999:overall", []),
        ("dropped:2|mode:fast", [Change("dropped 2", "")]),
        ("released:deam|on:set", []),
        ("", []),
    ],
)
def test_a_signature_says_what_does_not_ship(signature, expected):
    assert changes(signature, SHIPS) == expected


def test_a_row_without_a_signature_is_as_old_as_the_rows_it_is_of():
    new, old = "relevance:4|mode:fast", "relevance:3|mode:fast"
    figures = (
        figure("relevance", new), figure("relevance", old, on="other"),
        figure("relevance less length"), figure("relevance less length", on="other"),
        figure("relevance", measure="difference to people", on="other"),
        figure("sensibleness less length"),
        figure("sensibleness less length", kind="baseline", on="other"),
        figure("length", kind="baseline"), figure("people, mean"),
    )  # fmt: skip
    found = {(each.row, each.on): changed for each, changed in outdated(figures, SHIPS).items()}
    assert found == {
        ("relevance", "other"): (Change("relevance 3", "relevance 4"),),
        ("relevance less length", "other"): (Change("relevance 3", "relevance 4"),),
        ("sensibleness less length", "set"): (Change(f"sensibleness {UNKNOWN}", "sensibleness 1"),),
    }


def test_a_notice_says_what_was_recorded_what_ships_and_the_command():
    given = [Change("b 1", "b 2"), Change("a 1", "a 3"), Change("a 2", "a 3"), Change("a 1", "a 3")]
    said = notice(given, ["grice bench x", "grice bench x"], "Rows")
    assert said.startswith("**Recorded for a 1, a 2 and b 1; what ships is a 3 and b 2.** Rows may")
    assert said.endswith("again with `grice bench x`.")
    assert "none of them ships" in notice([Change("c 1", "")], ["x"], "Rows")
    assert notice([], ["x"], "Rows") == ""


@pytest.mark.parametrize("old", [True, False])
def test_pages_mark_and_do_not_count_what_does_not_ship(old):
    metric, folder = find_metrics().named("relevance"), open_folder("review-small")
    version = f"{metric.version}0" if old else metric.version
    digest = "0" * 8 if old else folder.digest
    given = run(
        figure("relevance", f"relevance:{version}|on:set", verdict="beside: above", published=0.3),
        figure("review-small", f"review-small@{digest}|on:set"),
        figure("length", kind="baseline"),
        counts={"beside: above": 1, "none": 2},
    )
    page, index = bench_page(given, "../results.md"), index_page([given], "results")
    assert ("**Recorded for " in page) is ("**Recorded for " in index) is old
    assert page.count(f"** {MARK} |") == 2 * old
    assert (f"what ships is relevance {metric.version} and {folder.identity}.**" in page) is old
    assert "| *length* | spearman on set |" in page
    counted = "| 0 | 0 | 0 | 0 | 0 | 2 |" if old else "| 1 | 0 | 0 | 0 | 0 | 0 |"
    assert f"| all | – {counted}" in index


def test_limits_keep_the_signature_of_what_does_not_ship():
    version = find_metrics().named("relevance").version

    def compared(number):
        return run(
            figure("relevance", f"relevance:{number}|on:set", metric="relevance"),
            figure("length", kind="baseline"),
            figure("relevance less length", measure="difference of spearman", metric="relevance",
                   baseline="length"),
        )  # fmt: skip

    runs = [compared(version), compared(f"{version}0")]
    assert limits_of(runs).metrics["relevance"].signature == f"relevance:{version}0"
    assert limits_of(runs[:1]).metrics["relevance"].signature == f"relevance:{version}"
