"""Scores of other tools, and ratings in every shape that a spreadsheet or a log has."""

import csv
import json

import pytest
import score_files

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.datasets import load_rated, ratings_of
from grice.evaluation.ratings import align
from grice.evaluation.scores import read_score_lines
from grice.evaluation.table import read_table

REPLIES = ["Yes.", "I love green tea.", "It was good, thank you very much.", "A nurse.", "I don't."]


def scores(name):
    scores = (score for _, score in read_score_lines(name))
    return [(s.conversation, s.turn, s.metric, s.value, s.status) for s in scores]


def test_a_column_of_a_table_and_a_field_of_json_lines_are_scores(tmp_path):
    table = tmp_path / "judge.csv"
    table.write_text("conversation,turn,helpful\na,1,4\na,3,\nb,1,2.5\n")
    expected = [
        ("a", 1, "helpful", 4.0, "ok"),
        ("a", 3, "helpful", None, "abstained"),
        ("b", 1, "helpful", 2.5, "ok"),
    ]
    assert scores(f"{table}#helpful") == expected
    lines = tmp_path / "judge.jsonl"
    rows = [{"session_id": c, "turn": t, "helpful": v} for c, t, _, v, _ in expected]
    assert scores(f"{score_files.write(lines, rows)}#helpful") == expected
    lines.write_text(json.dumps({"id": "a", "scores": {"helpful": 4}}))
    assert scores(f"{lines}#scores.helpful") == [("a", None, "scores.helpful", 4.0, "ok")]
    path = score_files.write(tmp_path / "out#1", [score_files.line("a", 0, 1.0, "m")])
    assert scores(path) == [("a", 0, "m", 1.0, "ok")], "a file of that name is that file"


@pytest.mark.parametrize(("content", "column", "problem"), [
    ("conversation,helpful\na,4\n", "helpfull", "did you mean 'helpful'"),
    ("conversation,helpful\na,good\n", "helpful", "expected a finite number, found 'good'"),
    ("conversation,helpful\na,inf\n", "helpful", "finite"),
    ("text,helpful\na,4\n", "helpful", "no conversation is named"),
    ("conversation,turn,helpful\na,first,4\n", "helpful", "number of a turn"),
    ("", "helpful", "contains no rows"),
])  # fmt: skip
def test_a_file_without_such_a_column_of_scores_is_refused(tmp_path, content, column, problem):
    path = tmp_path / "judge.csv"
    path.write_text(content)
    with pytest.raises((InputError, RecordError), match=problem):
        scores(f"{path}#{column}")


def test_commands_take_the_scores_of_another_tool(tmp_path, capsys):
    table, labels = tmp_path / "judge.csv", tmp_path / "labels.jsonl"
    rows = [(f"c{n}", n % 5 + 1) for n in range(60)]
    table.write_text("id,helpful\n" + "".join(f"{c},{v * 10 + len(c)}\n" for c, v in rows))
    score_files.write(labels, [{"conversation": c, "rating": v} for c, v in rows[:40]])
    name = f"{table}#helpful"
    assert main(["gate", name, "--min", "helpful=20"]) == 0
    assert main(["compare", name, name]) == 0
    assert main(["estimate", str(labels), name, "--json"]) == 0
    assert main(["calibrate", str(labels), name, "-o", str(tmp_path / "map.json"), "--json"]) == 0
    assert '"metric":"helpful"' in capsys.readouterr().out.replace(" ", "")


def test_conversations_of_two_inputs_with_one_id_are_two_and_repeated_scores_are_refused(tmp_path):
    rows = [score_files.line(c, 0, 0.1, meta={"file": f}) for f in "xy" for c in "ab"]
    table = read_table(score_files.write(tmp_path / "two.jsonl", rows))
    assert table.ids.names() == ["a", "b", "a (y)", "b (y)"]
    with pytest.raises(InputError, match="conversation 'a', turn 0 more than once"):
        read_table(score_files.write(tmp_path / "twice.jsonl", [*rows, rows[0]]))


@pytest.mark.parametrize(("fields", "expected"), [
    ({"rating": 4}, {"overall": (4.0,)}), ({"Rating": " 4.5 "}, {"overall": (4.5,)}),
    ({"ratings": [1, None, "3"]}, {"overall": (1.0, None, 3.0)}),
    ({"ratings": "[4, 5]"}, {"overall": (4.0, 5.0)}),
    ({"rating": {"fluent": "2", "other": [1, 2]}}, {"fluent": (2.0,), "other": (1.0, 2.0)}),
    ({"rater10": 3, "rater2": 1, "rater1": ""}, {"overall": (None, 1.0, 3.0)}),
    ({"annotator_1": "2", "annotator_2": "x"}, {"overall": (2.0, None)}),
    ({"rating": "", "rater1": 2}, {"overall": (2.0,)}), ({"rating": True}, {"overall": (None,)}),
    ({"rating": "nan"}, {"overall": (None,)}), ({"stars": 4}, {}),
])  # fmt: skip
def test_ratings_are_understood_in_every_shape(fields, expected):
    assert ratings_of(fields) == expected


def test_tables_and_json_lines_of_rated_replies_are_read_alike(tmp_path):
    def table(name, **columns):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["context", "response", *columns])
            rows.writerows(zip(["How are you?"] * 5, REPLIES, *columns.values(), strict=True))
        return tmp_path / name

    given = zip(REPLIES, ["1", [4], 5, None, {"overall": [1, 3]}], strict=True)
    rows = [{"context": ["How are you?"], "response": r, "rating": value} for r, value in given]
    score_files.write(tmp_path / "lines.jsonl", rows)
    for path in (
        table("one.csv", rating=["1", "4", "5", "", "2"]),
        table("raters.csv", rater1=[1, 4, 5, "", 1], rater2=[1, "", 5, "", 3]),
        tmp_path / "lines.jsonl",
    ):
        assert load_rated(path, None).human("overall") == [1, 4, 5, None, 2]
    with pytest.raises(InputError, match=r"found stars.*supported: `rating`.*`rater1`"):
        load_rated(table("stars.csv", stars=[1, 2, 3, 4, 5]), None)


@pytest.fixture
def scored(tmp_path):
    rows = [score_files.line(f"c{i}", 0, i / 20, "m") for i in range(20)]
    return score_files.write(tmp_path / "scores.jsonl", rows)


@pytest.mark.parametrize(("name", "header", "row"), [
    ("labels.csv", "conversation,turn,rating", "c{0},0,{1}"),
    ("labels.tsv", "id\tturn\trater1\trater2", "c{0}\t0\t{1}\t"),
])  # fmt: skip
def test_labels_may_be_a_table(tmp_path, scored, name, header, row):
    lines = [header, *(row.format(i, i % 5) for i in range(12))]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    joined = align(str(tmp_path / name), scored)
    assert joined.ratings[joined.rated].tolist() == [i % 5 for i in range(12)]


@pytest.mark.parametrize(("header", "row", "problem"), [
    ("conversation,turn,stars", "c1,0,4", "found conversation, turn, stars; supported: "),
    ("talk,turn,rating", "c1,0,4", "found talk, turn, rating"),
    ("conversation,turn,rating", "c1,first,4", "number of a turn.*found 'first'"),
    ("conversation,turn,rating", "c1,0,4,5", "1 more cells than the header"),
])  # fmt: skip
def test_a_table_of_labels_that_cannot_be_used_says_why(tmp_path, scored, header, row, problem):
    file = tmp_path / "labels.csv"
    file.write_text(f"{header}\n{row}\n")
    with pytest.raises(RecordError, match=problem):
        align(str(file), scored)
