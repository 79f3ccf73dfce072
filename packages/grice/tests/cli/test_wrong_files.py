"""Logs as they are: roles spelled in two ways, files of another kind, columns half empty."""

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


CONVERSATIONS = "TALKS: contains conversations (format turns)"
SCORES = "SCORES: holds scores, where conversations are expected"
RATINGS = "RATINGS: holds ratings, where"


@pytest.mark.parametrize(("command", "message"), [
    *((command, CONVERSATIONS) for command in (
        "gate TALKS --min relevance=0.1", "compare TALKS SCORES", "compare SCORES TALKS",
        "check TALKS --rank --scores TALKS", "calibrate TALKS TALKS", "estimate TALKS TALKS",
        "gate SCORES --min log_length=0 --baseline TALKS --max-drop 0.1",
        "meta-eval --on TALKS --scores TALKS",
    )),
    *((f"{command} SCORES", SCORES) for command in ("score", "perturb", "explain --file")),
    *((f"{command} RATINGS", RATINGS) for command in ("score", "meta-eval --on")),
    ("check TALKS --rank --scores BROKEN", "BROKEN:1: Object missing required field `metric`"),
])  # fmt: skip
def test_a_file_of_another_kind_is_named(tmp_path, capsys, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRICE_DATA", raising=False)
    talks = [{"id": f"t{i}", "turns": ["Is it far?", "No."], "rating": i % 5} for i in range(40)]
    write(tmp_path / "TALKS", *talks)
    write(tmp_path / "RATINGS", {"conversation": "a", "turn": 1, "rating": 4})
    write(tmp_path / "BROKEN", {"conversation": "a", "turn": 1, "value": 0.5})
    assert main(["score", "TALKS", "-m", "log_length", "-q", "-o", "SCORES"]) == 0
    capsys.readouterr()
    assert main(command.split()) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert message != CONVERSATIONS or "grice score FILE -o OUT.jsonl" in shown
