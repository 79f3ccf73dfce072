"""Stated limits of metrics follow from the recorded figures alone."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice_research.comparisons import Comparison, Limits, Recorded, explained, limits_of, summed_up
from grice_research.runs import read_runs

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def marked(on, value, half, gap=-0.1, baseline="cosine_last_turn", of_baseline=None):
    return Comparison(on, "AUC", value, value - half, value + half, 818, baseline,
                      value - gap if of_baseline is None else of_baseline,
                      (gap, gap - 0.05, gap + 0.05), None, "grice bench abc-eval")  # fmt: skip


def rated(on, gap, alike=0.3, baseline="log_length"):
    return Comparison(on, "spearman", 0.3, 0.2, 0.4, 300, baseline, 0.3 - gap,
                      (gap, gap - 0.05, gap + 0.05), alike)  # fmt: skip


def known(*comparisons, metric="made"):
    limits = Limits("made:2|mode:exact", comparisons)
    return Recorded({metric: limits}, tuple({comparison.baseline for comparison in comparisons}))


@pytest.mark.parametrize(
    ("comparison", "sentence", "line"),
    [
        (marked("self contradiction", 0.40, 0.05),
         "Below chance, so that turns with it score higher, for self contradiction "
         "(AUC 0.40 [0.35, 0.45]).", "near or below chance for self contradiction"),
        (marked("ignore", 0.49, 0.06), "Near chance for ignore (AUC 0.49 [0.43, 0.55]).",
         "near or below chance for ignore"),
        (marked("redundant", 0.60, 0.05, gap=-0.14),
         "Above chance, but not above a trivial baseline, for redundant (AUC 0.60 against 0.74 of "
         "cosine_last_turn, difference -0.14 [-0.19, -0.09]).",
         "no limit found by what was measured"),
        (marked("irrelevant", 0.80, 0.05, gap=0.2), "No limit found by what was measured.",
         "no limit found by what was measured"),
        (rated("fed_turn", -0.07),
         "Below the trivial baseline log_length on 1 of 1 rated set: fed_turn (Spearman 0.30 "
         "against 0.37 of log_length, difference -0.07 [-0.12, -0.02]).",
         "not above log_length on 1 of 1 rated sets"),
        (rated("fed_turn", 0.01), "Level with the trivial baseline log_length on 1 of 1 rated set: "
         "fed_turn.", "not above log_length on 1 of 1 rated sets"),
        (rated("fed_turn", 0.2, alike=0.97), "Ranks as the trivial baseline log_length does: "
         "Spearman between the two 0.97 to 0.97 on 1 rated set.", "ranks as log_length does"),
    ],
)  # fmt: skip
def test_a_comparison_becomes_its_sentence(comparison, sentence, line):
    assert explained("made", known(comparison))[0] == sentence
    assert summed_up("made", known(comparison)) == line


def test_the_best_trivial_baseline_counts_for_what_people_marked():
    weak = marked("ignore", 0.6, 0.02, gap=0.1, baseline="log_length", of_baseline=0.5)
    strong = marked("ignore", 0.6, 0.02, gap=-0.1, baseline="position", of_baseline=0.7)
    (sentence, _) = explained("made", known(weak, strong))
    assert "of position" in sentence
    assert "log_length" not in sentence


def test_by_what_a_metric_of_conversations_was_compared_is_said():
    named = msgspec.structs.replace(marked("ignore", 0.5, 0.05), note="the turns it names")
    assert "What people marked is compared by the turns it names." in explained(
        "made", known(named, marked("redundant", 0.5, 0.05))
    )


def test_without_recorded_rows_a_metric_is_not_measured():
    content = known(rated("fed_turn", 0.1))
    assert summed_up("other", content) == "not measured"
    assert explained("other", content) == [
        "Not measured: no recorded bench has held it against trivial baselines."
    ]
    assert summed_up("log_length", content) == "a trivial baseline itself"


def test_other_settings_than_the_measured_ones_are_said():
    content = known(rated("fed_turn", -0.1))
    assert not any("other settings" in sentence for sentence in explained("made", content))
    assert not any("other settings" in sentence for sentence in explained("made", content,
                                                                signature="made:2|"))  # fmt: skip
    newer = explained("made", content, signature="made:3|mode:exact")
    assert "Measured with other settings or another version: made:2|mode:exact." in newer


@given(
    st.floats(0.01, 0.99), st.floats(0.001, 0.2), st.floats(-0.5, 0.5), st.floats(0.001, 0.2)
)  # fmt: skip
def test_nothing_is_held_against_what_is_surely_above_chance_and_baseline(value, half, gap, wide):
    comparison = msgspec.structs.replace(
        marked("ignore", value, half), gap=(gap, gap - wide, gap + wide), of_baseline=value - gap
    )
    surely = value - half > 0.5 and gap - wide > 0
    sentences = explained("made", known(comparison))
    assert (sentences[0] == "No limit found by what was measured.") == surely


def test_every_figure_in_a_sentence_is_a_recorded_one():
    content = limits_of(read_runs(RESULTS))
    shown = re.compile(r"(?:AUC|Spearman) (\d\.\d\d)")
    for metric, limits in content.metrics.items():
        values = {f"{comparison.value:.2f}" for comparison in limits.comparisons}
        for sentence in explained(metric, content):
            assert set(shown.findall(sentence)) <= values
            for on in re.findall(r"([\w ]+) \(AUC", sentence):
                named_set = on.removeprefix("Near chance for").removeprefix(" higher, for")
                known_on = [comparison.on for comparison in limits.comparisons]
                assert any(named_set.endswith(known_set) for known_set in known_on), named_set
