"""Ratings of people in every shape that a spreadsheet or a log gives them."""

import csv
import json
from pathlib import Path

import pytest

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.datasets import load_rated, ratings_of
from grice.evaluation.table import align

REPLIES = [
    "Yes.",
    "I love green tea.",
    "It was good, thank you very much.",
    "A nurse.",
    "I do not.",
]


def table(path, **columns):
    rows = [
        {"context": "How are you?", "response": reply, **{n: v[i] for n, v in columns.items()}}
        for i, reply in enumerate(REPLIES)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def human(path):
    rated = load_rated(path, None)
    return rated.human(rated.set.default)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"rating": 4}, {"overall": (4.0,)}),
        ({"Rating": " 4.5 "}, {"overall": (4.5,)}),
        ({"ratings": [1, None, "3"]}, {"overall": (1.0, None, 3.0)}),
        ({"ratings": "[4, 5]"}, {"overall": (4.0, 5.0)}),
        (
            {"rating": {"fluent": "2", "relevant": [1, 2]}},
            {"fluent": (2.0,), "relevant": (1.0, 2.0)},
        ),
        ({"rater10": 3, "rater2": 1, "rater1": ""}, {"overall": (None, 1.0, 3.0)}),
        ({"annotator_1": "2", "annotator_2": "x"}, {"overall": (2.0, None)}),
        ({"rating": "", "rater1": 2}, {"overall": (2.0,)}),
        ({"rating": True}, {"overall": (None,)}),
        ({"rating": "nan"}, {"overall": (None,)}),
        ({"stars": 4}, {}),
    ],
)
def test_ratings_are_understood_in_every_shape(fields, expected):
    assert ratings_of(fields) == expected


def test_tables_and_json_lines_are_read_alike(tmp_path):
    single = table(tmp_path / "one.csv", rating=["1", "4", "5", "", "2"])
    raters = table(tmp_path / "raters.csv", rater1=[1, 4, 5, "", 1], rater2=[1, "", 5, "", 3])
    lines = tmp_path / "lines.jsonl"
    given = ["1", [4], 5, None, {"overall": [1, 3]}]
    lines.write_text(
        "".join(
            json.dumps({"context": ["How are you?"], "response": reply, "rating": value}) + "\n"
            for reply, value in zip(REPLIES, given, strict=True)
        )
    )
    assert human(single) == human(raters) == human(lines) == [1, 4, 5, None, 2]


def test_a_file_without_ratings_names_its_columns_and_those_understood(tmp_path):
    path = table(tmp_path / "stars.csv", stars=[1, 2, 3, 4, 5])
    with pytest.raises(InputError, match=r"found stars.*understood is `rating`.*`rater1`"):
        load_rated(path, None)


def test_a_set_of_ones_own_shows_no_rows_of_benches(tmp_path, capsys):
    path = table(tmp_path / "own.csv", rating=[1, 4, 5, 2, 2])
    assert main(["meta-eval", "log_length", "--on", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "log_length" in shown
    assert "always_yes" not in shown
    assert "cskb" not in shown


def scored(tmp_path):
    path = tmp_path / "scores.jsonl"
    path.write_text(
        "".join(
            json.dumps({"conversation": f"c{i}", "turn": 0, "metric": "m", "value": i / 20,
                        "status": "ok", "reason": None, "flags": [], "evidence": [],
                        "signature": "m:1", "meta": {}}) + "\n"
            for i in range(20)
        )
    )  # fmt: skip
    return str(path)


def labelled(tmp_path, header, row, name="labels.csv"):
    path = Path(tmp_path / name)
    path.write_text("\n".join([header, *(row(i) for i in range(12))]) + "\n")
    return str(path)


def test_labels_may_be_a_table(tmp_path):
    scores = scored(tmp_path)
    commas = labelled(tmp_path, "conversation,turn,rating", lambda i: f"c{i},0,{i % 5}")
    tabs = labelled(
        tmp_path, "id\tturn\trater1\trater2", lambda i: f"c{i}\t0\t{i % 5}\t", "labels.tsv"
    )
    expected = [i % 5 for i in range(12)]
    for file in (commas, tabs):
        joined = align(file, scores)
        assert joined.ratings[joined.rated].tolist() == expected


@pytest.mark.parametrize(
    ("header", "row", "problem"),
    [
        ("conversation,turn,stars", "c1,0,4", "found conversation, turn, stars; understood is"),
        ("talk,turn,rating", "c1,0,4", "found talk, turn, rating"),
        ("conversation,turn,rating", "c1,first,4", "expected a whole number, found 'first'"),
        ("conversation,turn,rating", "c1,0,4,5", "1 cells more than the header has"),
    ],
)
def test_a_table_of_labels_that_cannot_be_used_says_why(tmp_path, header, row, problem):
    file = labelled(tmp_path, header, lambda _: row)
    with pytest.raises(RecordError, match=problem):
        align(file, scored(tmp_path))
