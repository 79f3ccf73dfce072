"""Layers of imports, and the cost of an import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import grice

ROOT = Path(__file__).parents[3]
HEAVY = ("ctranslate2", "jinja2", "numpy", "rich", "scipy", "tokenizers", "torch", "transformers")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.splitlines()[-1].split())


def test_rooms_import_only_from_the_rooms_above_them(monkeypatch):
    # It would disable the loggers that other tests read.
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_import_loads_nothing_heavy():
    assert not loaded_by("import grice, grice.cli") & set(HEAVY)


def test_help_loads_nothing_heavy():
    help_text = "import grice.cli\ntry:\n grice.cli.main(['--help'])\nexcept SystemExit: pass"
    assert not loaded_by(help_text) & set(HEAVY)


def test_scoring_needs_no_torch():
    run = "import grice; grice.score(['Do you like tea?', 'I love tea.'])"
    assert not loaded_by(run) & {"torch", "transformers", "scipy"}


def test_every_public_name_is_there_and_sorted():
    assert grice.__all__ == sorted(grice.__all__)
    assert all(getattr(grice, name) is not None for name in grice.__all__)
    assert set(grice.__all__) <= set(dir(grice))


def test_only_packages_list_what_they_offer():
    # A module's names say it themselves: those with an underscore are private.
    modules = [
        path
        for path in (ROOT / "packages/grice/src/grice").rglob("*.py")
        if path.name != "__init__.py"
    ]
    assert modules
    assert not [path for path in modules if "\n__all__ = " in path.read_text("utf-8")]


ENGINES = {"EmbeddedEncoder", "Models", "open_folder"}
CLI = ROOT / "packages/grice/src/grice/cli"
COMMANDS = sorted(CLI.glob("commands/[!_]*.py"))
HELPERS = sorted(CLI.glob("_[!_]*.py"))


def imports(tree: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def run_time_imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports of a module but for those that type checkers alone read."""
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    typing = [node for node in blocks if ast.unparse(node.test) == "TYPE_CHECKING"]
    skipped = {id(node) for block in typing for node in imports(block)}
    return [node for node in imports(tree) if id(node) not in skipped]


@pytest.mark.parametrize("path", [*COMMANDS, *HELPERS], ids=lambda path: path.stem)
def test_commands_open_no_engine(path):
    tree = ast.parse(path.read_text("utf-8"))
    assert not {alias.name for node in run_time_imports(tree) for alias in node.names} & ENGINES


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_commands_load_nothing_heavy_before_they_run(path):
    tree = ast.parse(path.read_text("utf-8"))
    top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in top if isinstance(node, ast.ImportFrom)}
    assert not {module.partition(".")[0] for module in modules} & set(HEAVY)


def test_metrics_load_nothing_heavy_before_they_run():
    find = "from grice.metrics.registry import find_metrics; find_metrics()"
    assert not loaded_by(find) & set(HEAVY)
