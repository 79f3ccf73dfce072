"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

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


@pytest.fixture(autouse=True)
def no_shared_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Keep tests away from the cache of whoever runs them."""
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


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
