"""``grice doctor``: the promise is tried on this machine, and what is wrong is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from grice.cli import main
from grice.models.bundle import shipped_bundles
from grice.scoring import doctor

RECORDED = ["relevance", "repetition", "coherence", "commonsense", "engagement", "sense"]
PLUGIN = """
from grice import Judgement
from grice.metrics import Example, metric


def declared(name, judge):
    return metric(
        name, version="1", summary="Broken on purpose.", judges="response", source="none",
        example=Example(["a", "b"], 0.0, 1.0),
    )(judge)


def crowd(responses):
    return [Judgement(1 / len(responses)) for _ in responses]


def fragile(responses):
    if any(r.text == "Hi" for r in responses):
        raise ValueError("too short")
    return [Judgement(0.5) for r in responses]


def shy(responses):
    few = len(responses) < 10
    return [Judgement(None, "abstained", "few") if few else Judgement(0.5) for _ in responses]


crowd, fragile, shy = declared("crowd", crowd), declared("fragile", fragile), declared("shy", shy)
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN)
    return str(path)


def diagnosis(capsys, *words):
    status = main(["doctor", "--json", *words])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("mode", ["fast", "exact"])
def test_scores_keep_their_bits_in_every_arrangement(capsys, mode):
    status, report = diagnosis(capsys, "--mode", mode)
    assert (status, report["holds"], report["problems"]) == (0, True, [])
    assert [(row["arrangement"], row["metric"]) for row in report["arrangements"]] == [
        (name, metric) for name in ("alone", "reversed", "two workers") for metric in RECORDED
    ]
    assert all(row["scores"] >= report["conversations"] for row in report["arrangements"])
    # How far another processor is from the recorded scores is no test's business.
    assert [(row["metric"], row["note"]) for row in report["distances"]] == [
        (metric, "") for metric in RECORDED
    ], "the models have changed: run python -m grice_research.recipes.reference_scores"


def test_a_metric_whose_scores_depend_on_the_batch_is_named(capsys, plugin):
    assert main(["doctor", "--plugin", plugin, "-m", "log_length,crowd"]) == 1
    shown = capsys.readouterr().out
    assert "The promise does not hold here for crowd." in shown
    row = next(line for line in shown.splitlines() if line.startswith(" crowd "))
    assert row.split() == ["crowd", "37", "37", "by", "0.3", "same", "same"]
    _, report = diagnosis(capsys, "--plugin", plugin, "-m", "crowd")
    assert report["cache"] == os.environ["GRICE_CACHE"]
    alone, *others = report["arrangements"]
    assert (alone["differing"], [row["differing"] for row in others]) == (37, [0, 0])
    assert alone["largest"] == pytest.approx(1 / 3 - 1 / 37)


def test_scores_that_fail_are_no_promise_kept(capsys, plugin):
    status, report = diagnosis(capsys, "--plugin", plugin, "-m", "fragile")
    assert (status, report["holds"]) == (1, False)
    assert report["problems"] == ["fragile: 1 of 37 scores failed: ValueError: too short"]


def test_a_score_that_is_missing_in_one_arrangement_differs_by_no_amount(capsys, plugin):
    status, report = diagnosis(capsys, "--plugin", plugin, "-m", "shy")
    assert (status, report["holds"], report["problems"]) == (1, False, [])
    alone = report["arrangements"][0]
    assert alone["differing"] > 0
    assert alone["largest"] == 0


def test_what_a_person_reads_fits_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("GRICE_DATA", "data\x1b[31m\udcff")
    assert main(["doctor", "-m", "log_length"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b[31m" not in shown
    rows = dict(line.split(maxsplit=1) for line in shown.splitlines() if "  " in line.strip())
    assert rows["GRICE_DATA"].startswith("data")
    assert rows["variables"].strip() == "OMP_NUM_THREADS=3"
    assert "log_length   not recorded" in shown
    assert "The promise holds" in shown


def test_an_engine_that_cannot_start_is_what_is_told():
    done = subprocess.run(
        [sys.executable, "-m", "grice", "doctor", "--json", "-m", "engagement"],
        env={**os.environ, "CT2_FORCE_CPU_ISA": "NONE"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert "NONE" in report["problems"][0]
    assert report["machine"]["variables"]["CT2_FORCE_CPU_ISA"] == "NONE"


def test_a_damaged_model_is_named_and_the_others_are_listed(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "engagement"
    shutil.copytree(shipped_bundles()["engagement"], folder)
    (folder / "head.npz").write_bytes(b"")
    bundles = {"engagement": folder, "events": shipped_bundles()["events"]}
    monkeypatch.setattr(doctor, "shipped_bundles", lambda: bundles)
    status, report = diagnosis(capsys, "-m", "log_length")
    assert (status, [model["name"] for model in report["models"]]) == (1, ["events"])
    assert "head.npz is not the file its card describes" in report["problems"][0]


def test_an_unknown_metric_is_refused(capsys):
    assert main(["doctor", "-m", "relevanse"]) == 2
    assert "did you mean 'relevance'?" in capsys.readouterr().err


def test_what_cannot_be_had_again_is_said_with_the_reason(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path / "models"))
    monkeypatch.delenv("GRICE_DATA", raising=False)
    _, report = diagnosis(capsys, "-m", "log_length")
    reasons = report["not_reproducible"]
    assert any(
        line.startswith("the preset medium: medium, medium-states not here") for line in reasons
    )
    assert any("GRICE_DATA names no folder" in line for line in reasons)
    assert not any("log_length" in line for line in reasons)
