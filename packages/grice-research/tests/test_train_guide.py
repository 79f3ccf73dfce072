import json

import pytest

import tiny_decoder
from grice.cli import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tiny_decoder.write_steered(tmp_path_factory.mktemp("steered"))


def train(place, output, *more):
    words = ["train", "guide", str(place / "talks.jsonl"), "--base", f"file:{place / 'tiny'}"]
    return main([*words, *tiny_decoder.steer_options(place), "-o", str(output), *more])


def test_a_guide_is_trained_and_its_losses_are_reported(place, tmp_path, capsys):
    assert train(place, tmp_path / "new", "--replies", "8", "--temperature", "4", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["contexts"], report["replies"]) == (6, 48)
    assert len(report["training_loss"]) == len(report["validation_loss"]) > 1
    assert report["training_loss"][-1] < report["training_loss"][0]
    assert (tmp_path / "new" / "card.toml").is_file()


@pytest.mark.parametrize(
    ("content", "problem"),
    [("", "the file is empty"), ('{"id": "a", "turns": []}\n', "no context to learn from")],
)
def test_files_without_contexts_are_refused(place, tmp_path, capsys, content, problem):
    path = tmp_path / "empty.jsonl"
    path.write_text(content, "utf-8")
    words = [
        "train",
        "guide",
        str(path),
        "--base",
        f"file:{place / 'tiny'}",
        *tiny_decoder.steer_options(place),
    ]
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
