"""Options from a file, and what a quiet command prints."""

import json
from pathlib import Path

import pytest

from grice.cli import main
from grice.cli.settings import find_settings


@pytest.fixture
def talks(tmp_path, monkeypatch):
    (tmp_path / "talks.jsonl").write_text('{"turns": ["Is it far?", "Ten minutes."]}\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def metrics_of(out):
    return {json.loads(line)["metric"] for line in out.splitlines()}


def test_a_file_sets_options_of_score_and_the_command_line_counts_more(talks, capsys):
    (talks / "grice.toml").write_text('metrics = ["log_length", "turn_count"]\nspeaker = ["A"]\n')
    assert main(["score", "talks.jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["metric"], line["turn"]) for line in lines] == [
        ("log_length", 0), ("turn_count", None)
    ]  # fmt: skip
    for words in (["-m", "distinct_words"], ["-mdistinct_words"], ["--metrics=distinct_words"]):
        assert main(["score", "talks.jsonl", *words]) == 0
        assert metrics_of(capsys.readouterr().out) == {"distinct_words"}
    assert main(["score", "talks.jsonl", "--speaker", "B", "-m", "log_length"]) == 0
    assert json.loads(capsys.readouterr().out)["turn"] == 1, "speakers are not added up"


def test_the_numbers_one_and_zero_are_no_true_and_false(talks, capsys):
    (talks / "more.jsonl").write_text('{"turns": ["Is it far?", "No."]}\n' * 4)
    (talks / "grice.toml").write_text('metrics = ["turn_count"]\nsample = 1\nseed = 0\n')
    assert main(["score", "more.jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_nearest_file_counts_and_paths_are_relative_to_it(talks, capsys, monkeypatch):
    (talks / "pyproject.toml").write_text(
        '[tool.grice]\nmetrics = ["log_length"]\noutput = "out.jsonl"\nresume = false\n'
    )
    inner = talks / "inner"
    inner.mkdir()
    (talks / ".git").mkdir()
    (inner / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    monkeypatch.chdir(inner)
    assert main(["score", "../talks.jsonl"]) == 0
    assert metrics_of((talks / "out.jsonl").read_text()) == {"log_length"}
    capsys.readouterr()
    [settings] = find_settings(Path.cwd())
    assert settings.file == talks / "pyproject.toml"
    assert settings.options["resume"] == [False]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('metric = "log_length"', "no option 'metric' of grice score; did you mean 'metrics'?"),
        ("relevance-histroy = 2", "did you mean 'relevance-history'?"),
        ("metrics = {a = 1}", "metrics: a text, a number, true, false or a list"),
        ("metrics = [", "no TOML"),
        ("a = " + "[" * 9999, "no TOML"),
        ("output = true", "output: a value is expected, found bool"),
        ("models = true", "models: a value is expected, found bool"),
        ('"sample=1 --seed" = 2', "no option 'sample=1 --seed' of grice score"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_way_out(talks, capsys, content, problem):
    (talks / "grice.toml").write_text(content + "\n")
    assert main(["score", "talks.jsonl"]) == 2
    shown = capsys.readouterr().err
    assert "grice.toml" in shown
    assert problem in shown


def test_a_value_that_no_option_takes_is_refused_as_on_the_command_line(talks, capsys):
    (talks / "grice.toml").write_text('mode = "slow"\n')
    with pytest.raises(SystemExit) as end:
        main(["score", "talks.jsonl", "-m", "log_length"])
    assert end.value.code == 2
    assert "--mode" in capsys.readouterr().err


def test_a_full_command_cuts_no_text(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    long = "It is ten minutes on foot. " * 30
    assert main(["explain", "Is it far?", long, "And then?", "-m", "relevance"]) == 0
    assert long.strip() not in capsys.readouterr().out
    assert main(["explain", "Is it far?", long, "And then?", "-m", "relevance", "--full"]) == 0
    assert long.strip() in capsys.readouterr().out


def test_a_quiet_command_prints_results_and_errors_alone(talks, capsys):
    assert main(["score", "talks.jsonl", "-m", "log_length", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert metrics_of(shown.out) == {"log_length"}
    assert shown.err == ""
    assert main(["score", "missing.jsonl", "-q"]) == 2
    assert "missing.jsonl" in capsys.readouterr().err
    assert main(["score", "talks.jsonl", "-m", "log_length"]) == 0
    assert "read as" in capsys.readouterr().err, "quiet is of one command"
