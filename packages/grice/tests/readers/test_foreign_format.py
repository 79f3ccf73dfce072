"""A format that somebody else's package adds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[1] / "plugin_package"


@pytest.fixture
def grice(tmp_path):
    """Return what runs the command where the package is installed."""

    def run(*words):
        command = [sys.executable, "-m", "grice", *words]
        path = os.pathsep.join([str(PLUGIN), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)

    return run


def test_its_files_are_recognised_and_scored(grice, tmp_path):
    (tmp_path / "talks.txt").write_text("-> Where were you? -> AT HOME.\n-> Hi. -> Hello there.\n")
    done = grice("score", "talks.txt", "-m", "log_length", "-o", "-")
    assert done.returncode == 0, done.stderr
    scores = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(score["conversation"], score["turn"]) for score in scores] == [
        (f"talks.txt:{line}", turn) for line in (1, 2) for turn in (0, 1)
    ]
    done = grice("score", "talks.txt", "-m", "log_length", "--column", "text=body")
    assert done.returncode == 2
    assert "the format arrows has no columns" in done.stderr


def test_one_that_fails_or_takes_a_name_is_reported_and_leaves_the_others(grice):
    done = grice("list")
    assert "arrows" in done.stdout
    assert "format 'broken' of grice-shouting: ModuleNotFoundError" in done.stderr
    assert "format 'transcript' of grice-shouting: " in done.stderr
    assert done.returncode == 0
