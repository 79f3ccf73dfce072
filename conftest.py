"""Fixtures that several test modules share."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ctranslate2
import pytest
from hypothesis import HealthCheck, settings

import made_sets
from grice.data import Conversation, Turn
from grice.evaluation.datasets import Rated, known_sets, load_rated
from grice.models import embedded, folder
from grice.models.folder import shipped_models
from grice.models.loader import ModelLoader

for profile, examples in (("few", 25), ("all", 300)):
    settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
settings.load_profile("few")

SHIPPED = resources.files("grice_models") / "models"


def once(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reader that reads each path below the folder of shipped models only once."""
    cached = cache(read)

    def reader(path: str | Path, **options: Any) -> Any:
        return (cached if SHIPPED in Path(path).parents else read)(path, **options)

    return reader


LOADERS = {
    (folder, "read_card"): folder.read_card,
    (folder, "file_sha256"): folder.file_sha256,
    (embedded, "Tokenizer"): embedded.Tokenizer,
    (ctranslate2, "Encoder"): ctranslate2.Encoder,
    (ctranslate2, "Generator"): ctranslate2.Generator,
    (ctranslate2, "Translator"): ctranslate2.Translator,
}
"""Steps of loading a model that the tests of one process share."""


@pytest.fixture(scope="session", autouse=True)
def shared_models() -> Iterator[None]:
    """Load each shipped model once in a process, which takes a tenth of a second otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), loader in LOADERS.items():
            if name == "Tokenizer":
                patch.setattr(module, name, SimpleNamespace(from_file=once(loader.from_file)))
            else:
                patch.setattr(module, name, once(loader))
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The published data sets, which are not part of the project."""
    stated = os.environ.get("GRICE_DATA")
    if not stated or not Path(stated).is_dir():
        pytest.skip("GRICE_DATA does not name the folder of the published data sets")
    return Path(stated).resolve()


@pytest.fixture(scope="session")
def golden(data_folder: Path) -> Callable[[str], Any]:
    """Return what reads a file of recomputed figures by its name; they lie beside the data."""

    def read(name: str) -> Any:
        path = data_folder.parent / "golden" / f"{name}.json"
        if not path.is_file():
            pytest.skip(f"no golden/{path.name} beside the data sets")
        return json.loads(path.read_text("utf-8"))

    return read


@pytest.fixture(scope="session")
def cider_folder(data_folder: Path) -> Path:
    """The released files of CIDER."""
    folder = data_folder / "cider"
    if not folder.is_dir():
        pytest.skip("GRICE_DATA holds no cider")
    return folder


@pytest.fixture(scope="session")
def dialogues(cider_folder: Path) -> Any:
    """The released dialogues of CIDER."""
    files = pytest.importorskip("grice_tasks.cider.files")
    return files.read_dialogues(cider_folder / "dialogues.jsonl.gz").dialogues


@pytest.fixture(scope="session")
def exact_models() -> Iterator[ModelLoader]:
    """Models in float32, without a cache."""
    with ModelLoader(mode="exact", workers=1, cache=None) as models:
        yield models


@pytest.fixture
def rated_turns(tmp_path: Path) -> Rated:
    """A small made set of rated turns, which lies in the test's folder."""
    made_sets.fed_turn(tmp_path)
    return load_rated(known_sets()["fed_turn"], tmp_path)


@pytest.fixture
def own_relevance(tmp_path: Path) -> Path:
    """A relevance model of one's own, whose training texts a test records."""
    folder = tmp_path / "made"
    shutil.copytree(shipped_models()["relevance"], folder)
    return folder


@pytest.fixture(autouse=True)
def nothing_of_the_user(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep tests away from the cache, the models and the choices of whoever runs them."""
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path_factory.getbasetemp() / "config"))
    monkeypatch.setenv("GRICE_STATE", os.devnull)
    monkeypatch.delenv("GRICE_MODELS", raising=False)


@pytest.fixture
def fetched_models(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of models that were fetched for the tests; without it the test is skipped."""
    stated = os.environ.get("GRICE_TEST_MODELS")
    if not stated or not Path(stated).is_dir():
        pytest.skip("GRICE_TEST_MODELS names no folder with the models of the preset medium")
    monkeypatch.setenv("GRICE_MODELS", stated)
    return Path(stated)


@pytest.fixture
def talk() -> Conversation:
    """Two people about cooking."""
    return Conversation(
        "cooking",
        (
            Turn("A", "Do you like to cook?"),
            Turn("B", "I love it. I made pasta for my sister yesterday."),
            Turn("A", "Lucky sister! What sauce did you make?"),
            Turn("B", "The train to London leaves at nine."),
        ),
        meta={"topic": "food"},
    )
