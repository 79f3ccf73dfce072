import json
import random
import re

import pytest

from grice.cli import main

TOPICS = ["music", "the garden", "trains", "old films", "bread", "the sea", "chess", "maps"]


@pytest.fixture
def table(tmp_path):
    rng = random.Random(0)
    rows = ["id,history,reply,label"]
    for i in range(60):
        topic = rng.choice(TOPICS)
        reply = rng.choice([f"I love {topic} and could talk about it all day long.", "Not really."])
        rows.append(f"r{i},Do you care for {topic}?,{reply},{int('love' in reply)}")
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


@pytest.mark.parametrize("name", ["engagement", "relevance"])
def test_a_model_of_your_own_is_trained_reported_and_used(name, table, tmp_path, capsys):
    folder = tmp_path / "model"
    assert main(["train", name, str(table), "-o", str(folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n"] == 60
    after = {row["measure"]: row["after"]["value"] for row in report["measured"]}
    assert after["balanced accuracy"] > 0.95
    words = ["score", str(table), "-m", name, f"--{name}-model", f"file:{folder}"]
    assert main([*words, "-o", str(tmp_path / "out.jsonl")]) == 0
    scores = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(scores) == 60
    assert "model@" in scores[0]["signature"]
    for score in scores:
        assert (score["value"] > 0.5) == (score["meta"]["label"] == "1")


def test_nothing_is_written_where_labels_are_bad(table, tmp_path, capsys):
    table.write_text(table.read_text("utf-8") + "x,Hi.,There.,7\n", "utf-8")
    folder = tmp_path / "model"
    assert main(["train", "engagement", str(table), "-o", str(folder)]) == 2
    assert "x: label: 7 is not on the scale from 0 to 1" in capsys.readouterr().err
    assert not folder.exists()


def test_engagement_needs_labels(table, tmp_path, capsys):
    words = ["train", "engagement", str(table), "-o", str(tmp_path / "m"), "--unlabelled"]
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "unrecognized arguments: --unlabelled" in capsys.readouterr().err


def test_the_report_is_a_table_that_says_whether_it_helps(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "model"
    assert main(["train", "engagement", str(table), "-o", str(folder)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("60 labelled replies of 60 conversations")
    assert "Spearman" in out
    assert "Balanced accuracy" in out
    assert re.search(r"gain in Spearman [+-]0\.\d{3} \[.+\]: (it helps|that it helps is not)", out)
    assert "use it: grice score FILE -m engagement --engagement-model" in " ".join(out.split())


def test_relevance_learns_from_replies_set_against_others(tmp_path, capsys):
    talks = tmp_path / "talks.txt"
    talks.write_text("".join(
        f"Ann: Do you like {topic} number {i}?\nBob: Yes, {topic} is what I love most.\n\n"
        for i in range(8) for topic in TOPICS
    ))  # fmt: skip
    words = ["train", "relevance", "--unlabelled", str(talks), "--json"]
    assert main([*words, "-o", str(tmp_path / "model")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["conversations"] == 64
    # As many false replies as true ones.
    assert report["positive"] == pytest.approx(0.5)
