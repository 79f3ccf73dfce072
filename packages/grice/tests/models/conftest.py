"""Fixtures of tests of fetched models."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

from grice.models import store
from model_mirror import Mirror, index, stand_in

FOREIGN = ("PIP_", "UV_", "HF_")


@pytest.fixture
def models(tmp_path, monkeypatch):
    """An empty folder of models, the index of the tests, and nothing of whoever runs them."""
    for name in os.environ:
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    (tmp_path / "index.toml").write_text(index())
    monkeypatch.setattr(store, "INDEX", tmp_path / "index.toml")
    monkeypatch.setitem(sys.modules, "grice.models.conversion", stand_in())
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    return tmp_path / "models"


@pytest.fixture
def mirror(models, monkeypatch):
    """A server in the place of the public ones."""
    server = Mirror()
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    yield server
    server.close()


@pytest.fixture
def index_file(models) -> Path:
    """The index of the tests."""
    return models.parent / "index.toml"


@pytest.fixture
def time_limit():
    """End a test that blocks; the whole run would wait for ever."""

    def end(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, end)
    signal.alarm(20)
    yield
    signal.alarm(0)
