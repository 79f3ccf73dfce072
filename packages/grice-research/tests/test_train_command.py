import json
import random
import re

import numpy as np
import pytest

import decoders
import tiny_decoder
from grice.cli import main
from grice.models import download

TOPICS = ["music", "the garden", "trains", "old films", "bread", "the sea", "chess", "maps"]


@pytest.fixture
def table(tmp_path):
    rng, rows = random.Random(0), ["id,history,reply,label"]
    for i in range(60):
        topic = rng.choice(TOPICS)
        reply = rng.choice([f"I love {topic} and could talk about it all day long.", "Not really."])
        rows.append(f"r{i},Do you care for {topic}?,{reply},{int('love' in reply)}")
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


@pytest.mark.parametrize("name", ["engagement", "relevance"])
def test_a_model_of_your_own_is_trained_reported_and_used(name, table, tmp_path, capsys):
    folder = tmp_path / "model"
    assert main(["train", name, str(table), "-o", str(folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n"] == 60
    after = {row["measure"]: row["after"]["value"] for row in report["measured"]}
    assert after["balanced accuracy"] > 0.95
    words = ["score", str(table), "-m", name, f"--{name}-model", f"file:{folder}"]
    assert main([*words, "-o", str(tmp_path / "out.jsonl")]) == 0
    scores = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(scores) == 60
    assert "model@" in scores[0]["signature"]
    for score in scores:
        assert (score["value"] > 0.5) == (score["meta"]["label"] == "1")


def test_nothing_is_written_where_labels_are_bad_or_missing(table, tmp_path, capsys):
    table.write_text(table.read_text("utf-8") + "x,Hi.,There.,7\n", "utf-8")
    folder = tmp_path / "model"
    assert main(["train", "engagement", str(table), "-o", str(folder)]) == 2
    assert "x: label: 7 is not on the scale from 0 to 1" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["train", "engagement", str(table), "-o", str(folder), "--unlabelled"])
    assert "unrecognized arguments: --unlabelled" in capsys.readouterr().err
    assert not folder.exists()


def test_the_report_is_a_table_that_says_whether_it_helps(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "model"
    assert main(["train", "engagement", str(table), "-o", str(folder)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("60 labelled replies of 60 conversations")
    assert "Spearman" in out
    assert "Balanced accuracy" in out
    assert re.search(r"gain in Spearman [+-]0\.\d{3} \[.+\]: (it helps|that it helps is not)", out)
    assert "use it: grice score FILE -m engagement --engagement-model" in " ".join(out.split())


def test_relevance_learns_from_replies_set_against_others(tmp_path, capsys):
    talks = tmp_path / "talks.txt"
    talks.write_text("".join(
        f"Ann: Do you like {topic} number {i}?\nBob: Yes, {topic} is what I love most.\n\n"
        for i in range(8) for topic in TOPICS
    ))  # fmt: skip
    words = ["train", "relevance", "--unlabelled", str(talks), "--json"]
    assert main([*words, "-o", str(tmp_path / "model")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["conversations"] == 64
    # As many false replies as true ones.
    assert report["positive"] == pytest.approx(0.5)


@pytest.fixture
def judge(tmp_path):
    """The reference of a reward model of random weights, by its checkpoint."""
    score = np.random.default_rng(5).normal(0, 1, (1, decoders.HIDDEN)).astype(np.float32)
    tensors = decoders.weights("qwen3") | {"score.weight": score}
    facts = {"id2label": {"0": "LABEL_0"}, "tie_word_embeddings": True, "pad_token_id": 0}
    facts |= {"intermediate_size": decoders.FEED, "max_position_embeddings": 1024}
    source = decoders.write_folder(tmp_path / "judge", "qwen3", tensors, **facts)
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"
    (source / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    (source / "new").mkdir()
    facts = {"name": "judge", "kind": "reward", "version": "1", "summary": "-", "licence": "MIT"}
    download.make_model(source, source / "new", facts)
    return f"file:{source / 'new'}"


def values(reference, table, capsys):
    words = ["score", str(table), "-m", "sensibleness", "--sensibleness-model", reference]
    assert main([*words, "--json", "--no-cache"]) == 0
    scores = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return np.array([score["value"] for score in scores]), scores[0]["signature"]


def test_the_map_of_a_reward_is_fitted_and_kept(judge, tmp_path, capsys, monkeypatch):
    words = [f"r{i},Where is it?,{'bread ' * (i % 7)} {'re ad ' * (i % 5)} {i}" for i in range(60)]
    table, new = tmp_path / "rated.csv", tmp_path / "calibrated"
    table.write_text("\n".join(["id,history,reply", *words]))
    before, signature = values(judge, table, capsys)
    labels = 1 + 4 * (before > np.median(before))
    rated = [f"{row},{label}" for row, label in zip(words, labels, strict=True)]
    table.write_text("\n".join(["id,history,reply,rating", *rated]))
    command = ["train", "reward", judge, str(table), "--label", "rating", "-o", str(new)]
    assert main([*command, "--scale", "1", "5", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    errors = {name: error["value"] for name, error in report["errors"].items()}
    assert errors["fitted"] < min(errors["mean label"], errors["as it was"])
    after, changed = values(f"file:{new}", table, capsys)
    odds = report["map"]["slope"] * np.log(before / (1 - before)) + report["map"]["intercept"]
    assert after == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-4)
    assert "calibrated@" in changed != signature
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path / "models"))
    assert main(["models", "add", str(new), "--name", "mine"]) == 0
    table.write_text(table.read_text().replace(",5\n", ",0\n").replace(",1\n", ",5\n"))
    for reference, problem in ((judge, "does not go with"), ("builtin:relevance", "no reward mo")):
        command[2:3], command[-1] = [reference], str(tmp_path / "other")
        assert main([*command, "--scale", "0", "5"]) == 2
        assert problem in capsys.readouterr().err
        assert not (tmp_path / "other").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tiny_decoder.write_steered(tmp_path_factory.mktemp("steered"))


def train(place, output, *more, talks=None):
    talks = str(talks or place / "talks.jsonl")
    words = ["train", "guide", talks, "--base", f"file:{place / 'tiny'}"]
    return main([*words, *tiny_decoder.steer_options(place), "-o", str(output), *more])


def test_a_guide_is_trained_and_its_losses_are_reported(place, tmp_path, capsys):
    assert train(place, tmp_path / "new", "--replies", "8", "--temperature", "4", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["contexts"], report["replies"]) == (6, 48)
    assert len(report["training_loss"]) == len(report["validation_loss"]) > 1
    assert report["training_loss"][-1] < report["training_loss"][0]
    assert (tmp_path / "new" / "card.toml").is_file()


@pytest.mark.parametrize(("content", "problem"), [
    ("", "the file is empty"), ('{"id": "a", "turns": []}\n', "no context to learn from"),
])  # fmt: skip
def test_files_without_contexts_are_refused(place, tmp_path, capsys, content, problem):
    path = tmp_path / "empty.jsonl"
    path.write_text(content, "utf-8")
    assert train(place, tmp_path / "g", talks=path) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [("--consistency", "2", "a weight of 0 to 1"), ("--temperature", "0", "is above 0"),
     ("--threshold", "nan", "is a finite number"), ("--threshold", "0", "nothing to learn")],
)  # fmt: skip
def test_options_that_mean_nothing(place, tmp_path, capsys, option, value, problem):
    assert train(place, tmp_path / "g", option, value) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "g").exists()
