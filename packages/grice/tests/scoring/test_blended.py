"""Blends of metrics as a score of their own."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from grice.cli import main


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.jsonl"
    turns = ["Do you like tea?", "I like green tea.", "Да", "Yes.", "And coffee?"]
    turns.append("I like green tea more than coffee.")
    path.write_text(json.dumps({"id": "c", "turns": turns}) + "\n", "utf-8")
    return path


def test_a_blend_is_made_of_the_scores_of_its_parts(chat, capsys):
    words = ["score", str(chat), "-m", "relevance,repetition", "-o", "-"]
    for how in ("min", "max", "mean", "geometric"):
        words += ["--blend", f"{how}:relevance,repetition"]
    assert main(words) == 0
    scores = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for turn in {score["turn"] for score in scores}:
        of_turn = {score["metric"]: score for score in scores if score["turn"] == turn}
        parts = [of_turn["relevance"], of_turn["repetition"]]
        a, b = (part["value"] for part in parts)
        wanted = {"min": min(a, b), "max": max(a, b), "mean": (a + b) / 2}
        wanted["geometric"] = math.sqrt(a * b)
        for how in wanted:
            blend = of_turn[f"{how}_relevance_repetition"]
            abstained = any(part["status"] == "abstained" for part in parts)
            assert blend["status"] == ("abstained" if abstained else "ok")
            if not abstained:
                assert blend["value"] == pytest.approx(wanted[how])
            assert all(part["signature"] in blend["signature"] for part in parts)


def test_a_run_with_a_blend_is_summed_up_and_goes_on(chat, tmp_path, capsys):
    out, page = tmp_path / "out.jsonl", tmp_path / "report.html"
    words = ["score", str(chat), "-m", "relevance,repetition", "-o", str(out), "--json"]
    words += ["--blend", "mean:relevance,repetition", "--report", str(page)]
    for _ in range(2):
        assert main(words) == 0
        summary = json.loads(capsys.readouterr().out)
        names = [metric["metric"] for metric in summary["metrics"]]
        assert names == ["relevance", "repetition", "mean_relevance_repetition"]
    assert "mean_relevance_repetition" in page.read_text("utf-8")


def test_scores_of_a_blend_are_read_by_other_commands(chat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["score", str(chat), "-m", "relevance,repetition", "-o", "out.jsonl"]
    assert main([*words, "--relevance-history", "2", "--blend", "mean:relevance,repetition"]) == 0
    gate = ["--min", "mean_relevance_repetition=0.01", "--allow-uncertain"]
    for command in (
        ["report", "out.jsonl", str(chat), "-o", "page.html"],
        ["compare", "out.jsonl", "out.jsonl"],
        ["review", "out.jsonl"],
        ["gate", "out.jsonl", *gate],
    ):
        assert main(command) == 0, command
    assert "The mean of relevance, repetition" in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize(("blend", "problem"), [
    ("median:relevance,repetition", "one of min, max, mean, geometric"),
    ("mean:relevance,engagement", "engagement is not run"),
    ("mean:relevance", "two different metrics"),
    ("mean:relevance,relevance", "two different metrics"),
    ("mean:relevance,coherence", "some whole conversations"),
    ("mean:relevance,log_length", "log_length goes from"),
])  # fmt: skip
def test_what_cannot_be_blended_is_refused(blend, problem, chat, capsys):
    words = ["score", str(chat), "-m", "relevance,repetition,coherence,log_length"]
    assert main([*words, "--blend", blend]) == 2
    assert problem in capsys.readouterr().err
