"""``grice doctor``: scores keep their bits on this machine, and faults are reported."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import made_metric
from grice.cli import main
from grice.models.folder import shipped_models
from grice.scoring import doctor

METRICS = ["relevance", "repetition", "coherence", "commonsense", "engagement", "sensibleness"]
CROWD = "return [Judgement(1 / len(responses)) for _ in responses]"
FRAGILE = """if any(r.text == "Hi" for r in responses):
    raise ValueError("too short")
return [Judgement(0.5) for r in responses]"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def plugin(tmp_path):
    made_metric.write(tmp_path / "plugin.py", "crowd", CROWD)
    return made_metric.write(tmp_path / "plugin.py", "fragile", FRAGILE)


def diagnosis(capsys, *words):
    return main(["doctor", "--json", *words]), json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("mode", "metrics"), [
    ("fast", METRICS), ("exact", METRICS[:3]),
    pytest.param("exact", METRICS, marks=pytest.mark.slow),
])  # fmt: skip
def test_scores_keep_their_bits_in_every_arrangement(capsys, mode, metrics):
    status, report = diagnosis(capsys, "--mode", mode, "-m", ",".join(metrics))
    assert (status, report["holds"], report["problems"]) == (0, True, [])
    assert [(row["arrangement"], row["metric"]) for row in report["arrangements"]] == [
        (name, metric) for name in ("alone", "reversed", "two workers") for metric in metrics
    ]
    assert all(row["scores"] >= report["conversations"] for row in report["arrangements"])


def test_metrics_that_depend_on_the_batch_or_fail_are_named(capsys, plugin):
    assert main(["doctor", "--plugin", plugin, "-m", "log_length,crowd"]) == 1
    shown = capsys.readouterr().out
    assert "Scores are not bit-identical here for crowd." in shown
    row = next(line for line in shown.splitlines() if line.startswith(" crowd "))
    assert row.split() == ["crowd", "alone", "37", "37", "by", "0.3"]
    _, report = diagnosis(capsys, "--plugin", plugin, "-m", "crowd")
    assert report["cache"] == os.environ["GRICE_CACHE"]
    alone, *others = report["arrangements"]
    assert (alone["differing"], [row["differing"] for row in others]) == (37, [0, 0])
    assert alone["largest"] == pytest.approx(1 / 3 - 1 / 37)
    status, report = diagnosis(capsys, "--plugin", plugin, "-m", "fragile")
    assert (status, report["holds"]) == (1, False)
    assert report["problems"] == ["fragile: 1 of 37 scores failed: ValueError: too short"]


def test_the_report_fits_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("GRICE_CACHE", "data\x1b[31m\udcff")
    assert main(["doctor", "-m", "log_length"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b[31m" not in shown
    rows = dict(line.split(maxsplit=1) for line in shown.splitlines() if "  " in line.strip())
    assert rows["cache"].strip().startswith("data")
    assert "Scores are bit-identical" in shown


def test_an_engine_that_cannot_start_is_reported():
    words = [sys.executable, "-m", "grice", "doctor", "--json", "-m", "engagement"]
    environment = {**os.environ, "CT2_FORCE_CPU_ISA": "NONE"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "NONE" in json.loads(done.stdout)["problems"][0]


def test_a_damaged_model_is_named_and_the_others_are_listed(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "engagement"
    shutil.copytree(shipped_models()["engagement"], folder)
    (folder / "head.npz").write_bytes(b"")
    folders = {"engagement": folder, "events": shipped_models()["events"]}
    monkeypatch.setattr(doctor, "shipped_models", lambda: folders)
    status, report = diagnosis(capsys, "-m", "log_length")
    assert (status, list(report["models"])) == (1, ["events"])
    assert "head.npz is not the file its card describes" in report["problems"][0]


def test_distributions_of_different_versions_are_a_problem(capsys, tmp_path, monkeypatch):
    folder = tmp_path / "grice_tasks-0.9.9.dist-info"
    folder.mkdir()
    facts = ("Metadata-Version: 2.1", "Name: grice-tasks", "Version: 0.9.9")
    (folder / "METADATA").write_text("\n".join([*facts, "Requires-Dist: grice==0.9.9\n"]))
    monkeypatch.syspath_prepend(tmp_path)
    status, report = diagnosis(capsys, "-m", "log_length")
    assert status == 1
    assert "grice-tasks 0.9.9 requires grice==0.9.9" in report["problems"][0]


def test_the_cache_is_shown_and_cleared(capsys, tmp_path):
    cache, other = tmp_path / "cache", tmp_path / "other"
    cache.mkdir()
    (cache / "answers.sqlite").write_bytes(bytes(3 * 2**20))
    assert diagnosis(capsys, "-m", "log_length")[1]["cache_size"] == 3 * 2**20
    assert main(["doctor", "--clear-cache"]) == 0
    assert capsys.readouterr().out == f"{cache}: 3.0 MiB cleared\n"
    cleared = diagnosis(capsys, "--clear-cache", "--cache", str(other))[1]
    assert (cleared["folder"], cleared["bytes"]) == (str(other), 0)
    assert not (cache / "answers.sqlite").exists()
