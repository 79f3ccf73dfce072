"""What tests of models that are fetched share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from model_mirror import Mirror, index, stand_in

FOREIGN = ("PIP_", "UV_", "HF_", "GRICE_MIRROR")


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
    (tmp_path / "config" / "models.toml").write_text(index())
    monkeypatch.setitem(sys.modules, "grice.models.conversion", stand_in())
    monkeypatch.setattr("grice.models.store.http.WAIT", 0.001)
    return tmp_path / "models"


@pytest.fixture
def mirror(models, monkeypatch):
    """A mirror that is asked before everything else."""
    server = Mirror()
    monkeypatch.setenv("GRICE_MIRROR", server.url)
    yield server
    server.close()


@pytest.fixture
def public(mirror, monkeypatch):
    """The same server in the place of the public ones."""
    monkeypatch.delenv("GRICE_MIRROR")
    monkeypatch.setenv("PIP_INDEX_URL", f"{mirror.url}/simple")
    monkeypatch.setenv("HF_ENDPOINT", mirror.url)
    return mirror


@pytest.fixture
def config(models) -> Path:
    """The folder of settings of the tests."""
    return models.parent / "config"
