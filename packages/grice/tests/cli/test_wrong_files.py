"""Logs as they are: roles spelled in two ways, files of another kind, columns half empty."""

from __future__ import annotations

import json

import pytest

from grice.cli import main


def write(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def messages(*pairs):
    return {"messages": [{"role": role, "content": text} for role, text in pairs]}


@pytest.fixture
def scored(tmp_path, capsys):
    def run(file, *more):
        out = tmp_path / "out.jsonl"
        assert main(["score", file, "-m", "log_length", "-o", str(out), *more]) == 0
        lines = map(json.loads, out.read_text().splitlines())
        return [line["turn"] for line in lines], capsys.readouterr().err

    return run


def test_turns_of_a_role_that_nobody_knows_are_counted_and_can_be_judged(tmp_path, scored):
    talk = (("user", "Here?"), ("Assistent", "Soon."), ("user", "When?"), ("assistant", "At ten."))
    log = write(tmp_path / "log.jsonl", messages(*talk))
    turns, printed = scored(log)
    assert turns == [3]
    assert "1 turn is of the role 'Assistent' and not judged" in printed
    advice = printed.partition("not judged: ")[2].partition(" judges both")[0].split()
    assert scored(log, *advice)[0] == [1, 3]
    assert "of the role" not in scored(log, "--speaker", "all")[1]


@pytest.mark.parametrize("empty", ["", "n/a", " "])
def test_a_column_of_ratings_may_be_half_empty(tmp_path, scored, capsys, empty):
    rows = [f"c{i},Do you like tea?,{'Very ' * (1 + i % 6)}much.,{i % 5 + 1 if i % 2 else empty}"
            for i in range(40)]  # fmt: skip
    table = tmp_path / "rated.csv"
    table.write_text("\n".join(["id,context,response,rating", *rows]) + "\n")
    scored(str(table))
    assert main(["calibrate", str(table), str(tmp_path / "out.jsonl"), "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)
    assert [entry["n"] for entry in fitted["maps"]] == [20]
    assert "20 items of" in " ".join(fitted["says"])
    assert main(["meta-eval", "log_length", "--on", str(table)]) == 0
    assert "20 items" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    ["gate TALKS --min relevance=0.1", "compare TALKS TALKS", "compare SCORES TALKS",
     "review TALKS", "calibrate TALKS TALKS", "estimate TALKS TALKS",
     "gate SCORES --min log_length=0 --baseline TALKS --max-drop 0.1",
     "meta-eval --on TALKS --scores TALKS"],
)  # fmt: skip
def test_conversations_where_scores_are_expected_are_called_that(tmp_path, capsys, command):
    talks = [{"id": f"t{i}", "turns": ["Is it far?", "No."], "rating": i % 5} for i in range(40)]
    files = {"TALKS": write(tmp_path / "talks.jsonl", *talks), "SCORES": str(tmp_path / "s.jsonl")}
    assert main(["score", files["TALKS"], "-m", "log_length", "-q", "-o", files["SCORES"]]) == 0
    capsys.readouterr()
    assert main([files.get(word, word) for word in command.split()]) == 2
    message = capsys.readouterr().err
    assert "talks.jsonl: contains conversations (format turns) instead of scores" in message
    assert "grice score FILE -o OUT.jsonl" in message


@pytest.mark.parametrize("command", ["score", "perturb", "explain --file"])
def test_scores_where_conversations_are_expected_are_called_that(tmp_path, capsys, command):
    talks = write(tmp_path / "talks.jsonl", {"turns": ["Is it far?", "No."]})
    scores = str(tmp_path / "s.jsonl")
    assert main(["score", talks, "-m", "log_length", "-q", "-o", scores]) == 0
    capsys.readouterr()
    assert main([*command.split(), scores]) == 2
    assert "s.jsonl: holds scores, where conversations are expected" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["score", "meta-eval --on"])
def test_ratings_where_conversations_are_expected_are_called_that(tmp_path, capsys, command):
    ratings = write(tmp_path / "r.jsonl", {"conversation": "a", "turn": 1, "rating": 4})
    assert main([*command.split(), ratings]) == 2
    assert "r.jsonl: holds ratings, where" in capsys.readouterr().err


def test_a_broken_score_is_still_told_by_its_line(tmp_path, capsys):
    scores = write(tmp_path / "s.jsonl", {"conversation": "a", "turn": 1, "value": 0.5})
    assert main(["review", scores]) == 2
    assert "s.jsonl:1: Object missing required field `metric`" in capsys.readouterr().err
