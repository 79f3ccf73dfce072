"""Fixtures that several test modules share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from grice.records import Conversation, Turn

settings.register_profile("grice", derandomize=True, deadline=None)
settings.load_profile("grice")


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

    def read(name: str) -> Any:  # noqa: ANN401 - what the file holds
        path = data_folder.parent / "golden" / f"{name}.json"
        if not path.is_file():
            pytest.skip(f"no golden/{path.name} beside the data sets")
        return json.loads(path.read_text("utf-8"))

    return read


@pytest.fixture(autouse=True)
def nothing_of_the_user(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep tests away from the cache, the models and the choices of whoever runs them."""
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path_factory.getbasetemp() / "config"))
    monkeypatch.delenv("GRICE_MODELS", raising=False)


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
