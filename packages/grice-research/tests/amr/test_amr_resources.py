"""Resources of the AMR kinds of ``grice perturb``."""

from __future__ import annotations

import pytest

from grice.cli import main


@pytest.fixture
def chat(tmp_path):
    file = tmp_path / "chat.txt"
    file.write_text("A: i like tea\nB: you hate soup\nA: they want maps\nB: i buy songs\n")
    return file


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["deam", "--resource", "graphs=x"], "no resource is read by deam"),
        (["deam-amr", "--resource", "parser=file:x"], "read graphs=FILE"),
        (["deam-amr", "--resource", "graphs"], "write NAME=VALUE"),
    ],
)
def test_resources_that_nothing_reads_are_refused(words, problem, chat, capsys):
    assert main(["perturb", str(chat), "--kind", *words]) == 2
    assert problem in capsys.readouterr().err
