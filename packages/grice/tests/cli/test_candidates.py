"""``grice rerank``: candidates out of files, ranked or made into preference pairs."""

from __future__ import annotations

import json

import pytest

from grice.cli import main

JOB = {
    "id": "job",
    "turns": ["What do you do for a living?"],
    "candidates": ["I like turtles.", "I teach maths at a school.", ""],
}


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "candidates.jsonl"
    path.write_text(json.dumps(JOB) + "\n", "utf-8")
    return path


def test_the_best_candidate_is_shown_with_its_reasons(records, capsys):
    assert main(["rerank", str(records)]) == 0
    output = capsys.readouterr().out
    lines = [line.strip() for line in output.splitlines()]
    place = next(number for number, line in enumerate(lines) if "I teach maths" in line)
    assert lines[place + 1].startswith("relevance 0.")
    assert place < next(number for number, line in enumerate(lines) if "turtles" in line)
    assert "a later candidate is best in 1" in " ".join(output.split())


def test_what_is_written_holds_every_candidate_with_its_scores(records, tmp_path, capsys):
    written = tmp_path / "ranked.jsonl"
    assert main(["rerank", str(records), "-o", str(written)]) == 0
    [row] = map(json.loads, written.read_text("utf-8").splitlines())
    assert [candidate["index"] for candidate in row["candidates"]] == [1, 0, 2]
    assert row["candidates"][0]["scores"][0]["metric"] == "relevance"


def test_a_record_without_candidates_is_said_and_the_others_are_ranked(records, capsys):
    records.write_text('{"turns": ["Hi."]}\n' + json.dumps(JOB) + "\n", "utf-8")
    assert main(["rerank", str(records), "--json"]) == 4
    output = capsys.readouterr()
    assert json.loads(output.out)["conversation"] == "job"
    assert "candidates: missing" in output.err


def test_a_metric_that_only_vetoes_is_run_too(records, capsys):
    command = ["rerank", str(records), "-m", "relevance", "--veto", "log_length=1.5", "--json"]
    assert main(command) == 0
    row = json.loads(capsys.readouterr().out)
    vetoed = {candidate["index"]: candidate["vetoed"] for candidate in row["candidates"]}
    assert vetoed == {1: [], 0: ["log_length"], 2: []}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--weight", "relevance"], "METRIC=VALUE"),
        (["--weight", "relevance=heavy"], "not a number"),
        (["--weight", "relevance=-1"], "above 0"),
        (["--held-out", "relevance,repetition"], "no metric is left"),
        (["--candidates", "replies"], "no record could be used"),
        (["--margin", "0.2", "--agreement"], "--margin, --agreement: only pairs are filtered"),
        (["--pairs", "--margin", "-1"], "a margin must be 0 or more"),
    ],
)
def test_options_that_do_not_fit_are_refused(records, options, problem, capsys):
    assert main(["rerank", str(records), *options]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())


def test_pairs_for_training_are_written(records, tmp_path, capsys):
    written = tmp_path / "pairs.jsonl"
    assert main(["rerank", "--pairs", str(records), "-o", str(written)]) == 0
    [row] = map(json.loads, written.read_text("utf-8").splitlines())
    assert row["chosen"][0]["content"] == "I teach maths at a school."
    assert row["rejected"][0]["content"] == "I like turtles."
    assert "1 pair from 1 context" in capsys.readouterr().out


def test_pairs_that_are_too_close_are_counted(records, capsys):
    assert main(["rerank", "--pairs", str(records), "--margin", "1"]) == 0
    assert "1 left out: too close" in capsys.readouterr().out
    assert main(["rerank", "--pairs", str(records), "--length-ratio", "1.5"]) == 0
    assert "1 left out: " in capsys.readouterr().out
