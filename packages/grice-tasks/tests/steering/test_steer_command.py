"""``grice train guide`` and ``grice chat`` as a user runs them, on a tiny decoder."""

from __future__ import annotations

import io
import json
import sys

import pytest

import tiny_decoder
from grice.cli import main

PLUGIN = '''
from grice.metrics import Example, metric
from grice.records import Judgement


@metric("names_b", version="1", summary="Does it name B?", judges="response", source="Ours.",
        example=Example(["Hi.", "B"], 0.0, 1.0))
def names_b(responses):
    """Return 1 where the reply names B."""
    return (Judgement(float("B" in response.text)) for response in responses)
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steered")
    tiny_decoder.write(folder / "tiny", max_tokens=160)
    tiny_decoder.write(folder / "other", max_tokens=164)
    (folder / "names_b.py").write_text(PLUGIN, "utf-8")
    texts = ["i eat bread", "B happy", "sleep tired A", "bread", "A : i", "tired"]
    talks = [{"id": f"{i}", "turns": ["i sleep", text]} for i, text in enumerate(texts)]
    (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)), "utf-8")
    return folder


def options(place, model="tiny"):
    # In int8 a random decoder says something else on every kind of processor.
    plugin = ["--plugin", str(place / "names_b.py"), "-m", "names_b", "--mode", "exact"]
    return [*plugin, "--cache", str(place / f"cache-{model}")]


def train(place, output, *more):
    words = ["train", "guide", str(place / "talks.jsonl"), "--base", f"file:{place / 'tiny'}"]
    return main([*words, *options(place), "-o", str(output), *more])


@pytest.fixture(scope="module")
def guide(place):
    assert train(place, place / "guide", "--replies", "8", "--temperature", "4") == 0
    return place / "guide"


def chat(place, monkeypatch, text, *more, model="tiny"):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    words = ["chat", "--model", f"file:{place / model}", "--max-tokens", "6"]
    return main([*words, *options(place, model), *more])


def test_a_guide_is_trained_and_its_losses_are_reported(place, tmp_path, capsys):
    assert train(place, tmp_path / "new", "--replies", "8", "--temperature", "4", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["contexts"], report["replies"]) == (6, 48)
    assert len(report["training_loss"]) == len(report["validation_loss"]) > 1
    assert report["training_loss"][-1] < report["training_loss"][0]
    assert (tmp_path / "new" / "card.toml").is_file()


def test_each_line_is_answered_by_base_and_guide(place, guide, monkeypatch, capsys):
    capsys.readouterr()
    given = ["--guide", str(guide), "--strength", "100"]
    assert chat(place, monkeypatch, "i eat\n\nB sleep\n", *given, "--json") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["message"], second["message"]) == ("i eat", "B sleep")
    assert first["base"]["scores"][0]["metric"] == "names_b"
    assert first["guided"]["text"] != first["base"]["text"]


def test_without_strength_the_guided_reply_is_that_of_the_base(place, guide, monkeypatch, capsys):
    capsys.readouterr()
    given = ["--guide", str(guide), "--strength", "0"]
    assert chat(place, monkeypatch, "i eat\n", *given, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["guided"]["text"] == answer["base"]["text"]


def test_replies_stand_side_by_side_with_their_scores(place, guide, monkeypatch, capsys):
    capsys.readouterr()
    assert chat(place, monkeypatch, "i eat\n", "--guide", str(guide)) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if "base" in line)
    assert head.index("base") < head.index("guided")
    assert any(line.strip().startswith("names_b") for line in lines)


def test_without_a_guide_the_model_talks_alone(place, monkeypatch, capsys):
    assert chat(place, monkeypatch, "i eat\n", "--json") == 0
    assert "guided" not in json.loads(capsys.readouterr().out)


def test_nothing_said_is_nothing_answered(place, monkeypatch, capsys):
    assert chat(place, monkeypatch, "\n  \n") == 0
    assert capsys.readouterr().out == ""


def test_an_interrupt_ends_it_cleanly(place, monkeypatch, capsys):
    class Interrupted(io.StringIO):
        def readline(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    assert main(["chat", "--model", f"file:{place / 'tiny'}", *options(place)]) == 130
    assert capsys.readouterr().err.endswith("interrupted\n")


@pytest.mark.parametrize("strength", ["-1", "nan", "inf"])
def test_strengths_that_mean_nothing_are_refused(place, guide, monkeypatch, capsys, strength):
    given = ["--guide", str(guide), f"--strength={strength}"]
    assert chat(place, monkeypatch, "i eat\n", *given) == 2
    assert "a strength is a number of 0 (the base model) or more" in capsys.readouterr().err


def test_a_guide_of_another_model_is_refused(place, guide, monkeypatch, capsys):
    status = chat(place, monkeypatch, "i eat\n", "--guide", str(guide), model="other")
    assert status == 2
    assert "the guide was trained for tiny@" in capsys.readouterr().err


def test_candidates_are_written_under_a_guide(place, guide, tmp_path, capsys):
    path = tmp_path / "asked.jsonl"
    path.write_text(json.dumps({"id": "a", "turns": ["i eat"]}) + "\n", "utf-8")
    words = ["rerank", str(path), "--generator", f"file:{place / 'tiny'}", *options(place)]
    assert main([*words, "--generate", "3", "--guide", str(guide), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert 1 <= len(row["candidates"]) <= 3
    assert main([*words, "--guide", str(guide)]) == 2
    assert "give --generate N, too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "problem"),
    [("", "the file is empty"), ('{"id": "a", "turns": []}\n', "no context to learn from")],
)
def test_files_without_contexts_are_refused(place, tmp_path, capsys, content, problem):
    path = tmp_path / "empty.jsonl"
    path.write_text(content, "utf-8")
    words = ["train", "guide", str(path), "--base", f"file:{place / 'tiny'}", *options(place)]
    assert main([*words, "-o", str(tmp_path / "g")]) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


def test_a_threshold_that_every_reply_reaches_teaches_nothing(place, tmp_path, capsys):
    assert train(place, tmp_path / "g", "--threshold", "0") == 2
    assert "there is nothing to learn" in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(("option", "problem"), [
    (["--consistency", "2"], "a weight of 0 to 1"),
    (["--temperature", "0"], "a temperature is above 0"),
    (["--threshold", "nan"], "a threshold is a finite number"),
])  # fmt: skip
def test_options_that_mean_nothing_are_refused(place, tmp_path, capsys, option, problem):
    assert train(place, tmp_path / "g", *option) == 2
    assert problem in capsys.readouterr().err
