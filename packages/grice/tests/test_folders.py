"""The user's folders."""

import sys
from pathlib import Path

import pytest

from grice.files import cache_folder, config_folder


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_folders_are_those_of_the_system(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GRICE_CACHE", "GRICE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (cache_folder(), config_folder()) == (
        tmp_path / ".cache" / "grice", tmp_path / ".config" / "grice",
    )  # fmt: skip
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    assert cache_folder() == tmp_path / "kept" / "grice"


def test_variables_of_grice_count_most(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path / "here"))
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path / "there"))
    assert (cache_folder(), config_folder()) == (tmp_path / "here", tmp_path / "there")
    assert cache_folder() != Path.home()
