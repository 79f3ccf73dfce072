import json

import pytest

import tiny_decoder
from grice.cli import main

PLUGIN = '''
from grice.metrics import Example, metric
from grice.data import Judgement


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
