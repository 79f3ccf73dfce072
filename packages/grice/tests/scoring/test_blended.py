"""Blends of metrics as a score of their own."""

import json
import math
from pathlib import Path

import pytest

from grice.cli import main
from grice.data import Score
from grice.scoring import load
from grice.scoring.blended import blend_of


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.jsonl"
    turns = ["Do you like tea?", "I like green tea.", "Да", "Yes.", "I like green tea a lot."]
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


@pytest.mark.parametrize(("parts", "blended"), [
    ([("ok", 0.1), ("ok", 0.3)], ("ok", 0.1)),
    ([("ok", 0.1), ("abstained", 0.7)], ("abstained", 0.5)),
    ([("failed", None), ("ok", 0.3)], ("failed", None)),
    ([("failed", None), ("abstained", 0.7)], ("failed", None)),
])  # fmt: skip
def test_a_blend_abstains_or_fails_where_one_of_its_parts_does(parts, blended):
    with load("relevance", "repetition") as grader:
        blend = blend_of("min:relevance,repetition", grader.scorer.metrics)
    given = {
        name: [[Score("c", 1, name, value, status, None, (), (), "")]]
        for name, (status, value) in zip(blend.parts, parts, strict=True)
    }
    [[score]] = blend.score(given)
    assert (score.status, score.value) == blended


def test_scores_of_another_range_are_brought_to_that_of_the_others():
    with load("relevance", "reference_similarity") as grader:
        blend = blend_of("max:relevance,reference_similarity", grader.scorer.metrics)
    given = zip(blend.parts, (0.2, 0.0), strict=True)
    scores = {name: [[Score("c", 1, name, v, "ok", None, (), (), "")]] for name, v in given}
    [[score]] = blend.score(scores)
    assert (score.value, blend.column.neutral) == (0.5, 0.5)


def test_other_commands_read_the_scores_of_a_blend(chat, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["score", str(chat), "-m", "relevance,repetition", "-o", "out.jsonl", "--json"]
    for _ in range(2):
        assert main([*words, "--blend", "mean:relevance,repetition", "--report", "a.html"]) == 0
        names = [metric["metric"] for metric in json.loads(capsys.readouterr().out)["metrics"]]
        assert names == ["relevance", "repetition", "mean_relevance_repetition"]
    for command in (
        ["report", "out.jsonl", str(chat), "-o", "b.html"],
        ["compare", "out.jsonl", "out.jsonl"],
        ["check", str(chat), "--rank", "--scores", "out.jsonl"],
        ["gate", "out.jsonl", "--min", "mean_relevance_repetition=0.01", "--allow-uncertain"],
    ):
        assert main(command) == 0, command
    for page in ("a.html", "b.html"):
        assert "The mean of relevance, repetition" in Path(page).read_text("utf-8")


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
