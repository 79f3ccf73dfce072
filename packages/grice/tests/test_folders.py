"""The user's folders are where the system has them, as platformdirs knows them."""

import importlib
import sys
from pathlib import Path

import pytest

from grice.folders import cache_folder, config_folder

platformdirs = pytest.importorskip("platformdirs")
VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA", "APPDATA")
SYSTEMS = {
    "linux": ("unix", "Unix"),
    "darwin": ("macos", "MacOS"),
    "win32": ("windows", "Windows"),
}


def native(system):
    """What platformdirs says of a system: what stays on a machine, and what goes with its user."""
    module, name = SYSTEMS[system]
    kind = getattr(importlib.import_module(f"platformdirs.{module}"), name)
    return [kind("grice", appauthor=False, roaming=roaming) for roaming in (False, True)]


@pytest.fixture(params=SYSTEMS)
def system(request, monkeypatch, tmp_path):
    for name in (*VARIABLES, "GRICE_CACHE", "GRICE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setattr(sys, "platform", request.param)
    return request.param


def test_folders_are_those_of_the_system(system, tmp_path, monkeypatch):
    if system == "win32":  # which sets these itself, and has a call for them besides
        windows = importlib.import_module("platformdirs.windows")
        monkeypatch.setattr(windows, "get_win_folder", windows.get_win_folder_from_env_vars)
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData" / "Local"))
        monkeypatch.setenv("APPDATA", str(tmp_path / "AppData" / "Roaming"))
    local, roaming = native(system)
    assert cache_folder() == Path(local.user_cache_dir)
    assert config_folder() == Path(roaming.user_config_dir)


@pytest.mark.parametrize("system", ["linux", "darwin"], indirect=True)
def test_xdg_variables_count(system, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "chosen"))
    local, _ = native(system)
    assert cache_folder() == Path(local.user_cache_dir) == tmp_path / "kept" / "grice"
    assert config_folder() == Path(local.user_config_dir) == tmp_path / "chosen" / "grice"


def test_windows_without_its_variables(monkeypatch, tmp_path):
    for name in (*VARIABLES, "GRICE_CACHE", "GRICE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_folder() == tmp_path / "AppData" / "Local" / "grice" / "Cache"
    assert config_folder() == tmp_path / "AppData" / "Roaming" / "grice"


def test_variables_of_grice_count_most(system, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path / "here"))
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path / "there"))
    assert (cache_folder(), config_folder()) == (tmp_path / "here", tmp_path / "there")
