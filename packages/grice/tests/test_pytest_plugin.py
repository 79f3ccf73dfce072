"""The plugin inside a pytest of its own, and what its import costs."""

import os
import subprocess
import sys
from pathlib import Path

import grice

SUITE = """
from grice import Conversation, Turn
from grice.pytest_plugin import assert_scores

TALKS = [
    Conversation(f"c{i}", (Turn("A", "How was it?"), Turn("B", "It was " + "very " * i + "good.")))
    for i in range(12)
]

def test_holds(grice_score):
    scores = grice_score(TALKS, "log_length")
    assert len(scores) == 24
    assert_scores(scores, minimum={"log_length": 0.5}, max_failed=0.0)

def test_loads_once(grice_score, monkeypatch):
    monkeypatch.setattr("grice.scoring.load", None)
    assert grice_score(["Hello.", "Hi there."], "log_length")[0].status == "ok"

def test_does_not_hold(grice_score):
    scores = grice_score(TALKS, "log_length")
    assert_scores(scores, max_share_below={("log_length", 9.0): 0.5})
"""


def run_suite(folder, *words):
    source = str(Path(grice.__file__).parents[1])  # also where grice is not installed
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": source}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "grice.pytest_plugin", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_scores_and_thresholds_in_a_suite(tmp_path):
    (tmp_path / "test_bot.py").write_text(SUITE)
    done = run_suite(tmp_path, "-p", "no:cacheprovider")
    assert "1 failed, 2 passed" in done.stdout
    assert "scores miss the thresholds" in done.stdout
    assert "share below 9: 100.0%" in done.stdout


def test_the_import_loads_nothing_heavy():
    code = "import sys, grice.pytest_plugin; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "scipy", "ctranslate2", "msgspec", "rich"}
