"""Layers of imports, and the cost of an import."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import grice

ROOT = Path(__file__).parents[3]
CLI = ROOT / "packages/grice/src/grice/cli"
COMMANDS = sorted(CLI.glob("commands/[!_]*.py"))
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


@pytest.mark.parametrize(
    "statement",
    [
        "import grice, grice.cli",
        *(f"import grice.cli\ntry:\n grice.cli.main([{word!r}])\nexcept SystemExit: pass"
          for word in ("--help", "scroe", "cidre")),
        "from grice.metrics.registry import find_metrics; find_metrics()",
        "import " + ", ".join(f"grice.cli.commands.{path.stem}" for path in COMMANDS),
    ],
    ids=["import", "help", "a near name", "one of an extra", "metrics", "commands"],
)  # fmt: skip
def test_nothing_heavy_is_loaded_before_it_is_needed(statement):
    assert not loaded_by(statement) & set(HEAVY)


def test_scoring_needs_no_torch():
    run = "import grice; grice.score(['Do you like tea?', 'I love tea.'])"
    assert not loaded_by(run) & {"torch", "transformers", "scipy"}


def test_every_public_name_is_there_and_sorted():
    assert grice.__all__ == sorted(grice.__all__)
    assert all(getattr(grice, name) is not None for name in grice.__all__)
    assert set(grice.__all__) <= set(dir(grice))


def test_commands_open_no_engine():
    paths = [*COMMANDS, *CLI.glob("_[!_]*.py")]
    opens = re.compile(r"\b(EmbeddedEncoder|open_folder|ctranslate2)\b")
    assert not [path.name for path in paths if opens.search(path.read_text("utf-8"))]
