import json
import re
import signal
import sqlite3
import subprocess
import sys

import pytest

from grice.errors import ModelError
from grice_annotate.begin import opened_study, stance_model
from stub_endpoint import StubEndpoint
from studio import command, studio_of, talks, write


@pytest.fixture
def study(tmp_path):
    """Give the database of a study of ten items, answered by three."""
    file = write(tmp_path / "talks.jsonl", *talks(10))
    database, rates = tmp_path / "study.db", {"ann": 0, "bo": 1, "cy": 0}
    with studio_of(database, "rating", [file], guideline="Read | it all.") as studio:
        studio.all_answer(
            lambda name, task: {"aspect0": 1 + (len(task["key"]) + task["task"] + rates[name]) % 5}
        )
    return database


def test_records_a_card_and_agreement_are_written(study, tmp_path, capsys):
    assert command("export", "--db", study, "-o", tmp_path / "out.jsonl") == 0
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [len(record["ratings"]) for record in records] == [3] * 10
    with opened_study(str(study)) as opened:
        opened.add_judges(["<i>|*di* [x](y)"])
    assert command("export", "--db", study, "--as", "card") == 0
    card = capsys.readouterr().out
    assert "10 tasks of 10 with all 3 judges; 30 answers of 30" in card
    assert "Read | it all." in card
    assert r"| \<i\>\|\*di\* \[x\](y) | 0 |" in card
    assert re.search(r"quadratic kappa of ann and bo \| -?\d\.\d{3}", card)
    assert command("agreement", "--db", study, "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kappas = {row["measure"]: row["estimate"] for row in rows if "kappa" in row["measure"]}
    assert kappas["quadratic kappa of ann and cy"]["value"] == pytest.approx(1)
    assert (len(kappas), command("agreement", "--db", study)) == (3, 0)
    assert "10 tasks of 10 done, 30 answers" in capsys.readouterr().out


def test_the_command_serves_until_it_is_told_to_end(tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(2))
    words = [sys.executable, "-m", "grice", "annotate", "rating", file, "--port", "0", "--json"]
    words += ["--db", str(tmp_path / "s.db"), "--judge", "ann", "--judges", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes) as process:
        rows = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        assert (process.wait(30), process.stderr.read()) == (0, "")
    assert [row["name"] for row in rows] == ["owner", "ann"]
    assert all(re.fullmatch(r"http://127\.0\.0\.1:\d+/[oj]/[\w-]{32}", row["link"]) for row in rows)


def test_a_file_of_something_else_or_another_version_is_no_study(study, tmp_path, capsys):
    other, text = tmp_path / "other.db", tmp_path / "text.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    text.write_text("no database at all, but a text that is long enough to be one" * 1000)
    off = write(tmp_path / "off.jsonl", talks(1)[0] | {"expected": {"overall": 6}})
    new, more = tmp_path / "new.db", write(tmp_path / "more.jsonl", *talks(3))
    file = str(tmp_path / "talks.jsonl")
    for words, problem in (
        (("export", "--db", new), "no such study"),
        (("agreement", "--db", other), "another program"),
        (("export", "--db", text), "not a database"),
        (("rating", file, "--db", other), "another program"),
        (("rating", file, "--db", f"postgresql://x:secret@/x?host={tmp_path}"), "cannot be opened"),
        (("rating", file, "--db", "nothing://there"), "cannot be opened"),
        (("issues", file, "--db", study), "the study there is one of rating"),
        (("rating", more, "--db", study), "begun with talks.jsonl, whose content was another"),
        (("rating", file, "--db", study, "--judges", 5), "other values of judges, guideline"),
        (("rating", tmp_path / "none.jsonl", "--db", new), "none.jsonl"),
        (("rating", file, "--db", new, "--guideline", tmp_path / "no.txt"), "no.txt"),
        (("rating", file, "--db", new, "--guideline", text), "at most 50,000 characters"),
        (("rating", file, "--db", new, "--order", "review"), "--scores"),
        (("rating", file, "--db", new, "--quiz", off), "off.jsonl:1: expected: expected the right"),
        (("rating", file, "--db", new, "--quiz", file, "--pass", 2), "a share from 0 to 1"),
        (("graphs", file, "--db", new, "--refiners", 0), "a number or a share above 0"),
        (("rating", file, "--db", tmp_path / "none" / "s.db"), "cannot be opened"),
        *((("rating", file, "--db", memory), "kept in a file") for memory in ("", "sqlite://")),
    ):
        assert command(*words) == 2, words
        said = capsys.readouterr().err
        assert problem in said, words
        assert "secret" not in said
    with sqlite3.connect(study) as connection:
        connection.execute("UPDATE grice_study SET version = 99")
    assert command("export", "--db", study) == 2
    assert "a study of version 99; this grice reads version 1" in capsys.readouterr().err


BELIEF, ARGUMENT = "Zoos should be closed.", "Animals suffer in small cages."


@pytest.mark.enable_socket
def test_a_model_or_an_endpoint_says_a_stance(tmp_path, monkeypatch):
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path))
    asked = []
    stub = StubEndpoint(lambda data: asked.append(data) or {"stance": "counter"})
    with stub, stance_model(stub.model) as predict:
        assert predict(BELIEF, ARGUMENT) == "counter"
    assert asked == [{"belief": BELIEF, "argument": ARGUMENT}]
    refused = pytest.raises(ModelError, match="the model gave no stance")
    with StubEndpoint(always="prose") as stub, stance_model(stub.model) as predict, refused:
        predict(BELIEF, ARGUMENT)
    with stance_model("builtin:graphs") as predict:
        assert predict(BELIEF, ARGUMENT) in ("support", "counter")
