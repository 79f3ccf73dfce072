"""The GitHub Action: its steps, run in the shell that runs them there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
ACTION = (ROOT / "action.yml").read_text("utf-8")
STEP = re.compile(r"- name: (\w+)\n(?:      .*\n)*?      run: (\|\n(?:        .*\n)+|.*\n)")


def steps():
    for name, run in STEP.findall(ACTION):
        yield name, re.sub(r"^        ", "", run.removeprefix("|\n"), flags=re.MULTILINE)


@pytest.fixture
def shell(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "grice").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grice "$@"\n')
    (programs / "grice").chmod(0o755)

    def run(name, **inputs):
        script = dict(steps())[name]
        environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "FOLDER": "out",
            **inputs,
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def test_the_action_scores_and_gates(shell, tmp_path):
    assert [name for name, _ in steps()] == ["Install", "Score", "Gate"]
    assert re.search(r'  install:\n    description: .*\n    default: ""\n', ACTION)
    file = str(ROOT / "examples" / "convai.jsonl")
    scored = shell("Score", FILES=file, SCORE="-m log_length --no-cache")
    assert scored.returncode == 0, scored.stderr
    assert (tmp_path / "out" / "report.html").exists()
    passed = shell("Gate", GATE="--min log_length=0.5")
    assert passed.returncode == 0, passed.stderr
    assert shell("Gate", GATE="--min log_length=9").returncode == 1
    assert (tmp_path / "out" / "junit.xml").read_text().startswith("<testsuites>")
    summary = (tmp_path / "summary.md").read_text()
    assert "log\\_length" in summary  # as Markdown wants it: an underscore is escaped


@pytest.mark.parametrize(("stated", "installed"), [
    ("", [f"the action's/checkout/packages/{name}" for name in ("grice-models", "grice")]),
    ("grice[arrow] ./plugin", ["grice[arrow]", "./plugin"]),
])  # fmt: skip
def test_the_action_installs_its_own_checkout(shell, tmp_path, stated, installed):
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    done = shell("Install", INSTALL=stated, GITHUB_ACTION_PATH="the action's/checkout")
    assert done.returncode == 0, done.stderr
    words = done.stdout.splitlines()
    assert words[:3] == ["-m", "pip", "install"]
    assert [word for word in words[3:] if not word.startswith("-")] == installed


def test_records_that_cannot_be_read_are_for_the_gate(shell, tmp_path):
    (tmp_path / "talk.jsonl").write_text('{"turns": ["Hi.", "Hello."]}\n{"turns": 3}\n')
    assert shell("Score", FILES="talk.jsonl", SCORE="-m log_length").returncode == 0
    assert shell("Score", FILES="nothing.jsonl", SCORE="-m log_length").returncode == 1
