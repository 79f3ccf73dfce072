from pathlib import Path

import msgspec
import pytest

from fake_metrics import made_figure, made_run
from grice.metrics.declaration import find_metrics
from grice_research.comparisons import (
    REFINED,
    SEEN,
    Comparison,
    Limits,
    Recorded,
    earned,
    explained,
    limits_of,
    verdict_on,
)  # fmt: skip
from grice_research.figures import Gap
from grice_research.runs import read_runs

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def compared(on, gap, *, baseline="log_length", value=0.5, half=0.05, of=None, **more):
    interval = value, value - half, value + half
    return Comparison(on, more.pop("measure", "spearman"), *interval, 300, baseline,
                      value - gap if of is None else of, (gap, gap - 0.05, gap + 0.05),
                      **more)  # fmt: skip


def marked(on, value, half, gap=-0.1, baseline="cosine_last_turn"):
    more = {"measure": "AUC", "command": "grice bench abc-eval"}
    return compared(on, gap, baseline=baseline, value=value, half=half, **more)


def rated(on, gap, alike=0.3):
    return compared(on, gap, value=0.3, half=0.1, alike=alike)


def recorded(*comparisons):
    limits = Limits("made:2|mode:exact", comparisons)
    return Recorded({"made": limits}, tuple({"log_length", *(c.baseline for c in comparisons)}))


@pytest.mark.parametrize(
    ("comparison", "sentence"),
    [
        (marked("self contradiction", 0.40, 0.05),
         "Below chance, so that turns with it score higher, for self contradiction "
         "(AUC 0.40 [0.35, 0.45])."),
        (marked("ignore", 0.49, 0.06), "Near chance for ignore (AUC 0.49 [0.43, 0.55])."),
        (marked("redundant", 0.60, 0.05, gap=-0.14),
         "Above chance, but not above a trivial baseline, for redundant (AUC 0.60 against 0.74 of "
         "cosine_last_turn, difference -0.14 [-0.19, -0.09])."),
        (marked("irrelevant", 0.80, 0.05, gap=0.2), "No limit found by what was measured."),
        (rated("fed_turn", -0.07),
         "Below the trivial baseline log_length on 1 of 1 rated set: fed_turn (Spearman 0.30 "
         "against 0.37 of log_length, difference -0.07 [-0.12, -0.02])."),
        (rated("fed_turn", 0.01), "Level with the trivial baseline log_length on 1 of 1 rated set: "
         "fed_turn."),
        (rated("fed_turn", 0.2, alike=0.97), "Ranks as the trivial baseline log_length does: "
         "Spearman between the two 0.97 to 0.97 on 1 rated set."),
    ],
)  # fmt: skip
def test_a_comparison_becomes_its_sentence(comparison, sentence):
    assert explained("made", recorded(comparison))[0] == sentence


def test_the_best_trivial_baseline_counts_for_what_people_marked():
    weak = marked("ignore", 0.6, 0.02, gap=0.1, baseline="log_length")
    strong = marked("ignore", 0.6, 0.02, gap=-0.1, baseline="position")
    (sentence, _) = explained("made", recorded(weak, strong))
    assert "of position" in sentence
    assert "log_length" not in sentence
    named = msgspec.structs.replace(weak, note="the turns it names")
    said = explained("made", recorded(named, marked("redundant", 0.5, 0.05)))
    assert "What people marked is compared by the turns it names." in said


def test_without_recorded_rows_a_metric_is_not_measured():
    content = recorded(rated("fed_turn", 0.1))
    (sentence,) = explained("other", content)
    assert sentence.startswith("Not measured: ")
    assert verdict_on("other", recorded()) == "not measured"
    assert verdict_on("log_length", recorded()) == "a trivial baseline itself"


def test_other_settings_than_the_measured_ones_are_said():
    content = recorded(rated("fed_turn", -0.1))
    same = explained("made", content) + explained("made", content, signature="made:2|")
    assert not any("other settings" in sentence for sentence in same)
    newer = explained("made", content, signature="made:3|mode:exact")
    assert "Measured with other settings or another version: made:2|mode:exact." in newer


def test_rows_of_a_metric_with_gaps_are_comparisons():
    def figure(row, measure, value, **more):
        return made_figure(row, "relevance:2|mode:exact|on:set", on="set:overall",
                           measure=measure, value=value, **more)  # fmt: skip

    gaps = (Gap("log_length", -0.3, -0.4, -0.2, 0.9), Gap("not recorded", 0.1, 0.0, 0.2))
    of_runs = limits_of([made_run(
        figure("relevance", "spearman", 0.2, metric="relevance", gaps=gaps),
        figure("log_length", "spearman", 0.5),
        figure("engagement", "lift", 0.2, metric="engagement", gaps=gaps),
        figure("commonsense", "spearman", 0.1),
    )])  # fmt: skip
    assert set(of_runs.metrics) == {"relevance"}
    assert of_runs.baselines == ("log_length",)
    limits = of_runs.metrics["relevance"]
    assert limits.signature == "relevance:2|mode:exact"
    (comparison,) = limits.comparisons
    found = (comparison.on, comparison.value, comparison.of_baseline, comparison.alike)
    assert found == ("set", 0.2, 0.5, 0.9)
    assert comparison.gap == (-0.3, -0.4, -0.2)


def test_a_set_where_every_baseline_is_beaten_shows_it():
    hard = compared("fed_turn", 0.2, baseline="cosine_last_turn")
    record = recorded(compared("fed_turn", 0.3), hard, compared("conture_turn", 0.0))
    shown = earned("made", record)
    assert (shown.hardest.baseline, shown.sets) == ("cosine_last_turn", 2)
    assert 0 < shown.low < 0.15, "the interval is wider than that of one set"
    assert verdict_on("made", record).startswith(
        "earned on fed_turn: Spearman 0.50 against 0.30 of cosine_last_turn, difference 0.20 "
    )


@pytest.mark.parametrize(("why", "comparisons"), [
    ("one baseline is not beaten", [
        compared("fed_turn", 0.3), compared("fed_turn", 0.04, baseline="cosine_last_turn")]),
    ("it was trained on the set", [compared("fed_turn", 0.3, trained=SEEN)]),
    ("of twenty sets one lies above by luck", [
        compared("s0", 0.06), *(compared(f"s{i}", 0.0) for i in range(1, 20))]),
    ("short replies are the better ones, and that is beaten by nothing", [
        compared("fed_turn", 0.9, value=0.3, of=-0.6)]),
    ("it is above a baseline that is below chance, and at chance itself", [
        compared("ignore", 0.2, value=0.5, of=0.3, measure="AUC")]),
    ("nothing was measured", []),
])  # fmt: skip
def test_what_shows_nothing(why, comparisons):
    assert earned("made", recorded(*comparisons)) is None, why
    assert verdict_on("made", recorded(*comparisons)).startswith("not earned")


def test_a_metric_that_refines_a_baseline_need_not_beat_it_and_says_so(monkeypatch):
    monkeypatch.setitem(REFINED, "made", "cosine_own_turns")
    record = recorded(compared("a", 0.3), compared("a", 0.0, baseline="cosine_own_turns"))
    assert earned("made", record) is None
    assert earned("made", record, without="cosine_own_turns") is not None
    words = verdict_on("made", record)
    assert words.startswith("earned on a: ")
    assert words.endswith("level with cosine_own_turns, which it refines")


@pytest.mark.parametrize("metric", find_metrics().defaults())
def test_every_default_metric_has_earned_it_by_the_recorded_figures(metric):
    content = limits_of(read_runs(RESULTS))
    assert earned(metric, content, without=REFINED.get(metric, "")) is not None
    declared, measured = find_metrics().metrics[metric], content.metrics[metric].signature
    assert measured.startswith(f"{metric}:{declared.version}|"), "record the benches again"
