"""The same names in all commands, and what is near to one that is none."""

import pytest

from grice.cli import main


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
        (["kb", "find", "tea", "--exat"], "usage: grice kb find", "'--exact'"),
        (["score", "talks.jsonl", "--mode", "fats"], "usage: grice score", "'fast'"),
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
    for command in ("score", "health", "sanity"):
        words = [command, "talks.jsonl", "-m", "log_length", "--relevance-history=3"]
        assert main(words) == 2
        assert "--relevance-history is an option of relevance" in capsys.readouterr().err
    (talks / "grice.toml").write_text("relevance-history = 3\n")
    assert main(["score", "talks.jsonl", "-m", "log_length"]) == 0, "a file is for all runs"


@pytest.mark.filterwarnings("default::FutureWarning")
def test_pages_are_reports_in_every_command_and_the_former_name_warns(talks, capsys):
    assert main(["score", "talks.jsonl", "-m", "log_length", "-o", "a.jsonl"]) == 0
    capsys.readouterr()
    assert main(["compare", "a.jsonl", "a.jsonl", "--report", "page.html"]) == 0
    assert capsys.readouterr().err == ""
    page = (talks / "page.html").read_text()
    assert main(["compare", "a.jsonl", "a.jsonl", "--html", "former.html"]) == 0
    assert "--html is called --report now" in capsys.readouterr().err
    assert (talks / "former.html").read_text() == page
