import csv
import io
import json
import math

import pytest
import score_files

import made_sets
from grice.cli import main
from grice.errors import InputError
from grice.evaluation.datasets import known_sets, load_rated
from grice.evaluation.meta import BASELINES, evaluate, meta_evaluate
from grice.evaluation.table import Column, read_table, score_table
from grice.report.exports import as_csv, as_latex, evaluation_page
from grice.scoring import load


@pytest.fixture
def dialogues(tmp_path):
    made_sets.fed_dialogue(tmp_path)
    return load_rated(known_sets()["fed_dialogue"], tmp_path)


@pytest.fixture
def turns(rated_turns):
    return rated_turns


def lengths(rated):
    return [float(len(item.conversation.turns[-1].text.split())) for item in rated.items]


def column(name, values, **counts):
    known = {"abstained": 0, "failed": 0, "missing": 0, **counts}
    return Column(name, f"{name}:1", tuple(values), **known)


def evaluated(rated, *columns, **options):
    return evaluate(rated, "overall", columns, **options)


def row(block, name):
    return next(row for row in block.rows if row.metric == name)


NOISE = column("noise", [float((7 * i) % 40) for i in range(40)])


def test_a_metric_that_follows_the_ratings_stands_above_noise_with_its_interval(turns):
    block = evaluated(turns, NOISE, column("length", lengths(turns)))
    assert [metric_row.metric for metric_row in block.rows] == ["length", "noise"]
    best = row(block, "length")
    assert best.n == 40
    assert best.spearman.value > 0.9
    assert best.spearman.low < best.spearman.value < best.spearman.high
    assert "jackknife over conversations" in best.spearman.method
    assert (best.cluster, row(block, "noise").cluster) == (1, 2)


def test_tails_too_heavy_for_pearson_are_named_wherever_the_table_goes(turns):
    heavy = column("heavy", [math.exp(n) for n in range(40)])
    block = evaluated(turns, heavy, column("length", lengths(turns)))
    (caveat,) = row(block, "heavy").caveats
    assert caveat.startswith("Pearson: heavy tails (kurtosis ")
    assert row(block, "length").caveats == ()
    assert caveat in as_csv([block])
    page = evaluation_page([block], title="t", command="c", made="m")
    assert "heavy: Pearson: heavy tails" in page


def test_the_difference_is_to_the_floor_and_has_its_sign(turns):
    for floor, other, sign in (("noise", "length", 1), ("length", "noise", -1)):
        block = evaluated(turns, NOISE, column("length", lengths(turns)), baseline=floor)
        assert row(block, floor).versus is None
        metric_row = row(block, other)
        expected = metric_row.spearman.value - row(block, floor).spearman.value
        assert metric_row.versus.value == pytest.approx(expected)
        assert math.copysign(1, metric_row.versus.value) == sign
        assert metric_row.versus.low < metric_row.versus.value < metric_row.versus.high
        assert metric_row.p_value < 0.01


def test_fewer_than_ten_items_say_so_and_fewer_than_four_have_no_figure(tmp_path):
    lines = [{"context": ["Hi"], "response": "a " * i, "ratings": i} for i in range(1, 11)]
    guide = "items: a rough guide"
    for count, expected in ((10, ""), (9, f"9 {guide}"), (4, f"4 {guide}"), (3, "3 items have")):
        rated = load_rated(made_sets.write(tmp_path / f"few{count}.jsonl", lines[:count]), None)
        metric_row = evaluate(rated, "overall", [column("length", lengths(rated))]).rows[0]
        assert metric_row.why.startswith(expected)
        assert bool(metric_row.why) == bool(expected)
        assert (metric_row.spearman is None) == (count < 4)


def test_failed_items_are_left_out_and_abstained_ones_keep_the_neutral_value(turns, tmp_path):
    talks = [item.conversation for item in turns.items]
    rows = [score_files.line(t.id, t.targets[0], float(i), "m") for i, t in enumerate(talks)]
    rows[0] |= {"value": None, "status": "failed"}
    rows[1] |= {"value": 0.5, "status": "abstained"}
    del rows[2]
    scored_column = read_table(score_files.write(tmp_path / "m.jsonl", rows)).column("m", turns)
    assert scored_column.values[:4] == (None, 0.5, None, 3.0)
    assert (scored_column.abstained, scored_column.failed, scored_column.missing) == (1, 1, 1)
    block = evaluated(turns, scored_column, column("length", lengths(turns)))
    assert (row(block, "m").n, row(block, "length").n) == (38, 40)


def test_scores_of_replies_become_one_of_their_conversation(dialogues, tmp_path):
    item, values = dialogues.items[0].conversation, enumerate((9.0, 0.2, 9.0, 0.6))
    rows = [score_files.line(item.id, turn, value, "m") for turn, value in values]
    scored_column = read_table(score_files.write(tmp_path / "m.jsonl", rows)).column("m", dialogues)
    assert scored_column.values[0] == pytest.approx(0.4)  # turns of the user are not judged


def test_what_is_left_without_length_is_nothing_of_length_and_all_of_something_else(turns):
    human = turns.human("overall")
    block = evaluated(turns, column("length", lengths(turns)), column("people", human))
    given = {confound.given: confound for confound in row(block, "length").confounds}
    assert given["length"].partial is None
    assert given["turns"].kept == pytest.approx(1, abs=0.2)
    of_people = {confound.given for confound in row(block, "people").confounds}
    assert of_people >= {"overlap", "within systems"}


def test_two_systems_are_not_taken_for_a_correlation(dialogues):
    values = [float(len(item.conversation.turns[0].text)) for item in dialogues.items]
    block = evaluated(dialogues, column("m", values))
    (system_row,) = block.rows
    assert (block.system_count, system_row.system_spearman) == (2, None)
    assert system_row.system_why.startswith("2 systems: no correlation of fewer than 4")
    *_, line = csv.DictReader(io.StringIO(as_csv([block])))
    assert (line["level"], line["spearman"], line["why"]) == ("system", "", system_row.system_why)


@pytest.mark.parametrize(("ids", "group", "expected"), [
    ("{i}", None, "20 items;"), ("c{half}", None, "20 items in 10 groups"),
    ("{i}", "", "20 items in 5 groups"),
    ("{i}", "talk", "20 items in 5 groups"), ("c{half}", "id", "20 items in 10 groups"),
])  # fmt: skip
def test_replies_of_one_conversation_are_one_group(tmp_path, capsys, ids, group, expected):
    rows = [
        {"id": ids.format(i=i, half=i // 2), "context": ["Hi"], "response": "a " * (i + 1),
         "ratings": i % 7, "talk": i // 4} | ({"conversation_id": i // 4} if group == "" else {})
        for i in range(20)
    ]  # fmt: skip
    path = made_sets.write(tmp_path / "own.jsonl", rows)
    words = ["meta-eval", "log_length", "--on", str(path), "--pairwise", "--no-cache"]
    assert main([*words, *(["--group", group] if group else [])]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert expected in shown
    assert "metric against difference of Spearman p (Holm)" in shown
    assert main([*words, "--group", "tlak"]) == 2
    assert "no field 'tlak' for groups; did you mean 'talk'?" in capsys.readouterr().err


def test_sets_that_share_conversations_are_named(turns):
    assert "Shares conversations with fed_dialogue:" in evaluated(turns).note
    known = known_sets()
    assert all(set(entry.overlaps) <= set(known) for entry in known.values())


def test_a_constant_metric_or_rating_says_so_and_tables_for_papers_hold_the_same(turns):
    block = evaluated(turns, column("length_of_it", lengths(turns)), column("yes", [1.0] * 40))
    assert row(block, "yes").spearman is None
    records = list(csv.DictReader(io.StringIO(as_csv([block]))))
    assert float(records[0]["spearman"]) == pytest.approx(block.rows[0].spearman.value, abs=1e-6)
    assert records[1]["spearman"] == ""
    assert records[1]["why"] == "the metric is 1 on every item"
    rising = column("rising", [float(i) for i in range(40)])
    more = evaluated(turns, column("length_of_it", lengths(turns)), NOISE, rising, baseline="noise")
    latex = as_latex([block, more])
    [tabular, after] = latex.split(r"\end{tabular}")
    assert r"length\_of\_it & \textbf{0.9" in tabular
    assert tabular.count(r"\dag") == 1, "length is above the baseline of the second set"
    assert "% left out: yes: the metric is 1 on every item\n" in tabular
    assert r"\label{tab:meta-eval}" in after
    assert latex.count(r"\begin{table}") == 1
    assert "nan" not in (latex + as_csv([block])).lower()
    block = evaluate(turns, "fluent", [column("length", lengths(turns))])
    assert block.rows[0].why == "the rating is 2 on every item"
    assert block.ceiling is None


def test_the_page_shows_each_item_and_escapes_what_it_shows(turns):
    block = evaluated(turns, column("<script>alert(1)</script>", lengths(turns)))
    page = evaluation_page([block], title="T", command="grice <b>", made="a & b")
    assert "<script" not in page
    assert "a &amp; b" in page
    assert page.count('<circle class="point"') == 40
    assert page.count('class="regression"') == 1


def test_the_command_judges_a_metric_beside_the_floors(tmp_path, capsys, monkeypatch):
    made_sets.fed_turn(tmp_path)
    monkeypatch.setenv("GRICE_DATA", str(tmp_path))
    html = tmp_path / "page.html"
    assert main(["meta-eval", "log_length", "--on", "fed_turn", "--json", "--kendall",
                 "--report", str(html), "--no-cache"]) == 0  # fmt: skip
    (block,) = json.loads(capsys.readouterr().out)
    rows = {row["metric"]: row for row in block["rows"]}
    assert set(rows) == set(BASELINES["turn"])
    assert rows["log_length"]["spearman"]["value"] > 0.9
    assert rows["log_length"]["kendall"]["value"] > 0.7
    assert rows["log_length"]["versus"]["low"] > 0
    assert rows["log_length"]["signature"] == "log_length:2"
    assert "<svg" in html.read_text()


def test_the_table_fits_eighty_columns(tmp_path, capsys, monkeypatch):
    made_sets.fed_dialogue(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["meta-eval", "--on", "fed_dialogue", "--data", str(tmp_path), "--no-cache"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "mean_adjacent_cosine" in out
    assert "nan" not in out.lower()


def test_scores_of_an_earlier_run_are_taken_from_a_file(tmp_path, capsys):
    path = made_sets.fed_turn(tmp_path)
    assert main(["meta-eval", str(path)]) == 2
    assert f"--on {path}" in " ".join(capsys.readouterr().err.split())
    scores = tmp_path / "scores.jsonl"
    assert main(["score", str(path), "-m", "log_length", "-o", str(scores), "--json"]) == 0
    scores.write_text(scores.read_text().replace('"log_length"', '"theirs"'))
    capsys.readouterr()
    words = ["meta-eval", "--on", "fed_turn", "--data", str(tmp_path), "--json", "--no-cache"]
    assert main([*words, "--scores", str(scores)]) == 0
    (block,) = json.loads(capsys.readouterr().out)
    rows = {row["metric"]: row for row in block["rows"]}
    assert rows["theirs"]["spearman"]["value"] == rows["log_length"]["spearman"]["value"]
    assert rows["theirs"]["missing"] == 0
    assert main([*words[:3], "fed_dialogue", *words[3:], "--scores", str(scores)]) == 2
    assert f"--scores SET={scores}" in " ".join(capsys.readouterr().err.split())


def test_each_table_is_given_as_soon_as_it_is_complete(tmp_path):
    made_sets.fed_turn(tmp_path)
    made_sets.fed_dialogue(tmp_path)
    sets = ["fed_turn:overall,fluent", "fed_dialogue"]
    blocks = meta_evaluate(["distinct_words"], sets, data=tmp_path)
    for expected in (("fed_turn", "overall"), ("fed_turn", "fluent"), ("fed_dialogue", "overall")):
        block = next(blocks)
        assert (block.data, block.aspect) == expected
        assert not any(metric_row.failed for metric_row in block.rows)
    assert list(blocks) == []


def test_scores_of_two_versions_of_a_metric_are_refused(tmp_path):
    rows = [score_files.line("a", i, 1, "m", signature=f"m:{i}") for i in range(2)]
    with pytest.raises(InputError, match="computed in 2 ways"):
        read_table(score_files.write(tmp_path / "scores.jsonl", rows)).signature("m")


@pytest.mark.data
@pytest.mark.parametrize(("name", "golden"), [
    ("fed_turn", {"log_length": 0.115844, "overlap_last_turn": 0.013813}),
    ("grade_dailydialog", {"log_length": -0.234309, "overlap_last_turn": -0.017179}),
    ("fed_dialogue", {"mean_user_words": 0.487976, "mean_system_words": 0.232606}),
    ("fed_dialogue", {"distinct_words": -0.027066, "turn_count": -0.121581}),
])  # fmt: skip
def test_floors_give_the_known_correlations_on_published_sets(data_folder, name, golden):
    # Golden: the same floors computed elsewhere, with ln(1 + words) as length, which has the same
    # ranks where no reply is empty.
    rated = load_rated(known_sets()[name], data_folder)
    with load(*golden) as grader:
        table = score_table(grader, grader.signatures, [item.conversation for item in rated.items])
    block = evaluate(rated, rated.set.default, [table.column(floor, rated) for floor in golden])
    for metric_row in block.rows:
        assert metric_row.spearman.value == pytest.approx(golden[metric_row.metric], abs=5e-5)
