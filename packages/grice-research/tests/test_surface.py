"""Names that grice_research imports from grice exist; private ones come through one file."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import grice_research
from grice_research import surface

ROOT = Path(grice_research.__file__).parent
COMMANDS = {f"commands/{path.name}" for path in (ROOT / "commands").glob("*.py")}
COMMAND_LINE = COMMANDS
"""The modules that may use helpers of the command line."""


@cache
def imported():
    """Every name that a file takes from a module of grice, those for type checkers too."""
    return tuple(_imported())


def _imported():
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "grice":
                for alias in node.names:
                    yield str(path.relative_to(ROOT)), node.module, alias.name


def is_private(module, name):
    return name.startswith("_") or module.rpartition(".")[2].startswith("_")


def test_every_private_name_is_there():
    assert surface.__all__ == sorted(surface.__all__, key=lambda name: (not name.isupper(), name))
    kept = surface.__all__
    assert all(hasattr(surface, name) for name in kept)


def test_other_files_take_public_names_alone():
    private = [
        f"{path}: {module}.{name}"
        for path, module, name in imported()
        if path != "surface.py" and not (path in COMMAND_LINE and module.startswith("grice.cli"))
        if is_private(module, name)
    ]
    assert private == []


@pytest.mark.parametrize("module", sorted({module for _, module, _ in imported()}))
def test_every_name_of_a_module_is_there(module):
    place = Path(import_module(module).__file__)
    source, folder = place.read_text("utf-8"), place.parent
    names = {name for _, of, name in imported() if of == module}
    modules = {name for name in names if (folder / f"{name}.py").exists()}
    assert {name for name in names - modules if name not in source} == set()
