"""The same names in all commands, and what is near to one that is none."""

import re

import pytest

from grice.cli import COMMANDS, command_names, main


@pytest.fixture
def talks(tmp_path, monkeypatch):
    (tmp_path / "talks.jsonl").write_text('{"turns": ["Is it far?", "Ten minutes."]}\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "usage", "near"),
    [
        (["scroe", "talks.jsonl"], "usage: grice [-h]", "'score'"),
        (["score", "talks.jsonl", "--repotr", "x"], "usage: grice score", "'--report'"),
        (["kb", "fnd", "tea"], "usage: grice kb", "'find'"),
        (["score", "talks.jsonl", "--mode", "fats"], "usage: grice score", "'fast'"),
        (["--quite", "score", "talks.jsonl"], "usage: grice [-h]", "'--quiet'"),
        (["models", "add", "x", "--lisence"], "usage: grice models add", "'--licence'"),
        (["models", "gte", "medium"], "usage: grice models", "'get'"),
        (["kb", "find", "tea", "--exat"], "usage: grice kb find", "'--exact'"),
    ],
)
def test_a_mistyped_word_names_the_near_one_and_its_own_usage(talks, capsys, words, usage, near):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(usage)
    assert f"did you mean {near}?" in shown


def test_an_option_of_a_metric_that_is_not_asked_for_is_refused(talks, capsys):
    for command in ("score", "explain", "meta-eval --on"):
        words = [*command.split(), "talks.jsonl", "-m", "log_length", "--relevance-history=3"]
        assert main(words) == 2
        assert "--relevance-history is an option of relevance" in capsys.readouterr().err
    (talks / "grice.toml").write_text("relevance-history = 3\n")
    assert main(["score", "talks.jsonl", "-m", "log_length"]) == 0, "a file is for all runs"


def test_an_option_is_written_out(talks, capsys):
    with pytest.raises(SystemExit) as end:
        main(["score", "talks.jsonl", "--rep", "page.html"])
    assert end.value.code == 2
    assert "unrecognized arguments: --rep" in capsys.readouterr().err
    assert not (talks / "page.html").exists()


@pytest.mark.parametrize(
    "words",
    [["--quiet", "models", "list"], ["models", "--quiet", "list"], ["models", "list", "--quiet"],
     ["kb", "find", "tea", "-q"]],
)  # fmt: skip
def test_quiet_stands_before_or_behind_any_command_and_action(talks, capsys, words):
    assert main(words) == 0
    assert capsys.readouterr().err == ""


def test_a_dash_is_standard_output_in_every_command(talks, capfdbinary):
    for command in ("score talks.jsonl -m log_length", "perturb talks.jsonl --kind turn-order"):
        assert main([*command.split(), "-q"]) == 0
        printed = capfdbinary.readouterr().out
        assert main([*command.split(), "-q", "-o", "-"]) == 0
        assert capfdbinary.readouterr().out == printed
    assert not (talks / "-").exists()


def test_without_a_command_the_commands_are_listed(capsys):
    assert main([]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert "score the replies in files of conversations" in shown


def test_the_help_lists_every_command_once_under_the_heading_of_its_group(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    page = capsys.readouterr().out
    listed = re.findall(r"^  ([a-z][a-z-]*)  ", page, re.MULTILINE)
    assert sorted(listed) == command_names()
    headings = re.findall(r"^([a-z].*):$", page, re.MULTILINE)
    assert headings[:5] == list(COMMANDS)
    assert headings[-1] == "options"
    assert set(headings[5:-1]) <= {"grice-annotate", "grice-research", "grice-tasks"}
