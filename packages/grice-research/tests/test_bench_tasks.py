import io
import json
from contextlib import redirect_stdout

import pytest

import made_tasks
from grice.cli import main

MADE = {name: getattr(made_tasks, name) for name in ("cider", "explagraphs", "situatedgen")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    for write in MADE.values():
        write(made)
    return made


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory):
    """Return what each bench printed as JSON, and the folder of what it kept."""
    kept, printed = tmp_path_factory.mktemp("runs"), {}
    page = str(kept / "page.md")
    for name in MADE:
        words = ["bench", name, "--data", str(folder), "--no-cache", "--json", "--page", page]
        with redirect_stdout(io.StringIO()) as out:
            assert main([*words, "--record", str(kept / name)]) == 0
        printed[name] = [json.loads(line) for line in out.getvalue().splitlines()]
    return printed, kept


@pytest.fixture
def bench(runs):
    """Return what returns the rows of a bench by row and measure."""
    return lambda name: {(row["row"], row["measure"]): row for row in runs[0][name]}


def value(rows, row, measure):
    return rows[row, measure]["value"]


def test_cider_is_measured_by_fold_beside_answers_without_understanding(bench):
    rows = bench("cider")
    # Of 9 items per dialogue 4 are entailed: F1 of "never" is 10 / 14 for it, 0 for the other.
    assert value(rows, "nli: never entailed", "macro_f1") == pytest.approx(5 / 14)
    assert value(rows, "nli: never entailed", "weighted_f1") == pytest.approx(5 / 9 * 5 / 7)
    assert value(rows, "relation: most frequent", "accuracy") == pytest.approx(1 / 2)
    assert value(rows, "relation: most frequent", "macro_f1") == pytest.approx(1 / 3)
    assert value(rows, "choice: nearest to the head", "accuracy") == pytest.approx(1 / 4)
    assert value(rows, "choice balanced: nearest to the head", "accuracy") == pytest.approx(1 / 4)
    assert value(rows, "choice: longest", "accuracy") == pytest.approx(1 / 2)
    assert value(rows, "span: turn of the head", "em") == 0
    assert 0 < value(rows, "span: whole text", "f1") < value(rows, "span: next turn", "f1")
    for task, measure in (("nli", "macro_f1"), ("relation", "macro_f1"), ("choice", "accuracy"),
                          ("span", "f1")):  # fmt: skip
        row = rows[task, measure]
        baselines = [each["value"] for (name, row_measure), each in rows.items() if each["value"]
                     and name.startswith(f"{task}: ") and row_measure == measure]  # fmt: skip
        assert row["value"] > max(baselines)
        assert row["low"] < row["value"] < row["high"]
        assert row["n"] == 5  # folds
        assert row["published"] is not None
        assert row["signature"].startswith("triplets@")


def test_options_of_cider_stand_before_and_after_filtering(folder, capsys):
    words = ["bench", "cider-filtering", "--data", str(folder), "--no-cache", "--json"]
    assert main(words) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {(row["row"], row["measure"].partition(" on ")[2]): row for row in rows}
    assert found["nearest to the head", "released, filtered"]["value"] == pytest.approx(1 / 4)
    for on in ("released, before filtering", "filtered here"):
        assert found["fresh discriminator", on]["n"] == 40


def test_explanation_graphs_are_counted_as_the_official_script_counts(bench):
    rows = bench("explagraphs")
    systems = {row for row, measure in rows if measure == "ged"}
    assert {"embedded", "nonsense", "polarity only", "gold graphs"} < systems
    for measure in ("sa", "stca", "g_bleu", "g_rouge2", "g_rougel"):
        assert value(rows, "gold graphs", measure) == pytest.approx(1)
        # Six stances of eight are right, and a graph counts only with its stance.
        assert value(rows, "pred_maxmargin_dev", measure) == pytest.approx(6 / 8)
    assert value(rows, "gold graphs", "ged") == 0
    assert value(rows, "pred_maxmargin_dev", "ged") == pytest.approx(2 / 8)
    # Single facts break the rules of the paper, whatever they say.
    assert value(rows, "pred_codex_dev", "sa") == 1
    assert value(rows, "pred_codex_dev", "stca") == value(rows, "pred_codex_dev", "g_bleu") == 0
    assert value(rows, "pred_codex_dev", "ged") == 1
    assert value(rows, "nonsense", "sa") == pytest.approx(6 / 8)
    assert value(rows, "polarity only", "sa") == pytest.approx(4 / 8)
    assert value(rows, "polarity of the gold graph", "sa") == pytest.approx(7 / 8)


def test_contrasting_sentences_are_scored_beside_halves_and_swaps(bench):
    rows = bench("situatedgen")
    for measure in ("match_first", "match_exclusive", "coverage", "bleu4", "rouge2", "rouge_l",
                    "meteor", "cider_d"):  # fmt: skip
        assert value(rows, "reference", measure) == pytest.approx(1)
        assert rows["reference", measure]["n"] == 4
    # An exchanged place or month leaves one of the two sentences' keywords in its place.
    assert value(rows, "swapped reference", "match_first") == pytest.approx(1 / 2)
    assert value(rows, "swapped reference", "coverage") == 1
    assert value(rows, "halved keywords", "bleu4") == pytest.approx(0, abs=1e-6)
    assert rows["plausibility", "swap_detection"]["n"] == 4


def test_the_steps_to_contrasting_sentences_are_compared_with_what_was_released(bench):
    rows = bench("situatedgen")
    # Three of five yes/no questions were released with the plain rule's statement.
    assert value(rows, "pipeline", "statements_equal on yes/no") == pytest.approx(3 / 5)
    assert rows["pipeline", "statements_rouge_l on multiple choice"]["n"] == 10
    assert value(rows, "pipeline", "context_f1") > 0.8


def test_the_record_says_how_many_pairs_are_compared(runs):
    kept = json.loads((runs[1] / "situatedgen" / "situatedgen.json").read_text("utf-8"))
    assert all("4 of the paper's 2,012 pairs" in figure["why"] for figure in kept["figures"])
