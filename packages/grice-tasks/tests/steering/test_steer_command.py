import io
import json
import sys

import pytest

import grice
import tiny_decoder
from grice.cli import main
from grice.models.causal import EmbeddedCausalLM
from grice_tasks.steering.decoding import SteerableLM
from grice_tasks.steering.guide_training import (
    Fitting,
    Sampling,
    draw_contexts,
    labelled_samples,
    save_guide,
    train_guide,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tiny_decoder.write_steered(tmp_path_factory.mktemp("steered"))


@pytest.fixture(scope="module")
def guide(place, exact_models):
    """A guide that was trained for the tiny model."""
    asked = {"plugins": [place / "names_b.py"], "mode": "exact", "cache": place / "cache-tiny"}
    talks = list(draw_contexts(grice.read(place / "talks.jsonl"), seed=0))
    sampling = Sampling(replies=8, temperature=4.0)
    with grice.load("names_b", **asked) as grader:
        base = SteerableLM(exact_models.load(f"file:{place / 'tiny'}", EmbeddedCausalLM))
        samples = labelled_samples(talks, base, grader.scorer, sampling)
        trained, report = train_guide(samples, base, ["names_b"], sampling, Fitting())
    save_guide(place / "guide", trained, report, ["made"], seed=0)
    return place / "guide"


def steering(place, model="tiny"):
    words = ["steer", "--model", f"file:{place / model}"]
    return [*words, *tiny_decoder.steer_options(place, model)]


def chat(place, monkeypatch, text, *more, model="tiny"):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return main([*steering(place, model), "--max-tokens", "6", *more])


@pytest.mark.parametrize(("strength", "same"), [("100", False), ("0", True)])
def test_each_line_is_answered_by_base_and_guide(place, guide, monkeypatch, capsys, strength, same):
    capsys.readouterr()
    options = ["--guide", str(guide), "--strength", strength, "--json"]
    assert chat(place, monkeypatch, "i eat\n\nB sleep\n", *options) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["message"], second["message"]) == ("i eat", "B sleep")
    assert first["base"]["scores"][0]["metric"] == "names_b"
    assert (first["guided"]["text"] == first["base"]["text"]) is same


def test_replies_stand_side_by_side_with_their_scores(place, guide, monkeypatch, capsys):
    capsys.readouterr()
    assert chat(place, monkeypatch, "i eat\n", "--guide", str(guide)) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if "base" in line)
    assert head.index("base") < head.index("guided")
    assert any(line.strip().startswith("names_b") for line in lines)


def test_without_a_guide_the_model_talks_alone_and_only_when_asked(place, monkeypatch, capsys):
    assert (chat(place, monkeypatch, "\n  \n"), capsys.readouterr().out) == (0, "")
    assert chat(place, monkeypatch, "i eat\n", "--json") == 0
    assert "guided" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("strength", ["-1", "nan", "inf"])
def test_a_strength_that_means_nothing_is_refused(place, guide, monkeypatch, capsys, strength):
    given = ["--guide", str(guide), f"--strength={strength}"]
    assert chat(place, monkeypatch, "i eat\n", *given) == 2
    assert "a strength is a number of 0 (the base model) or more" in capsys.readouterr().err
    assert chat(place, monkeypatch, "i eat\n", "--guide", str(guide), model="other") == 2
    assert "the guide was trained for tiny@" in capsys.readouterr().err


@pytest.mark.parametrize("guided", [False, True])
def test_candidates_are_written_and_reranked(place, guide, guided, tmp_path, capsys):
    path, out = tmp_path / "asked.jsonl", tmp_path / "candidates.jsonl"
    path.write_text(json.dumps({"id": "a", "turns": ["i eat"], "topic": "food"}) + "\n", "utf-8")
    given = ["--candidates", "3", "-o", str(out), *(["--guide", str(guide)] if guided else [])]
    assert main([*steering(place), str(path), *given]) == 0
    row = json.loads(out.read_text("utf-8"))
    assert (row["id"], row["topic"]) == ("a", "food")
    assert 1 <= len(row["candidates"]) <= 3
    assert main(["rerank", str(out), *tiny_decoder.steer_options(place), "--json"]) == 0
    ranked = json.loads(capsys.readouterr().out)
    assert sorted(each["text"] for each in ranked["candidates"]) == sorted(row["candidates"])
    assert (ranked["conversation"], ranked["meta"]["topic"]) == ("a", "food")


def test_candidates_and_files_need_each_other(place, capsys):
    words = steering(place)
    assert main([*words, str(place / "talks.jsonl")]) == 2
    assert main([*words, "--candidates", "2"]) == 2
    assert capsys.readouterr().err.count("need each other") == 2
