"""Scores of other tools, as a column of a table or a field of JSON lines."""

import json

import pytest

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.scores import read_score_lines


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "judge.csv"
    path.write_text("conversation,turn,helpful\na,1,4\na,3,\nb,1,2.5\n")
    return path


def scores(name):
    return [
        (s.conversation, s.turn, s.metric, s.value, s.status) for _, s in read_score_lines(name)
    ]


def test_a_column_of_a_table_and_a_field_of_json_lines_are_scores(table, tmp_path):
    expected = [
        ("a", 1, "helpful", 4.0, "ok"),
        ("a", 3, "helpful", None, "abstained"),
        ("b", 1, "helpful", 2.5, "ok"),
    ]
    assert scores(f"{table}#helpful") == expected
    lines = tmp_path / "judge.jsonl"
    rows = [{"session_id": c, "turn": t, "helpful": v} for c, t, _, v, _ in expected]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert scores(f"{lines}#helpful") == expected
    nested = [{"id": "a", "scores": {"helpful": 4}}]
    lines.write_text(json.dumps(nested[0]))
    assert scores(f"{lines}#scores.helpful") == [("a", None, "scores.helpful", 4.0, "ok")]


def test_a_file_of_that_very_name_is_that_file(tmp_path):
    path = tmp_path / "out#1"
    score = {"conversation": "a", "turn": 0, "metric": "m", "value": 1.0, "status": "ok",
             "signature": "m:1"}  # fmt: skip
    path.write_text(json.dumps(score))
    assert scores(str(path)) == [("a", 0, "m", 1.0, "ok")]


@pytest.mark.parametrize(
    ("content", "column", "problem"),
    [
        ("conversation,helpful\na,4\n", "helpfull", "did you mean 'helpful'"),
        ("conversation,helpful\na,good\n", "helpful", "expected a number, found 'good'"),
        ("conversation,helpful\na,inf\n", "helpful", "finite"),
        ("text,helpful\na,4\n", "helpful", "no conversation is named"),
        ("conversation,turn,helpful\na,first,4\n", "helpful", "number of a turn"),
        ("", "helpful", "there is no"),
    ],
)
def test_what_is_no_column_of_scores_is_said(tmp_path, content, column, problem):
    path = tmp_path / "judge.csv"
    path.write_text(content)
    with pytest.raises((InputError, RecordError), match=problem):
        scores(f"{path}#{column}")


def test_commands_take_them(tmp_path, capsys):
    table, labels = tmp_path / "judge.csv", tmp_path / "labels.jsonl"
    rows = [(f"c{n}", n % 5 + 1) for n in range(60)]
    table.write_text("id,helpful\n" + "".join(f"{c},{v * 10 + len(c)}\n" for c, v in rows))
    labels.write_text(
        "".join(json.dumps({"conversation": c, "rating": v}) + "\n" for c, v in rows[:40])
    )
    name = f"{table}#helpful"
    assert main(["gate", name, "--min", "helpful=20"]) == 0
    assert main(["compare", name, name]) == 0
    assert main(["estimate", str(labels), name, "--json"]) == 0
    assert main(["calibrate", str(labels), name, "-o", str(tmp_path / "map.json"), "--json"]) == 0
    assert '"metric":"helpful"' in capsys.readouterr().out.replace(" ", "")
